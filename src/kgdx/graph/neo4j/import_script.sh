#!/bin/sh
# Imports the graph beside this file: sh import.sh [DATABASE] [options of neo4j-admin]
set -eu
cd "$(dirname "$0")"
database="${1:-neo4j}"
[ "$#" -eq 0 ] || shift
exec "${NEO4J_ADMIN:-neo4j-admin}" database import full "$database" {options} "$@"

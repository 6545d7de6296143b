"""The Neo4j store over Bolt, and a local server for people without one."""

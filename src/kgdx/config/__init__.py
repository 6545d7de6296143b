"""Where kgdx keeps its state, and how it reaches databases, language models and PubMed."""

from kgdx.config.access import LlmAccess, Neo4jAccess
from kgdx.config.addresses import DEFAULT_BOLT_PORT, is_neo4j, same_server
from kgdx.config.settings import Settings

__all__ = ["DEFAULT_BOLT_PORT", "LlmAccess", "Neo4jAccess", "Settings", "is_neo4j", "same_server"]

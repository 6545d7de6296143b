"""Where kgdx keeps its state, and how it reaches databases, language models and PubMed."""

from kgdx.config.language_model import LlmAccess
from kgdx.config.settings import Neo4jAccess, Settings
from kgdx.config.values import DEFAULT_BOLT_PORT, is_neo4j, same_server

__all__ = [
    "DEFAULT_BOLT_PORT",
    "LlmAccess",
    "Neo4jAccess",
    "Settings",
    "is_neo4j",
    "same_server",
]

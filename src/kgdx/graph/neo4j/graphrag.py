"""Retrievers for neo4j-graphrag: names by meaning and by words, with what the graph states around what is found.

The vectors lie beside the graph, in nodes of their own (``KgdxVector``), so that no node of the graph changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kgdx.errors import MissingExtraError
from kgdx.graph.templates import text_of

if TYPE_CHECKING:
    import neo4j
    from neo4j_graphrag.retrievers import HybridCypherRetriever

Encode = Callable[[Sequence[str]], Any]
"""Makes a vector of each text, as ``kgdx.terms.encoder.encoder("minilm").encode`` does."""

_BATCH = 500


def index_names(driver: neo4j.Driver, encode: Encode, database: str | None = None) -> int:
    """Write a vector for each name of a disease, finding or symptom and each text, with both indexes; return how many.

    What an earlier call wrote is replaced.
    """

    def done(name: str, **parameters: Any) -> list[Any]:
        return driver.execute_query(text_of(name), parameters, database_=database).records

    rows = [record.data() for record in done("vector_texts")]
    done("drop_vectors")
    for start in range(0, len(rows), _BATCH):
        block = rows[start : start + _BATCH]
        vectors = encode([row["text"] for row in block])
        if not start:
            done("index_vectors", size=len(vectors[0]))
            done("index_vector_words")
        made = [{**row, "embedding": [*map(float, one)]} for row, one in zip(block, vectors, strict=True)]
        done("put_vectors", rows=made)
    done("await_indexes")
    return len(rows)


def retriever(driver: neo4j.Driver, encode: Encode, database: str | None = None) -> HybridCypherRetriever:
    """Return neo4j-graphrag's hybrid retriever over what :func:`index_names` wrote.

    Each item is one node: its id and name, and up to 20 statements of the graph around it with their sources.
    """
    try:
        from neo4j_graphrag.embeddings import Embedder
        from neo4j_graphrag.retrievers import HybridCypherRetriever
        from neo4j_graphrag.types import RetrieverResultItem
    except ImportError as error:
        raise MissingExtraError("a retriever for neo4j-graphrag", "graphrag") from error

    class Ours(Embedder):
        def embed_query(self, text: str) -> list[float]:
            return [*map(float, encode([text])[0])]

    def shown(record: neo4j.Record) -> RetrieverResultItem:
        lines = [f"{record['name']} ({record['id']})", *record["statements"]]
        return RetrieverResultItem(content="\n".join(lines), metadata={"id": record["id"], "score": record["score"]})

    return HybridCypherRetriever(
        driver, "kgdx_vectors", "kgdx_vector_words", text_of("around_vector"), Ours(), shown, database
    )

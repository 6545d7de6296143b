"""A Neo4j database as it is: its labels, types and properties, asked with quoted names in read-only transactions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from kgdx.config import Neo4jAccess
from kgdx.errors import StoreError, TemplateError
from kgdx.store._bolt import connect, rows_of, translated
from kgdx.store.foreign.rewrite import quoted
from kgdx.store.protocol import Closing, Row
from kgdx.store.templates import text_of

if TYPE_CHECKING:
    import neo4j

_FETCH_ROWS = 5_000
_PLACEHOLDER = re.compile(r"<(\w+)>")


class ForeignDatabase(Closing):
    """A connection to a database of whatever shape; use it as a context manager, or close it.

    Raises:
        StoreError: The server is down, or refuses the user.
    """

    def __init__(self, access: Neo4jAccess) -> None:
        self.access = access
        self._driver = connect(access)

    def ask(self, name: str, /, **names: str) -> list[Row]:
        """Run one of the statements that take names as they are; they are quoted."""
        text = _PLACEHOLDER.sub(lambda match: quoted(names[match[1]]), text_of(name))
        return self.read(text, {})

    def read(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """Run Cypher in a read-only transaction, which the server holds it to."""
        with self._session() as session, translated(self.access):
            return session.execute_read(rows_of, text, parameters)

    def explain(self, texts: Mapping[str, str]) -> None:
        """Have the server plan statements without running them.

        Raises:
            TemplateError: It cannot read one, or one would write.
        """
        with self._session() as session, translated(self.access):
            for name, text in texts.items():
                if session.execute_read(_kind, text) != "r":
                    raise TemplateError(f"the template {name} would not only read", hint="check the mapping")

    def labels(self) -> list[str]:
        """Its labels."""
        return [row["name"] for row in self.ask("their_labels")]

    def types(self) -> list[str]:
        """Its relation types."""
        return [row["name"] for row in self.ask("their_types")]

    def keys(self) -> list[str]:
        """The names of its properties."""
        return [row["name"] for row in self.ask("their_keys")]

    def close(self) -> None:
        """Close the connections."""
        self._driver.close()

    @contextmanager
    def _session(self) -> Iterator[neo4j.Session]:
        with translated(self.access):
            session = self._driver.session(
                database=self.access.database, default_access_mode="READ", fetch_size=_FETCH_ROWS
            )
        try:
            yield session
        finally:
            with suppress(Exception):  # the block's own error is the one to see
                session.close()


def _kind(tx: neo4j.ManagedTransaction, text: str) -> str | None:
    """Plan a statement and tell what it would do."""
    return tx.run(f"EXPLAIN {text}").consume().query_type


def missing(wanted: Sequence[str], there: Sequence[str], what: str, uri: str) -> None:
    """Refuse names that a database does not have.

    Raises:
        StoreError: One is missing; the message names one that comes near.

    Example:
        >>> missing(["Diseases"], ["Disease", "Drug"], "label", "bolt://db")
        Traceback (most recent call last):
            ...
        kgdx.errors.StoreError: the database at bolt://db has no label 'Diseases': did you mean Disease?
    """
    from kgdx.store.templates import suggestion

    for name in wanted:
        if name not in there:
            hint = suggestion(name, dict.fromkeys(there)) or f"it has {', '.join(there[:20]) or 'none'}"
            raise StoreError(f"the database at {uri} has no {what} {name!r}", hint=hint)

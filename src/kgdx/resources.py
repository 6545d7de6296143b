"""Data folders that people read and edit, found in one way.

An installed wheel carries them inside the package (``kgdx/_data/<folder>``); an editable install reads them from
the top of the checkout. Nobody else may guess where they are.
"""

from __future__ import annotations

from pathlib import Path

from kgdx.errors import KgdxError

FOLDERS = ("ontology", "cypher", "loaders", "ranking", "browser", "examples", "data")


def resource(folder: str, *parts: str) -> Path:
    """Return the path of a shipped data file or folder.

    Args:
        folder: One of :data:`FOLDERS`.
        parts: Path components below it; none for the folder itself.

    Example:
        >>> resource("ontology", "kgdx.owl").name
        'kgdx.owl'
    """
    if folder not in FOLDERS:
        raise KgdxError(f"no data folder {folder!r}", hint=f"one of {', '.join(FOLDERS)}")
    here = Path(__file__).resolve().parent
    for base in (here / "_data", here.parents[1]):
        path = base.joinpath(folder, *parts)
        if path.exists():
            return path
    raise KgdxError(
        f"the data file {'/'.join((folder, *parts))} is missing from this installation",
        hint="reinstall kgdx",
    )

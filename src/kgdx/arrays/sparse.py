"""The ontology's ancestors and descendants as index arrays: scorers and alignment walk these and never the graph."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

Ints = NDArray[Any]
Floats = NDArray[Any]

BLOCK = 64
"""Values of which the greatest stands for all where a few of very many are wanted."""


def mapped(file: Path) -> Ints:
    """Open an array that numpy saved, memory-mapped: in a third of the time of its own ``load``, and no Python object.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "a.npy"
        >>> np.save(file, np.arange(3))
        >>> mapped(file).tolist()
        [0, 1, 2]
    """
    try:
        with file.open("rb") as opened:
            npy.read_magic(opened)
            shape, by_column, kind = npy.read_array_header_1_0(opened)
            values = np.frombuffer(mmap(opened.fileno(), 0, access=ACCESS_READ), kind, prod(shape), opened.tell())
            return values.reshape(shape, order="F" if by_column else "C")
    except (OSError, ValueError):
        raise
    except Exception as error:  # numpy has Python's own parser read a file's head, and raises what that raises
        raise ValueError(f"{file.name} is no array ({error})") from error


@dataclass(frozen=True, slots=True)
class Sparse:
    """A matrix in compressed rows; ``values`` is absent where only the pattern matters.

    Attributes:
        start: Where each row begins in ``index``; shape (rows + 1,).
        index: Column of each entry, ascending within a row.
        values: Value of each entry.
    """

    start: Ints
    index: Ints
    values: Floats

    def row(self, number: int) -> tuple[Ints, Floats]:
        """Return the columns and the values of one row."""
        begin, end = self.start[number], self.start[number + 1]
        return self.index[begin:end], self.values[begin:end]

    def columns(self, number: int) -> Ints:
        """Return the columns of one row."""
        return self.index[self.start[number] : self.start[number + 1]]

    def fits(self, columns: int) -> bool:
        """Whether all rows and columns are within bounds, as in a file that nothing has damaged.

        Example:
            >>> Sparse(np.array([0, 0, 2]), np.array([1, 4]), np.zeros(2)).fits(5)
            True
            >>> Sparse(np.array([0, 3, 2]), np.array([1, 4]), np.zeros(2)).fits(5)
            False
        """
        start, index = self.start, self.index
        whole = len(start) and start[0] == 0 and start[-1] == len(index) == len(self.values)
        inside = not len(index) or (index.min() >= 0 and index.max() < columns)
        return bool(whole and inside and (start[1:] >= start[:-1]).all())

    def array(self, columns: int) -> Any:
        """Return the matrix as a SciPy array, which shares this one's memory."""
        from scipy import sparse

        return sparse.csr_array((self.values, self.index, self.start), shape=(len(self.start) - 1, columns))


def gather(start: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the entries of several compressed rows: positions in the index array, and which of ``rows`` each is of.

    Example:
        >>> positions, owner = gather(np.array([0, 2, 2, 5]), np.array([2, 0]))
        >>> positions.tolist(), owner.tolist()
        ([2, 3, 4, 0, 1], [0, 0, 0, 1, 1])
    """
    begin = start[rows].astype(np.int64)
    length = start[rows + 1].astype(np.int64) - begin
    end = np.cumsum(length)
    position = np.repeat(begin - end + length, length)
    position += np.arange(len(position))
    return position, np.repeat(np.arange(len(rows)), length)


def compressed(row: Ints, column: Ints, values: Floats, rows: int) -> Sparse:
    """Return the compressed form of entries, sorted by row and column.

    Example:
        >>> compressed(np.array([1, 0]), np.array([0, 2]), np.array([5.0, 6.0]), rows=2).start.tolist()
        [0, 1, 2]
    """
    order = np.lexsort((column, row))
    start = np.zeros(rows + 1, np.int32)
    np.cumsum(np.bincount(row, minlength=rows), out=start[1:])
    return Sparse(start, column[order], values[order])


def ancestors(child: Ints, parent: Ints, n: int, root: int) -> Sparse:
    """Return each term's ancestors within the subtree of ``root``, the term itself included.

    A term outside the subtree has an empty row, so that whatever is propagated stays in it.

    Args:
        child: Lower end of each is_a edge; shape (edges,).
        parent: Upper end; shape (edges,).

    Example:
        >>> up = ancestors(np.array([1, 2]), np.array([0, 1]), n=4, root=0)
        >>> [up.columns(term).tolist() for term in range(4)]
        [[0], [0, 1], [0, 1, 2], []]
    """
    from scipy import sparse

    up = sparse.csr_array((np.ones(len(child), bool), (child, parent)), shape=(n, n))
    reach = sparse.eye_array(n, dtype=bool, format="csr") + up
    entries = -1
    while reach.nnz != entries:  # squaring doubles the path length that is covered
        entries = reach.nnz
        reach = reach @ reach
    row, column = reach.nonzero()
    inside = np.zeros(n, bool)
    inside[row[column == root]] = True
    keep = inside[row] & inside[column]
    row, column = row[keep].astype(np.int32), column[keep].astype(np.int32)
    return compressed(row, column, np.ones(len(row), np.int8), n)


def transposed(matrix: Sparse, columns: int) -> Sparse:
    """Return the transpose; of ancestors: each term's descendants, the term itself included."""
    rows = np.repeat(np.arange(len(matrix.start) - 1, dtype=np.int32), np.diff(matrix.start))
    return compressed(matrix.index, rows, matrix.values, columns)


def greatest(values: Floats, limit: int) -> Ints:
    """Return the places of the greatest values above 0, the greatest first, of equal ones the first.

    Example:
        >>> greatest(np.array([1.0, 0.0, 3.0, 3.0]), 2).tolist()
        [2, 3]
    """
    least = 0
    if 0 < limit < len(values) < 4 * BLOCK * (limit + 1):
        least = np.partition(values, len(values) - limit)[len(values) - limit]
    elif 0 < limit < len(values):  # the best of so many blocks are at least as many values
        blocks = values[: len(values) // BLOCK * BLOCK].reshape(-1, BLOCK).max(axis=1)
        least = np.partition(blocks, len(blocks) - limit)[len(blocks) - limit]
    there = np.flatnonzero(values >= least) if least > 0 else np.flatnonzero(values > 0)
    best: Ints = there[np.argsort(-values[there], kind="stable")[:limit]]
    return best

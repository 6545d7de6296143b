"""Which edges of a hierarchy stand in a cycle."""

from __future__ import annotations

import polars as pl

COMPONENT = "_component"


def in_cycles(edges: pl.DataFrame, child: str, parent: str) -> pl.DataFrame:
    """Return the edges that stand in a cycle, with the number of their strongly connected component.

    Args:
        edges: No edge leads from a node to itself.
        child: Column of the lower ends.
        parent: Column of the upper ends.

    Example:
        >>> edges = pl.DataFrame({"child": ["a", "b", "c"], "parent": ["b", "a", "a"]})
        >>> in_cycles(edges, "child", "parent").select("child", "parent").rows()
        [('a', 'b'), ('b', 'a')]
    """
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = pl.concat([edges[child], edges[parent]]).unique(maintain_order=True)
    if names.is_empty():
        return edges.with_columns(pl.lit(None, pl.Int32).alias(COMPONENT))
    codes = pl.Enum(names)
    lower, upper = (edges[end].cast(codes).to_physical().to_numpy() for end in (child, parent))
    graph = coo_array((np.ones(len(lower), np.int8), (lower, upper)), shape=(len(names), len(names)))
    _, component = connected_components(graph, directed=True, connection="strong")
    within = pl.Series(COMPONENT, component[lower])
    return edges.with_columns(within).filter(pl.Series(component[lower] == component[upper]))

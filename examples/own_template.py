"""Ask the graph itself: run one of the named Cypher templates, with bound parameters, and get rows or a data frame.

To add a question of your own, put a file into `cypher/read/`; its header names parameters and columns, and its name is
what `graph.run` and `kgdx run` call it by. Run `kgdx build` once, then `python examples/own_template.py OMIM:154700`.
"""

from __future__ import annotations

import sys

import kgdx


def main(disease: str = "OMIM:190350") -> None:
    with kgdx.open() as graph:
        for row in graph.run("disease_by_id", disease=disease):
            print(f"{row['id']}  {row['name']}")
        phenotypes = graph.frame("phenotypes_of_diseases", diseases=[disease])
        genes = graph.frame("genes_of_diseases", diseases=[disease])

    print(f"\n{phenotypes.height} annotations, the first of them:")
    print(phenotypes.head(5))
    print(f"\nGenes: {', '.join(genes['name'].to_list()) or 'none stated'}")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What the tests of training take from those of the environments and of the commands."""

from cli.conftest import home, invoke, kgdx_, own_model
from learn.conftest import graph, letters, make, patients_folder, recorded, snapshot, torch_here, ward

__all__ = [
    "graph",
    "home",
    "invoke",
    "kgdx_",
    "letters",
    "make",
    "own_model",
    "patients_folder",
    "recorded",
    "snapshot",
    "torch_here",
    "ward",
]

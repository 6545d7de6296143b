"""The state of a training that can be resumed: one safetensors file, replaced in one step; no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgdx.arrays.sparse import Floats
from kgdx.files.known import write_whole

FILE = "state.safetensors"


@dataclass(frozen=True, slots=True)
class TrainingState:
    """What a training needs to go on as if it had not been stopped."""

    about: str
    progress: Mapping[str, Any]
    arrays: Mapping[str, Floats]

    def save(self, folder: Path) -> None:
        """Write the state in place of the one before; it is on the disk when this returns."""
        save_arrays(folder / FILE, self.arrays, {"about": self.about, "progress": json.dumps(dict(self.progress))})

    @classmethod
    def load(cls, folder: Path, about: str) -> TrainingState | None:
        """Read the state of what ``about`` says; ``None`` where there is none, or it is damaged."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(folder / FILE, "np") as file:
                metadata = file.metadata() or {}
                if metadata.get("about") != about:
                    return None
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a mapping
                return cls(about, json.loads(metadata["progress"]), arrays)
        except (OSError, ValueError, KeyError, SafetensorError):
            return None


def save_arrays(file: Path, arrays: Mapping[str, Floats], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays as a private safetensors file in one step; it is on the disk when this returns."""
    import numpy as np
    from safetensors.numpy import save

    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, dict(metadata or {}))
    write_whole(file, content)

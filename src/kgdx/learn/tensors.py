"""Torch and PyTorch Geometric, imported when something is trained, with one line where they are missing."""

from __future__ import annotations

import warnings
from typing import Any

from kgdx.errors import MissingExtraError, UsageError

EXTRA = "learn"


def torch_of(feature: str) -> Any:
    """Return the module torch."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(feature, EXTRA) from error
    return torch


def geometric(feature: str) -> Any:
    """Return the module torch_geometric, without the warning of its import that ``torch.jit.script`` is deprecated."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*torch\.jit", category=FutureWarning)
        warnings.filterwarnings("ignore", message=r".*torch\.jit", category=DeprecationWarning)
        try:
            import torch_geometric
            import torch_geometric.data
            import torch_geometric.nn
        except ImportError as error:
            raise MissingExtraError(feature, EXTRA) from error
    return torch_geometric


def device_of(name: str) -> str:
    """Return the device that ``auto`` or a name stands for.

    Example:
        >>> device_of("cpu")
        'cpu'
    """
    torch = torch_of("training")
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        hint = "use auto, which takes what there is, or cpu"
        raise UsageError(f"this machine has no device {name[:40]!r} to train on", hint=hint) from error
    return name

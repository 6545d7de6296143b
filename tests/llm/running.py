"""Calls of a model within an event loop that ends with them."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from kgdx.llm.chat import ChatModel

Result = TypeVar("Result")


async def closing(model: ChatModel, calls: Awaitable[Result]) -> Result:
    """Await calls of a model, and close its connections."""
    try:
        return await calls
    finally:
        await model.aclose()

"""`memory` for programs and agents in Python."""

from .bridge import Bridge, BridgeClosed, BridgeError, BudgetTooSmall, InvalidRequest, NotFound
from .client import AsyncMemory, Memory

__all__ = [
    "AsyncMemory",
    "Bridge",
    "BridgeClosed",
    "BridgeError",
    "BudgetTooSmall",
    "InvalidRequest",
    "Memory",
    "NotFound",
]

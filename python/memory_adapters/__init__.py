"""Conversation managers and sessions of `memory` for agents in Python."""

from .bridge import Bridge, BridgeClosed, BridgeError

__all__ = ["Bridge", "BridgeClosed", "BridgeError"]

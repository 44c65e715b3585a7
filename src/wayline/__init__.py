"""Wayline: a coding agent that an editor launches over the Agent Client Protocol."""

__version__ = "0.1.0"

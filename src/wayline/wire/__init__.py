"""Bytes to JSON-RPC messages and back; knows no agent."""

"""Scripted JSON-RPC conversations with an ACP agent: run, recorded, shown. See docs/transcripts.md."""

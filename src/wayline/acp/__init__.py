"""The editor's language: the Agent Client Protocol."""

"""Where replies come from: one protocol, several adapters."""

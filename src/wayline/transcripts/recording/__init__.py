"""A conversation between a client and an agent, written down as a transcript."""

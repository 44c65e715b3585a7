"""The truth: one append-only list of events a session."""

"""Open sessions: append, subscribe, queue, cancel."""

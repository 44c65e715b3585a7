"""Turns and steps: ask the model, run its tools, write it all down."""

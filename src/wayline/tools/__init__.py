"""What the model can do to the world."""

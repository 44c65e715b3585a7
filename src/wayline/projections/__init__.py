"""Pure folds over the log."""

"""One command that prints how fast Wayline is, as ratios to something measured in the same run."""

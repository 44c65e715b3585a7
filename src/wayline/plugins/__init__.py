"""How tools and other parts are added and taken away."""

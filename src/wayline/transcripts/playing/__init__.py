"""A transcript played against an agent, and what is said when it does not come true."""

"""Events: sets of parameters with a known probability."""

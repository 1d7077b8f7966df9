"""Random small problems through the fast path, against rational and ball arithmetic."""

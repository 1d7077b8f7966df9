"""Figures of grids, all in the same style."""

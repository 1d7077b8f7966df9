"""Figures of grids, in one style."""

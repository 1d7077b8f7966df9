"""Grids: many runs as data, each an independent job, on the cores of one machine or on a cluster."""

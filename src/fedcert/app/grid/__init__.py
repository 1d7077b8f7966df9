"""Grids: many runs described as data, each an independent job, on one machine's cores or on a cluster."""

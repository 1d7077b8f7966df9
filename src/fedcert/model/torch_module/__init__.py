"""Torch modules, read: which layers they are, and where the parameters of each layer come from."""

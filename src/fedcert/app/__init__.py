"""Experiments: a configuration in, tables and reports out."""

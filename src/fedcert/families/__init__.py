"""Families of events: which sets of parameters are proven safe and added up."""

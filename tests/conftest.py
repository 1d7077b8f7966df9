"""Settings that all tests share."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)  # shared machines: time is no contract
settings.load_profile("patient")

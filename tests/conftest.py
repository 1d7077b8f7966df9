"""Settings that all tests share."""

import os

import torch
from hypothesis import settings

settings.register_profile("patient", deadline=None, derandomize=True)  # shared machines: time is no contract
settings.register_profile(
    "explore", deadline=None
)  # pytest --hypothesis-profile=explore: new inputs every time
settings.load_profile("patient")

if "PYTEST_XDIST_WORKER" in os.environ:  # one worker a core: more threads would only spin
    torch.set_num_threads(1)

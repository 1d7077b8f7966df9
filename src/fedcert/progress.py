"""Progress: long work runs through a tracker, which may draw a bar, print lines, or do nothing."""

from fedcert_check.progress import Tracker as Tracker
from fedcert_check.progress import silent as silent

"""Progress: long work runs through a tracker, which may draw a bar or do nothing."""

from fedcert_check.progress import Tracker as Tracker
from fedcert_check.progress import silent as silent

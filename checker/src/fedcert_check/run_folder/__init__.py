"""Checks the folder of a run: proves its certificates, and holds all that its files claim against them."""

from fedcert_check.run_folder.check import check_file as check_file
from fedcert_check.run_folder.check import check_run as check_run
from fedcert_check.run_folder.report import RunReport as RunReport

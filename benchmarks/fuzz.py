"""Random small problems through the fast path against rational and ball arithmetic; exit 1 if any is wrong.

python benchmarks/fuzz.py --problems 100000 --seed 0 --jobs 2
"""

import os
import sys
from pathlib import Path

TESTS = str(Path(__file__).parents[1] / "tests")
os.environ["PYTHONPATH"] = os.pathsep.join([TESTS, os.environ.get("PYTHONPATH", "")])  # for the processes
sys.path.insert(0, TESTS)

from fuzz.campaign import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env bash
# Install dist/*.whl with the versions of a constraints file in an empty environment outside of the repository, certify,
# and check with the checker alone in another one. Usage: requirements/test_dist.sh constraints.txt
set -euo pipefail
repository="$(cd "$(dirname "$0")/.." && pwd)"
constraints="$(realpath "$1")"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH
cd "$folder"

python3 -m venv whole
whole/bin/pip install --quiet --disable-pip-version-check -c "$constraints" "$repository"/dist/*.whl
whole/bin/pip check
whole/bin/fedcert --version
whole/bin/fedcert run --properties 4 --epsilon 0.01 --out run
whole/bin/fedcert check run

python3 -m venv alone
alone/bin/pip install --quiet --disable-pip-version-check -c "$constraints" "$repository"/dist/fedcert_check-*.whl
alone/bin/python -c 'import importlib.util; assert importlib.util.find_spec("torch") is None'
alone/bin/fedcert-check run
echo "works with $(basename "$constraints")"

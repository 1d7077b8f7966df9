"""`python -m fedcert_check` is `fedcert-check`."""

from fedcert_check.cli import main

if __name__ == "__main__":
    main()

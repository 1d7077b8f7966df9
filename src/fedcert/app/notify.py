"""Lines for the user, beside the results."""

import sys


def notify(text: str) -> None:
    """Say something in one line, with control characters visible.

    Args:
        text: what to say.
    """
    from fedcert_check.visible import visible

    print(f"fedcert: {visible(' '.join(text.split()))}", file=sys.stderr)

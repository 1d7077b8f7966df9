"""Text from outside, made safe to print: nothing in it reaches the terminal as a command."""


def visible(text: str) -> str:
    r"""The text with every character that is not printable replaced by its escape sequence.

    Those are control characters, line ends, marks that change the direction of writing, and lone surrogates.
    Printed as they are, they could erase or overwrite what is printed beside them.

    Args:
        text: a name, or a message that quotes one.

    >>> print(visible("a\x1b[2K\nb"))
    a\x1b[2K\nb
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

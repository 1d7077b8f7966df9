"""Errors that say what to do. Every error a user can cause derives from `FedcertError`."""


class FedcertError(ValueError):
    """Bad input; the message says what is wrong and what to do about it.

    >>> issubclass(UnreadableFile, FedcertError)
    True
    """


class UnreadableFile(FedcertError):
    """A file that is truncated, of another format, or larger than the reader allows."""


class InvalidCertificate(FedcertError):
    """A certificate file that is truncated, of another format, tampered with, or without its messages."""


class TooCostly(FedcertError):
    """A certificate whose proof would take more memory or time than is allowed."""


class InvalidRun(FedcertError):
    """A file of a run's folder that no run can have written: the message says file and field."""

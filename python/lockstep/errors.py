"""What goes wrong, as exceptions with one clear line each."""


class LockstepError(Exception):
    """Base of all errors of this package."""


class UsageError(LockstepError, ValueError):
    """The arguments have no meaning; the message says what would be right."""


class Failed(LockstepError, AssertionError):
    """A verdict other than pass. `report` holds everything."""

    def __init__(self, message, report):
        super().__init__(message)
        self.report = report


class Skipped(LockstepError):
    """Nothing ran, because the kernel does not support the cases."""

    def __init__(self, message, report):
        super().__init__(message)
        self.report = report


class Wrong(LockstepError):
    """For hosts: an answer that cannot be taken. `kind` as docs/wire.md has it."""

    def __init__(self, kind, message, lacks=()):
        super().__init__(message)
        self.kind, self.lacks = kind, list(lacks)


class Unsupported(LockstepError):
    """A kernel raises this for a call that it does not support."""

"""What goes wrong, as exceptions with one clear line each."""


class LockstepError(Exception):
    """Base of all of them."""


class UsageError(LockstepError, ValueError):
    """What was asked has no meaning; the message says what would be right."""


class Failed(LockstepError, AssertionError):
    """A verdict other than pass. `report` holds everything."""

    def __init__(self, message, report):
        super().__init__(message)
        self.report = report


class Skipped(LockstepError):
    """Nothing ran: the kernel does not do what the cases ask for."""

    def __init__(self, message, report):
        super().__init__(message)
        self.report = report


class Wrong(LockstepError):
    """For hosts: an answer that cannot be taken. `kind` as docs/wire.md has it."""

    def __init__(self, kind, message, lacks=()):
        super().__init__(message)
        self.kind, self.lacks = kind, list(lacks)


class Unsupported(LockstepError):
    """For kernels to raise: this call is not one that they compute."""

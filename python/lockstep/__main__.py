"""python -m lockstep: the program lockstep."""
import os
import sys

from lockstep import program
from lockstep.errors import LockstepError


def main():
    try:
        found = program.path()
        os.execve(found, [found, *sys.argv[1:]], program.environment())
    except (LockstepError, OSError) as error:
        sys.exit(f"lockstep: {error}")


if __name__ == "__main__":
    from lockstep_verify import main as start
    start()

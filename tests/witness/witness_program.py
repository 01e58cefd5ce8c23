"""How a witness is started: WITNESS PROGRAM, where PROGRAM DIR exports problems."""

import contextlib
import pathlib
import subprocess
import sys
import tempfile

import safetensors_file


@contextlib.contextmanager
def exported(program):
    """The files that the program exports, in the order of their names."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        yield sorted(pathlib.Path(folder).iterdir())


def run(name, usage, main):
    """Exits with main(program); 2 for wrong arguments and unreadable files."""
    if len(sys.argv) != 2:
        print(usage, file=sys.stderr)
        sys.exit(2)
    try:
        sys.exit(main(sys.argv[1]))
    except (OSError, safetensors_file.FormatError,
            subprocess.CalledProcessError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(2)

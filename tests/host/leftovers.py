"""What runs of this test have left behind, whatever else runs on the machine."""

import glob
import os
import tempfile
import uuid

# Hosts inherit it, and so does all that they start.
MARK = f"PYTHON_OF_TEST={uuid.uuid4()}"
os.environ.update([MARK.split("=")])
# Programs that need a folder make it here.
TEMPORARY = tempfile.TemporaryDirectory()
os.environ["TMPDIR"] = TEMPORARY.name


def processes():
    """Command lines of the processes that have the mark, without this one."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if MARK.encode() not in file.read().split(b"\0"):
                    continue
            with open(os.path.dirname(path) + "/cmdline", "rb") as file:
                text = file.read()
        except OSError:
            continue
        if text and path != f"/proc/{os.getpid()}/environ":
            found.append(text)
    return found


def files():
    """In the folder for temporary files, and in that for shared memory."""
    return sorted(os.listdir(TEMPORARY.name)) + [
        name for name in os.listdir("/dev/shm") if "lockstep" in name]

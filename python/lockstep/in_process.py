"""This process as the host: closures, fixtures and debuggers work, and nothing
protects it from the kernel."""
import os
import secrets
import select
import socket
import sys

from lockstep.host import Runner, Wire
from lockstep.kernels import quoted
from lockstep import relay
from lockstep.relay import DONE

_POLL_SECONDS = 0.05


class _HereRunner(Runner):
    restarts = False  # a new relay would lead to the same process

    def hello(self):
        return {**super().hello(), "isolation": "none"}


class Server:
    """Waits on a socket for relays (lockstep.relay), which the judge starts as
    hosts, and serves the wire that each brings along."""

    def __init__(self, function, facts):
        self.runner = _HereRunner(function, facts)
        self.name = "lockstep-" + secrets.token_hex(16)
        # The judge starts this where it would start a host of its own.
        self.environment = {"LOCKSTEP_PYTHON_HOST": " ".join(
            map(quoted, [sys.executable, "-IS", relay.__file__, self.name]))}

    def __enter__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind("\0" + self.name)
        self.socket.listen(4)
        # What is being done, for the relay to tell of if this process dies.
        self.note = os.memfd_create("lockstep-note")
        os.ftruncate(self.note, 1 << 20)
        return self

    def __exit__(self, *_):
        self.socket.close()
        os.close(self.note)

    def serve_until(self, judge):
        """Until the judge has ended."""
        while judge.poll() is None:
            if select.select([self.socket], [], [], _POLL_SECONDS)[0]:
                self._serve_one()

    def _serve_one(self):
        link, _ = self.socket.accept()
        with link:
            credentials = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            if int.from_bytes(credentials[4:8], sys.byteorder) != os.getuid():
                return
            _, wire, _, _ = socket.recv_fds(link, 1, 4)
            if len(wire) != 4:
                return
            errors = os.dup(2)
            socket.send_fds(link, [DONE], [errors, self.note])
            os.close(errors)
            served = Wire(self.runner, wire)
            try:
                served.serve(self._write_note)
                link.send(DONE)
            except BrokenPipeError:
                pass  # the judge has ended the relay
            finally:
                served.close()

    def _write_note(self, case):
        os.pwrite(self.note, case.encode()[:1 << 19] + b"\0", 0)

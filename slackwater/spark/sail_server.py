"""Sail, in a process of its own: run as a script, it tells its port and serves until its input ends.

That is when whoever started it ends, however that happens. It imports nothing of ours: it should be there in a moment.
"""

from __future__ import annotations

import sys


def main() -> None:
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer(port=0)
    server.start(background=True)
    print(server.listening_address[1], flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()

"""The command line: what can be asked for, and who answers."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from slackwater import __version__

EXIT_CODES = "exit codes: 0 all statements ran, 1 one failed, 2 the command line is wrong"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit code."""
    options = parser().parse_args(arguments)
    os.environ.setdefault("RUST_LOG", "error")  # Sail's own log would stand between the answers
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="slackwater", description="Materialized views for Spark, kept up to date incrementally.")
    top.add_argument("--version", action="version", version=f"slackwater {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_sql(commands)
    _add_run(commands)
    _add_doctor(commands)
    _add_check(commands)
    _add_backup(commands)
    _add_restore(commands)
    return top


def _add_sql(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sql = commands.add_parser(
        "sql",
        help="run statements, or start a shell",
        description="Run the statements of -e, of a file, or of standard input. In a terminal, without any of them, start a shell.",
        epilog=EXIT_CODES,
    )
    sql.add_argument("file", nargs="?", metavar="FILE", help="a file of statements, each ended by a semicolon; - is standard input")
    sql.add_argument("-e", "--execute", action="append", metavar="STATEMENTS", help="run these statements; may be given several times")
    _add_warehouse(sql)
    _add_engine(sql)
    sql.add_argument("--format", choices=("table", "csv", "json"), default="table", help="how rows are written; json is one object a line")
    _add_wait(sql, 0.0)
    sql.add_argument("--read-only", action="store_true", help="change nothing; works beside another session that writes")
    sql.add_argument(
        "--folding", default="background", metavar="WHEN", help="make small batches larger: background (default), refresh, or off"
    )
    _add_flushes(sql)
    sql.add_argument("--keep-going", action="store_true", help="go on after a statement that failed")
    sql.set_defaults(run=_run_sql)


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run",
        help="answer views when their triggers are due",
        description="Watch for the triggers of all views of a warehouse, and answer each when it is due, the most urgent first, until "
        "interrupted. The right to write is taken only while there is something to do, so that other processes can load data "
        "meanwhile; give them a time to wait for it.",
        epilog="exit codes: 0 it was stopped, 1 it could not start, 2 the command line is wrong",
    )
    _add_warehouse(run)
    _add_engine(run)
    _add_wait(run, 60.0)
    _add_flushes(run)
    run.set_defaults(run=_run_run)


def _add_flushes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--choose", metavar="HOW", help="flush paths by cost (default), or always: incremental")
    parser.add_argument("--beside", metavar="WHO", help="who runs flushes that fit here beside Spark: sail (default), or none")


def _add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="check that this machine and the warehouse are sound",
        description="Check Python, Java, Spark, Sail, the disk and the warehouse, and say what to do about what is wrong.",
        epilog="exit codes: 0 nothing is wrong, 1 a check failed, 2 the command line is wrong",
    )
    _add_warehouse(doctor)
    doctor.add_argument("--quick", action="store_true", help="do not start the engines")
    doctor.add_argument("--json", action="store_true", help="write the checks as JSON")
    doctor.set_defaults(run=_run_doctor)


def _add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = commands.add_parser(
        "check",
        help="verify every file of a warehouse or of a backup",
        description="See that the catalog is whole, and that every file is there and is what was written: size, checksum, footer, "
        "number of rows. It works while the warehouse is in use, and starts no engine.",
        epilog="exit codes: 0 all is sound, 1 something is damaged, 2 the command line is wrong",
    )
    check.add_argument("warehouse", type=Path, metavar="WAREHOUSE", help="a warehouse or a backup")
    _add_store_of(check)
    check.add_argument("--fast", action="store_true", help="look at files only by their sizes")
    check.set_defaults(run=_run_check)


def _add_backup(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    backup = commands.add_parser(
        "backup",
        help="copy a warehouse while it is in use",
        description="Copy a warehouse as it is at one moment, whoever writes it meanwhile. A target that holds an older backup is "
        "brought up to date: only new files are copied, and until all of them are there it stays the older backup.",
        epilog="exit codes: 0 the backup is complete, 1 it is not, 2 the command line is wrong",
    )
    backup.add_argument("warehouse", type=Path, metavar="WAREHOUSE", help="what to copy: a folder, or a URL of S3 or HDFS")
    backup.add_argument("target", type=Path, metavar="TARGET", help="an empty folder, or one with an older backup; best on another disk")
    _add_store_of(backup)
    backup.set_defaults(run=_run_backup)


def _add_restore(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    restore = commands.add_parser(
        "restore",
        help="make a warehouse of a backup",
        description="Copy a backup to where a warehouse shall be, and verify every file on the way. With --store its catalog goes into an "
        "empty schema of PostgreSQL, wherever it was before, and its files may go to S3 or HDFS. What broke off can be run again.",
        epilog="exit codes: 0 the warehouse is there, 1 it is not, 2 the command line is wrong",
    )
    restore.add_argument("backup", type=Path, metavar="BACKUP", help="what `slackwater backup` made")
    restore.add_argument(
        "warehouse", type=Path, metavar="WAREHOUSE", help="a folder that is empty or not there; with --store also a URL of S3 or HDFS"
    )
    restore.add_argument("--store", metavar="URL", help="where its catalog shall be, if not in the folder: postgresql://user@host/database")
    restore.add_argument("--replace", action="store_true", help="put it in the place of a warehouse that is there, once all is verified")
    restore.set_defaults(run=_run_restore)


def _add_store_of(command: argparse.ArgumentParser) -> None:
    command.add_argument("--store", metavar="URL", help="where its catalog is, if not in the folder (default: $SLACKWATER_STORE)")


def _add_wait(command: argparse.ArgumentParser, default: float) -> None:
    command.add_argument(
        "--wait", type=float, default=default, metavar="SECONDS", help="wait so long for another process that writes (default: %(default)g)"
    )


def _add_engine(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--engine", default="spark", metavar="ENGINE", help="spark (default), sail, a master such as local[2], or sc://host:port"
    )


def _add_warehouse(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--warehouse",
        type=Path,
        default=Path(os.environ.get("SLACKWATER_WAREHOUSE", "./warehouse")),
        metavar="DIR",
        help="where tables and views live (default: $SLACKWATER_WAREHOUSE, or ./warehouse)",
    )
    command.add_argument(
        "--store",
        default=os.environ.get("SLACKWATER_STORE") or None,
        metavar="URL",
        help="where the catalog is, such as postgresql://user@host/database (default: $SLACKWATER_STORE, or a file in the warehouse)",
    )


# The commands are imported when they run: `--help` and `--version` need not wait for Spark's client.


def _run_sql(options: argparse.Namespace) -> int:
    from slackwater.cli.sql import run

    return run(options)


def _run_run(options: argparse.Namespace) -> int:
    from slackwater.cli.run import run

    return run(options)


def _run_doctor(options: argparse.Namespace) -> int:
    from slackwater.cli.doctor import run

    return run(options)


def _run_check(options: argparse.Namespace) -> int:
    from slackwater.cli.check import run

    return run(options)


def _run_backup(options: argparse.Namespace) -> int:
    from slackwater.cli.backup import run_backup

    return run_backup(options)


def _run_restore(options: argparse.Namespace) -> int:
    from slackwater.cli.backup import run_restore

    return run_restore(options)


if __name__ == "__main__":
    sys.exit(main())

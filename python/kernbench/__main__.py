"""``kernbench`` and ``python -m kernbench``: the command line."""
from __future__ import annotations

import os
import subprocess
import sys

from . import _errors, _java


def main() -> int:
    """Gives this process over to the command line; returns its exit code where that cannot be."""
    try:
        line = _java.command(_java.MAIN, *sys.argv[1:])
    except _errors.InstallationError as e:
        print(f"kernbench: {e}", file=sys.stderr)
        return e.code
    if os.name == "nt":
        return subprocess.call(line, env=_java.environment())
    os.execve(line[0], line, _java.environment())


if __name__ == "__main__":
    sys.exit(main())

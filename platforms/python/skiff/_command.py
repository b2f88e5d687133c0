"""The command ``skiff``."""

import os
import signal
import sys


def main() -> int:
    """The tool as `skiff --help` tells; returns its exit code."""
    # The tool is one native call: Python's handler would wait for its end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # As every tool, it ends where the next one of a pipe has: `skiff inspect net.skiff | head -1`.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    from skiff import _skiff

    sys.stdout.flush()
    return _skiff.run_tool([os.fsencode(word) for word in ("skiff", *sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Makes the TFLite cases of operators that are no part of the format's core: custom ones, spectra and volumes.

usage: make_custom_cases.py [--to FOLDER] [--only TEXT]

They stand beside those of make_cases.py, which says what is needed and how a case's folder looks. Expected outputs come from
LiteRT's kernels where it has them; those of TensorFlow Lite Micro's front end from its own interpreter (the Python package
tflite-micro, needed as well), those of MediaPipe's pools are computed with NumPy.
"""
import argparse
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
MODULES = ("detection", "pool", "signal", "spectrum", "volume")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=pathlib.Path, metavar="FOLDER", default=HERE / "cases", help="default: cases/ beside this")
    parser.add_argument("--only", default="", metavar="TEXT", help="make the cases with this text in their name")
    arguments = parser.parse_args()
    from custom_case import CASES, build
    from make_cases import write
    for name in MODULES:
        importlib.import_module("custom_" + name)
    for name, (function, form, runner) in CASES.items():
        if arguments.only in name:
            write(arguments.to / name, *build(function, name, form, runner))
    return 0


if __name__ == "__main__":
    sys.exit(main())

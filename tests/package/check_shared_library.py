#!/usr/bin/env python3
"""What libskiff.so shows and needs: exactly the functions of the C headers, and nothing unusual from outside.

usage: check_shared_library.py READELF libskiff.so HEADER...
"""
import argparse
import re
import subprocess
import sys

PAGE = 16384  # The largest page of the devices that it shall be loaded on.
LIBRARIES = re.compile(r"lib(c|m|dl|log|stdc\+\+|gcc_s|pthread)\.so(\.\d+)?|ld-linux.*|libc\+\+_shared\.so")


def read(readelf, *arguments):
    return subprocess.run([readelf, "--wide", *arguments], check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readelf")
    parser.add_argument("library")
    parser.add_argument("header", nargs="+")
    options = parser.parse_args()
    readelf, library, headers = options.readelf, options.library, options.header
    wrong = []
    rows = [line.split() for line in read(readelf, "--dyn-syms", library).splitlines()]
    # What is defined here; the names of versions are absolute symbols.
    visible = {row[7].split("@")[0]: row[3] for row in rows
               if len(row) == 8 and row[4] in ("GLOBAL", "WEAK") and row[6] not in ("UND", "ABS")}
    declared = set()
    for header in headers:
        names = re.findall(r"^SKIFF_API[^;(]*?(skiff_\w+)\(", open(header).read(), re.M)
        if not names:
            wrong.append(f"{header} declares nothing: this test reads it wrongly")
        declared.update(names)
    wrong += [f"{name} is declared, but not in the library" for name in sorted(declared - visible.keys())]
    wrong += [f"{name} is visible, and no part of the C API" for name in sorted(visible.keys() - declared)]
    wrong += [f"{name} is visible, and is no function" for name, kind in visible.items() if kind != "FUNC"]

    dynamic = read(readelf, "--dynamic", library)
    if not re.search(r"\(SONAME\).*\[libskiff\.so\.\d+\]", dynamic):
        wrong.append("there is no versioned soname")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    wrong += [f"it needs {name}" for name in needed if not LIBRARIES.fullmatch(name)]
    for line in read(readelf, "--program-headers", library).splitlines():
        if line.split()[:1] == ["LOAD"] and int(line.split()[-1], 16) % PAGE != 0:
            wrong.append(f"a segment is aligned to {line.split()[-1]}, not to pages of {PAGE} bytes")
    print("\n".join(wrong) or f"{len(declared)} functions, no other symbol; needs {', '.join(needed)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Whether what a library takes from glibc is also there on the oldest Android that Skiff promises: a call that the NDK
would refuse is found without the NDK. (What is behind #ifdef __ANDROID__ is not seen here.)

usage: check_android_api.py READELF android_api_levels.txt LIBRARY...
"""
import argparse
import collections
import re
import subprocess
import sys

OLDEST = 24
# Other versions are those of libstdc++ and libgcc, in whose places the NDK links its own libraries.
FROM_GLIBC = re.compile(r'(\w+)@+GLIBC_[\d.]+')


def read_levels(path):
    """The names behind each level or word, of all lines that begin with it."""
    names = collections.defaultdict(list)
    for line in open(path, encoding='utf-8'):
        if line.strip() and not line.startswith('#'):
            key, values = line.split(':')
            names[key] += values.split()
    return names


def needed(readelf, library):
    """What a library leaves to be found in others, with its version, but for what it can do without."""
    output = subprocess.run([readelf, '--wide', '--dyn-syms', library], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in output.splitlines()]
    return {row[7] for row in rows if len(row) >= 8 and row[4] == 'GLOBAL' and row[6] == 'UND'}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('readelf')
    parser.add_argument('table')
    parser.add_argument('library', nargs='+')
    options = parser.parse_args()
    readelf, table, libraries = options.readelf, options.table, options.library
    names = read_levels(table)
    renamed = dict(pair.split('=') for pair in names.pop('glibc'))
    ignored = set(names.pop('gcc'))
    levels = {name: int(level) for level, group in names.items() for name in group}
    wrong = []
    for library in libraries:
        found = sorted(match[1] for match in map(FROM_GLIBC.match, needed(readelf, library)) if match)
        if len(found) < 10:
            wrong.append(f'{library} takes {len(found)} names from glibc: this test reads it wrongly')
        for symbol in found:
            name = renamed.get(symbol, symbol)
            if symbol in ignored:
                continue
            if name not in levels:
                wrong.append(f'{library} calls {name}, of which {table} does not say since when Android has it')
            elif levels[name] > OLDEST:
                wrong.append(f'{library} calls {name}, which Android has since API {levels[name]}; Skiff promises {OLDEST}')
        print(f'{library}: {len(found)} names from glibc')
    for sentence in wrong:
        print(sentence)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())

"""Checks that each script answers --help and -h with its usage, and does nothing else.

usage: check_usage.py SOURCE_ROOT

A script is a tracked file that begins with #!. Each runs in a copy of the tree, in an empty folder as its home and its place for
temporary files, without packages of Python that this machine may have or lack; whatever it writes there counts against it. One whose
text does not say that it looks at its arguments first is not run at all: it might install something.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Script: why it need not.
EXCEPTIONS = {}
# What a script does before anything else, so that running it with --help is safe.
HARMLESS = {
    "sh": re.compile(r'\A#.*\n(?:#.*\n)*set -euo pipefail\nsource "\$\(dirname "\$\{BASH_SOURCE\[0\]\}"\)/[./a-z]*(?:usage|build|stages)\.sh"\n'),
    "python": re.compile(r"ArgumentParser\("),
}
SECONDS = 60


def scripts(root):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, listed):
        path = root / name
        if path.is_file() and path.read_bytes()[:2] == b"#!":
            yield name


def language_of(text):
    return "python" if "python" in text.split("\n", 1)[0] else "sh"


def copied(root, names, to):
    """The folders that scripts lie in, without what is below them, and what they may source."""
    folders = {pathlib.PurePath(name).parent for name in names} | {pathlib.PurePath("platforms")}
    for folder in folders:
        (to / folder).mkdir(parents=True, exist_ok=True)
        for file in (root / folder).iterdir():
            if file.is_file():
                shutil.copy2(file, to / folder / file.name)


def below(folder):
    return {path.relative_to(folder): path.lstat().st_mtime_ns for path in folder.rglob("*") if not path.is_dir()}


def wrong_with(tree, name, home):
    """What is wrong with a script, as sentences."""
    text = (tree / name).read_text()
    if not HARMLESS[language_of(text)].search(text):
        yield f"{name} does not look at its arguments first; a script sources platforms/usage.sh, or has an ArgumentParser"
        return
    # Isolated Python sees no installed packages, which a reader of the usage need not have.
    command = [sys.executable, "-B", "-S"] if language_of(text) == "python" else ["bash"]
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(home)}
    for word in ("--help", "-h"):
        try:
            done = subprocess.run([*command, tree / name, word], cwd=home, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            yield f"{name} {word} is not done after {SECONDS} seconds"
            return
        if done.returncode != 0:
            yield f"{name} {word} ends with {done.returncode}: {done.stderr.strip()[-200:]}"
        elif not re.search(r"^usage: ", done.stdout, re.MULTILINE):
            yield f"{name} {word} prints no line that begins with 'usage: '"
        elif done.stderr:
            yield f"{name} {word} writes to standard error: {done.stderr.strip()[-200:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", metavar="SOURCE_ROOT", type=lambda path: pathlib.Path(path).resolve())
    root = parser.parse_args().root
    if not (root / ".git").exists() or shutil.which("git") is None:
        print("SKIPPED: this is no checkout, or there is no git to say what belongs to it")
        return 0
    names = sorted(set(scripts(root)) - set(EXCEPTIONS))
    with tempfile.TemporaryDirectory() as folder:
        tree, homes = pathlib.Path(folder, "tree"), pathlib.Path(folder, "homes")
        copied(root, names, tree)
        before = below(tree)
        rooms = [homes / str(number) for number in range(len(names))]
        for room in rooms:
            room.mkdir(parents=True)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [sentence for found in pool.map(lambda name, room: list(wrong_with(tree, name, room)), names, rooms)
                     for sentence in found]
        wrong += [f"{path} was written or removed by a script that was asked for its usage"
                  for path, _ in sorted(before.items() ^ below(tree).items())]
        wrong += [f"{name} --help wrote {path}" for name, room in zip(names, rooms) for path in below(room)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(names)} scripts, {len(wrong)} complaints")
    return 1 if wrong or len(names) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())

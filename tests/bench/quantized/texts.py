"""Texts with the name of what they are written in: the files of this repository."""
import subprocess

import numpy as np

NAMES = {".cpp": {"cpp"}, ".h": {"cpp", "c"}, ".c": {"c"}, ".py": {"python"}, ".md": {"markdown"}, ".json": {"json"},
         ".html": {"html"}, ".cmake": {"cmake"}, ".js": {"javascript"}, ".java": {"java"}, ".kt": {"kotlin"}, ".sh": {"shell"},
         ".yml": {"yaml"}, ".xml": {"xml"}, ".swift": {"swift"}, ".toml": {"toml"}, ".ipynb": {"json", "ipynb"}, ".txt": {"txt", "cmake"},
         ".png": {"png"}, ".jpg": {"jpeg"}, ".svg": {"svg"}, ".css": {"css"}, ".gradle": {"gradle"}, ".glsl": {"glsl"}, ".comp": {"glsl"}}
LEAST_BYTES = 64
PADDING = 256
BLOCK = 4096
HALF = 1024


def tokens(data):
    """As Magika reads a file: bytes of its beginning and of its end, without white space around them."""
    head = list(data[:BLOCK].lstrip()[:HALF])
    tail = list(data[-BLOCK:].rstrip()[-HALF:])
    return np.array(head + [PADDING] * (HALF - len(head)) + [PADDING] * (HALF - len(tail)) + tail, np.int32)


def named_files(root, labels, most, seed):
    """Tokens of the repository's files, at most so many of a kind, and which of `labels` are right."""
    files = subprocess.run(["git", "-C", root, "ls-files"], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    files = [root / name for name in sorted(files) if (root / name).suffix in NAMES]
    np.random.default_rng(seed).shuffle(files)
    taken, found, right = {}, [], []
    for path in files:
        taken[path.suffix] = taken.get(path.suffix, 0) + 1
        data = path.read_bytes()
        names = {labels.index(name) for name in NAMES[path.suffix] if name in labels}
        if names and len(data) >= LEAST_BYTES and taken[path.suffix] <= most:
            found.append(tokens(data))
            right.append(names)
    return np.stack(found), right

"""Kills the tool at random moments while it converts, quantises, or runs a model whose packed weights go to a cache folder. What
is there afterwards is what was there before, or what an undisturbed run leaves; a later run computes what it would have.

usage: kill_test.py TOOL SAMPLES [--moments N] [--seed N]      N moments in all (default 300)
"""
import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

QUIET = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}


def fail(sentence):
    sys.exit('kill_test: ' + sentence)


def finish(command):
    """Its duration; the test ends where it fails."""
    begin = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        fail('%s: exit code %d: %s' % (' '.join(map(str, command)), result.returncode, result.stderr))
    return time.monotonic() - begin


def kill_after(command, seconds):
    """Whether it was still running."""
    with subprocess.Popen(command, **QUIET) as process:
        try:
            process.wait(seconds)
            return False
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return True


class Writer:
    """A command that writes one file, over an older one or where there is none."""

    def __init__(self, name, tool, folder, command):
        self.name, self.tool = name, tool
        self.output = folder / (name + '.skiff')
        self.command = [tool, *command, '-o', self.output]
        self.seconds = max(finish(self.command), finish(self.command))
        self.whole = self.output.read_bytes()
        self.old = self.whole[::-1]
        self.counts = {'killed': 0, 'old': 0, 'new': 0, 'none': 0}

    def once(self, moment, choose):
        before = self.old if choose.random() < 0.5 else None
        self.output.unlink(missing_ok=True)
        if before is not None:
            self.output.write_bytes(before)
        self.counts['killed'] += kill_after(self.command, moment * self.seconds)
        after = self.output.read_bytes() if self.output.exists() else None
        if after == self.whole:
            self.counts['new'] += 1
            finish([self.tool, 'inspect', self.output])
        elif after == before:
            self.counts['none' if before is None else 'old'] += 1
        else:
            fail('%s left neither the old file nor the new one' % self.name)


class CacheWriter:
    """A start that packs weights and leaves them for the next one."""

    def __init__(self, tool, folder, model, source):
        self.name = 'cache'
        self.cache, self.outputs = folder / 'cache', folder / 'outputs'
        self.cache.mkdir()
        self.command = [tool, 'run', model, '--input', 'image=%s' % source, '--cache', self.cache, '--output', self.outputs]
        self.seconds = finish(self.command)
        self.whole = self.read()
        self.counts = {'killed': 0, 'none': 0, 'left': 0}

    def read(self):
        # A killed run may leave a temporary file beside.
        return {path.name: path.read_bytes() for path in self.outputs.glob('*.npy')}

    def once(self, moment, _):
        for path in self.cache.iterdir():
            path.unlink()
        self.counts['killed'] += kill_after(self.command, moment * self.seconds)
        self.counts['left' if any(self.cache.glob('*.packed')) else 'none'] += 1
        # Whatever is there, the next start takes it or makes it anew, and computes the same bits; so does the one after.
        for _ in range(2):
            finish(self.command)
            if self.read() != self.whole:
                fail('a start after a killed one computes something else')


def has_nameless_files(folder):
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
        return True
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('tool', type=pathlib.Path)
    parser.add_argument('samples', type=pathlib.Path)
    parser.add_argument('--moments', type=int, default=300)
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    choose = random.Random(arguments.seed)
    source = arguments.samples / 'characters' / 'characters.onnx'
    reference = arguments.samples / 'characters' / 'reference'
    image = next(iter(sorted(reference.iterdir()))) / 'input_image.npy'
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        writers = [
            Writer('convert', arguments.tool, folder, ['convert', source]),
            Writer('quantize', arguments.tool, folder, ['quantize', source, '--calibrate', reference]),
            CacheWriter(arguments.tool, folder, folder / 'convert.skiff', image),
        ]
        model = folder / 'net.skiff'
        model.write_bytes(writers[0].whole)
        writers[2].command[2] = model
        for number in range(arguments.moments):
            writers[number % len(writers)].once(choose.uniform(0, 1.1), choose)
        left = sorted(path.name for path in folder.glob('*.skiff.*'))
        # Between taking a name and taking the old file's place one may be killed, too, but hardly more than once.
        if has_nameless_files(folder) and len(left) > 1:
            fail('temporary files were left: ' + ', '.join(left))
    for writer in writers:
        print('%-8s %s' % (writer.name, ', '.join('%s %d' % item for item in writer.counts.items())))
        if writer.counts['killed'] == 0:
            fail('%s was always done before it was killed' % writer.name)


if __name__ == '__main__':
    main()

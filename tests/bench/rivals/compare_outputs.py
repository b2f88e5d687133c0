"""Fails where an engine's outputs are not the expected ones: usage: compare_outputs.py OUTPUTS EXPECTED (folders)

Engines name and order outputs as they like, so each expected array must be among those of its size.
"""
import os
import sys

import numpy as np

TOLERANCE = 1e-3  # of the largest element: algorithms differ, and engines may choose fast ones


def load(folder):
    return [np.load(os.path.join(folder, file)) for file in sorted(os.listdir(folder))]


def main(outputs, expected):
    found = load(outputs)
    for array in load(expected):
        differences = [np.abs(other.ravel() - array.ravel()).max() / np.abs(array).max()
                       for other in found if other.size == array.size]
        if not min(differences, default=np.inf) < TOLERANCE:
            sys.exit(f"outputs of {array.shape} differ by {min(differences, default=np.inf):.1e} of the largest")


if __name__ == "__main__":
    main(*sys.argv[1:])

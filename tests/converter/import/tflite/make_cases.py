#!/usr/bin/env python3
"""Makes the TFLite cases: nets of one or a few operators, with the outputs of LiteRT's reference kernels.

usage: make_cases.py [--to FOLDER] [--only TEXT] [--list]

Needs the Python packages ai-edge-litert, flatbuffers and numpy, best in a virtual environment; the build and the tests do
without them: what this writes is kept beside it, in cases/. To make it anew:

  python3 -m venv /tmp/venv && /tmp/venv/bin/pip install ai-edge-litert==2.3.0 flatbuffers numpy
  /tmp/venv/bin/python tests/converter/import/tflite/make_cases.py

The result is the same bytes each time (LiteRT's version may change a float's last digits). Folders of cases that are no more
stay: remove them. A case is a folder:

  cases/NAME_FORM/model.tflite
  cases/NAME_FORM/input_0.npy ...    in the order of the model's inputs
  cases/NAME_FORM/output_0.npy ...   in the order of its outputs

Cases are made by the modules cases_*.py, one function each, written once for all forms:

  f32        floats
  i8         integers of 8 bits, weights with a scale for each channel
  u8         the older kind: unsigned, one scale for each tensor
  i16        activations of 16 bits, weights of 8, biases of 64
  i8w4       as i8, weights of 4 bits
  f16        floats; weights of 16 bits behind DEQUANTIZE
  dyn, dyn4  dynamic range: floats; weights of 8 and of 4 bits as a direct operand. LiteRT would quantise the activations
             on the fly; what is expected here is the float product with the dequantised weights
  int32 ...  elements of that type that are not quantised (as are some cases without a word for it: `shape_f32`)

What may differ follows from the output: floats in the last digits; integers with a quantisation by one unit, where
LiteRT's fixed-point arithmetic rounds otherwise than the exact result (see docs/numerics.md); all others not at all.

The outputs come from the interpreter with the reference kernels (BUILTIN_REF, without XNNPACK). CEIL, ELU, ROUND, SEGMENT_SUM
and STABLEHLO_CASE are missing there, SUM and LOCAL_RESPONSE_NORMALIZATION are wrong: of these the ordinary kernels are taken.
"""
import argparse
import importlib
import pathlib
import shutil
import sys

try:
    import numpy as np
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
MODULES = ("elementwise", "windows", "movement", "rows", "products", "recurrent", "control", "stablehlo")


def all_cases():
    import case_builder
    for name in MODULES:
        importlib.import_module("cases_" + name)
    return case_builder.CASES


def write(folder, data, inputs, outputs):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "model.tflite").write_bytes(data)
    for kind, values in (("input", inputs), ("output", outputs)):
        for i, value in enumerate(values):
            np.save(folder / f"{kind}_{i}.npy", value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=pathlib.Path, metavar="FOLDER", default=HERE / "cases", help="default: cases/ beside this")
    parser.add_argument("--only", default="", metavar="TEXT", help="make the cases with this text in their name")
    parser.add_argument("--list", action="store_true", help="print the names, make nothing")
    arguments = parser.parse_args()
    from case_builder import build
    cases = {name: case for name, case in all_cases().items() if arguments.only in name}
    if arguments.list:
        print(*sorted(cases), sep="\n")
        return 0
    failed = 0
    for name, (function, form) in cases.items():
        try:
            write(arguments.to / name, *build(function, name, form))
        except (ValueError, RuntimeError) as error:
            failed += 1
            print(f"{name}: {error}", file=sys.stderr)
    print(f"{len(cases) - failed} cases in {arguments.to}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

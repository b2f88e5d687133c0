"""Checks that no innermost loop of a kernel keeps vectors on the stack.

  check_spills.py ARCH EXCEPTIONS FILE... [--linked-in PROGRAM] [--all]

A compiler that runs out of registers stores an accumulator in each iteration and loads it in the next. Nothing fails, and
the kernel is slower, up to three times. Disassembles the FILEs (objects and archives) and fails when the innermost loop of
a function both stores and loads a stack slot with vector registers; slots whose load comes first are called carried: the
accumulator itself is there, and each iteration waits for memory. With --linked-in only functions that this program has are
looked at: what the linker threw away cannot be chosen. EXCEPTIONS says how many slots which kernels may have and why; one
that is not needed fails, too. --all prints what the exceptions cover.
"""
import argparse
import dataclasses
import os
import re
import sys

from disassembly import ARCHITECTURES, Function, find_objdump, functions, innermost_loops, spilled_slots, symbols

# Kernels that move elements (transposition, packing at load, table look-up) have no accumulators, and shuffle through
# the stack where registers end.
MOVEMENT = re.compile(r"xnn_(x\d+|xx)_|packw")


@dataclasses.dataclass
class ExceptionLine:
    number: int
    arch: str
    slots: int
    kernel: re.Pattern
    found: int = 0
    matched: bool = False


def read_exceptions(text):
    """Lines of 'ARCH SLOTS KERNEL REASON...'; KERNEL is a pattern for the whole name."""
    exceptions = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 3)
        if len(words) < 4 or words[0] not in ARCHITECTURES or not words[1].isdigit() or words[1] == "0":
            sys.exit(f"line {number}: expected 'ARCH SLOTS KERNEL REASON', got '{line}'")
        exceptions.append(ExceptionLine(number, words[0], int(words[1]), re.compile(words[2])))
    return exceptions


def short_name(path, name):
    """A function of XNNPACK's by its name, one of ours by its file and its name without namespaces and parameters."""
    if name.startswith("xnn_"):
        return name
    name = re.sub(r"skiff::(\w+::)*|\(anonymous namespace\)::", "", name)
    name = re.sub(r"\(.*", "", name).removeprefix("void ")
    return f"{os.path.basename(path).split('.')[0]}:{name}".replace(" ", "")


def worst_loop(arch, function):
    """The spilled slots of the innermost loop that has the most."""
    return max((spilled_slots(arch, function, loop) for loop in innermost_loops(function)), key=len, default=[])


def describe(slots):
    carried = sum(slot.is_carried for slot in slots)
    slot = next((slot for slot in slots if slot.is_carried), slots[0])
    return f"{len(slots)} slots, {carried} carried; '{slot.store}' and '{slot.load}'"


def check(arch, all_functions, exceptions):
    """Yields (is it a mistake, sentence) for each kernel with spilled slots and each exception that is not needed."""
    exceptions = [line for line in exceptions if line.arch == arch]
    for function in all_functions:
        allowed = next((line for line in exceptions if line.kernel.fullmatch(function.name)), None)
        if allowed:
            allowed.matched = True
        slots = worst_loop(arch, function)
        if not slots:
            continue
        if allowed:
            allowed.found = max(allowed.found, len(slots))
        too_many = not allowed or len(slots) > allowed.slots
        limit = f"; line {allowed.number} of the exceptions allows {allowed.slots}" if allowed else ""
        yield too_many, f"{function.name}: {describe(slots)}{limit}"
    for line in exceptions:
        if not line.matched:
            yield True, f"line {line.number} of the exceptions matches no kernel: remove it"
        elif line.found == 0:
            yield True, f"line {line.number} of the exceptions: its kernels are clean now; remove it"
        elif line.found < line.slots:
            yield True, f"line {line.number} of the exceptions allows {line.slots} slots, and {line.found} are used: lower it"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arch", choices=ARCHITECTURES)
    parser.add_argument("exceptions")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--linked-in", metavar="PROGRAM", help="an unstripped program")
    parser.add_argument("--all", action="store_true", help="print the kernels that exceptions cover, too")
    arguments = parser.parse_args()

    objdump = find_objdump(arguments.arch)
    if not objdump:
        print(f"SKIPPED: no objdump for {arguments.arch} (Debian: binutils-{arguments.arch.replace('_', '-')}-linux-gnu)")
        return 0
    for path in [*arguments.files, *filter(None, [arguments.linked_in])]:
        if not os.path.exists(path):
            print(f"SKIPPED: {path} was not built")
            return 0
    linked = symbols(objdump, arguments.linked_in) if arguments.linked_in else None
    kernels = [Function(short_name(path, function.name), function.body)
               for path in arguments.files for function in functions(objdump, path)
               if not MOVEMENT.match(function.name) and (linked is None or function.name in linked)]
    if not kernels:
        print("no kernel was found: is the program stripped?")
        return 1
    with open(arguments.exceptions) as file:
        findings = list(check(arguments.arch, kernels, read_exceptions(file.read())))
    for is_mistake, sentence in findings:
        if is_mistake or arguments.all:
            print(("" if is_mistake else "allowed: ") + sentence)
    mistakes = sum(is_mistake for is_mistake, _ in findings)
    loops = sum(len(innermost_loops(kernel)) for kernel in kernels)
    print(f"{loops} innermost loops of {len(kernels)} functions: {mistakes} mistakes, "
          f"{len(findings) - mistakes} allowed by exceptions")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())

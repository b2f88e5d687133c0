"""Reads compiled kernels through objdump: functions, their innermost loops, and which stack slots these use.

Knows x86-64 (in AT&T's syntax) and AArch64.
"""
import dataclasses
import platform
import re
import shutil
import subprocess

ARCHITECTURES = ("x86_64", "aarch64")


@dataclasses.dataclass(frozen=True)
class Instruction:
    address: int
    name: str
    operands: str

    def __str__(self):
        return f"{self.address:x}: {self.name} {self.operands}"


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    body: list


@dataclasses.dataclass(frozen=True)
class Access:
    """One slot that an instruction stores or loads as a vector (a float in a vector register is one, too)."""
    is_load: bool
    slot: tuple  # (frame, offset)


def find_objdump(arch):
    """The path of an objdump that reads `arch`, or None."""
    own = shutil.which("objdump") if platform.machine() == arch else None
    return shutil.which(f"{arch}-linux-gnu-objdump") or own


def parse(text):
    """Yields the Functions of what `objdump -d -C --no-show-raw-insn` printed."""
    name, body = None, []
    for line in text.splitlines():
        if match := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            if body:
                yield Function(name, body)
            name, body = match[1], []
        elif match := re.match(r"\s+([0-9a-f]+):\s+(\S.*)$", line):
            words = re.split(r"\s+//|\s+#\s", match[2])[0].split()
            while len(words) > 1 and words[0] in ("notrack", "bnd", "{vex}", "{evex}", "data16", "rep", "lock"):
                words = words[1:]
            body.append(Instruction(int(match[1], 16), words[0], " ".join(words[1:])))
    if body:
        yield Function(name, body)


def functions(objdump, path):
    """Yields the Functions of an object, an archive or a program."""
    command = [objdump, "-d", "-C", "--no-show-raw-insn", path]
    yield from parse(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def symbols(objdump, path):
    """The names of all functions in a program's symbol table."""
    text = subprocess.run([objdump, "-t", "-C", path], capture_output=True, text=True, check=True).stdout
    return {match[1] for match in re.finditer(r"F \S+\t[0-9a-f]+\s+(?:\.(?:hidden|internal|protected) )?(.+)$", text, re.M)}


def innermost_loops(function):
    """The loops that hold no other; each as a list of instructions, in an order in which they can run from its entry."""
    blocks, successors = basic_blocks(function.body)
    entered = {0} | {target for targets in successors.values() for target in targets}
    return [[instruction for block in running_order(loop, successors) for instruction in blocks[block]]
            for cycle in cycles(entered, successors) for loop in innermost_cycles(cycle, successors)]


def basic_blocks(body):
    """The blocks by the index of their first instruction, and for each the blocks that can follow it."""
    index = {instruction.address: i for i, instruction in enumerate(body)}
    jumps = {}  # the jump's index -> the target's
    for i, instruction in enumerate(body):
        match = re.search(r"(?:^|[ ,])(?:0x)?([0-9a-f]+) <", instruction.operands)
        if match and re.match(r"j\w+$|b(\.\w+)?$|cbn?z$|tbn?z$", instruction.name) and int(match[1], 16) in index:
            jumps[i] = index[int(match[1], 16)]
    ends = {i for i, instruction in enumerate(body) if i in jumps or re.match(r"(ret|jmp|br?$)", instruction.name)}
    begins = sorted({0, *jumps.values(), *(i + 1 for i in ends if i + 1 < len(body))})
    blocks = {begin: body[begin:end] for begin, end in zip(begins, [*begins[1:], len(body)])}
    successors = {}
    for begin, block in blocks.items():
        last = begin + len(block) - 1
        falls_through = not re.match(r"(ret|jmp|br?$)", body[last].name) and last + 1 < len(body)
        successors[begin] = [last + 1] * falls_through + [jumps[i] for i in [last] if i in jumps]
    return blocks, successors


def cycles(nodes, successors):
    """The strongly connected parts of `nodes` in which one can go round (Kosaraju's algorithm)."""
    predecessors = {node: [] for node in nodes}
    for node in nodes:
        for target in successors[node]:
            if target in nodes:
                predecessors[target].append(node)
    order, seen = [], set()
    for node in sorted(nodes):
        order += depth_first(node, lambda at: [target for target in successors[at] if target in nodes], seen)
    parts, seen = [], set()
    for node in reversed(order):
        part = depth_first(node, predecessors.__getitem__, seen)
        if len(part) > 1 or part and part[0] in successors[part[0]]:
            parts.append(set(part))
    return parts


def depth_first(root, neighbours, seen):
    """The nodes reached from `root` that are not in `seen`, in the order in which they are left."""
    if root in seen:
        return []
    seen.add(root)
    left, path = [], [(root, iter(neighbours(root)))]
    while path:
        node, rest = path[-1]
        following = next((target for target in rest if target not in seen), None)
        if following is None:
            left.append(node)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(neighbours(following))))
    return left


def innermost_cycles(cycle, successors):
    """Without its entry a loop falls apart, and the loops inside of it are left."""
    inner = cycles(cycle - {entry_of(cycle, successors)}, successors)
    return [loop for part in inner for loop in innermost_cycles(part, successors)] if inner else [cycle]


def entry_of(cycle, successors):
    """The first block of `cycle` to which one comes from outside."""
    outside = {target for node, targets in successors.items() if node not in cycle for target in targets}
    return min(cycle & outside, default=min(cycle))


def running_order(cycle, successors):
    inside = depth_first(entry_of(cycle, successors), lambda node: [t for t in successors[node] if t in cycle], set())
    return reversed(inside)


class Frame:
    """Follows, instruction by instruction, which registers hold an address in the stack frame."""

    def __init__(self, arch):
        self.arch = arch
        self.stack_pointer = "rsp" if arch == "x86_64" else "sp"
        self.addresses = {self.stack_pointer: (0, 0)}  # register -> (frame, offset)
        self.lowest = (0, 0)

    def follow(self, instruction):
        if instruction.name.startswith("ret"):
            # What stands behind the function's end is run with the frame that was there before its epilogue.
            self.addresses[self.stack_pointer] = self.lowest
            return
        if self.arch == "x86_64":
            self._follow_x86(instruction.name, instruction.operands)
        else:
            self._follow_arm(instruction.name, instruction.operands)
        if self.addresses[self.stack_pointer] < self.lowest or self.addresses[self.stack_pointer][0] > self.lowest[0]:
            self.lowest = self.addresses[self.stack_pointer]

    def forget(self, registers):
        for register in registers:
            if register != self.stack_pointer:
                self.addresses.pop(register, None)

    def _move_stack(self, distance):
        frame, offset = self.addresses[self.stack_pointer]
        self.addresses[self.stack_pointer] = (frame, offset + distance)

    def _follow_x86(self, name, operands):
        if match := re.match(r"(push|pop)", name):
            self._move_stack(-8 if match[1] == "push" else 8)
        elif match := re.match(r"\$(-?0x[0-9a-f]+|\d+),%rsp$", operands):
            if name in ("sub", "add"):
                self._move_stack(int(match[1], 0) * (-1 if name == "sub" else 1))
            elif name == "and":  # Aligned: how far it moved is unknown.
                self.addresses["rsp"] = (self.addresses["rsp"][0] + 1, 0)
        elif match := re.match(r"(?:(-?0x[0-9a-f]+)?\(%(r\w+)\)|%(r\w+)),%(r\w+)$", operands):
            source = self.addresses.get(match[2] if name == "lea" else match[3] if name == "mov" else None)
            self.forget([match[4]])
            if source and match[4] != "rsp":
                self.addresses[match[4]] = (source[0], source[1] + int(match[1] or "0", 0))
        else:
            self.forget(written_registers(self.arch, Instruction(0, name, operands)))

    def _follow_arm(self, name, operands):
        match = re.match(r"(sp|x\d+), (sp|x\d+)(?:, #(0x[0-9a-f]+|\d+)(, lsl #12)?)?$", operands)
        if match and (name in ("add", "sub") and match[3] or name == "mov"):
            distance = int(match[3] or "0", 0) * (4096 if match[4] else 1) * (-1 if name == "sub" else 1)
            source = self.addresses.get(match[2])
            self.forget([match[1]])
            if source:
                self.addresses[match[1]] = (source[0], source[1] + distance)
        elif match := re.search(r"\[sp, #(-?\d+)\]!$|\[sp\], #(\d+)$", operands):
            self._move_stack(int(match[1] or match[2]))
        else:
            self.forget(written_registers(self.arch, Instruction(0, name, operands)))

    def accesses(self, instruction):
        """The vector slots that the instruction loads or stores."""
        if self.arch == "x86_64":
            return self._accesses_x86(instruction)
        return self._accesses_arm(instruction)

    def _accesses_x86(self, instruction):
        match = re.search(r"(-?0x[0-9a-f]+)?\(%(r\w+)\)", instruction.operands)
        if not match or match[2] not in self.addresses or not re.search(r"%[xyz]mm", instruction.operands):
            return []
        frame, offset = self.addresses[match[2]]
        store = re.fullmatch(r"(\{%k\d\})?", instruction.operands[match.end():]) is not None
        store = store and not re.match(r"v?(u?comis|ptest|testp)", instruction.name)
        return [Access(not store, (frame, offset + int(match[1] or "0", 0)))]

    def _accesses_arm(self, instruction):
        match = re.search(r"\[(sp|x\d+)(?:, #(-?\d+))?\]", instruction.operands)
        kind = re.match(r"(ld|st)(r|ur|p|[1-4]r?)$", instruction.name)
        vectors = re.findall(r"\b([qdshb]|v)(\d+)", instruction.operands.split("[")[0])
        if not match or not kind or not vectors or match[1] not in self.addresses:
            return []
        frame, offset = self.addresses[match[1]]
        offset += int(match[2] or 0)
        width = {"q": 16, "d": 8, "s": 4, "h": 2, "b": 1, "v": 16}[vectors[0][0]]
        return [Access(kind[1] == "ld", (frame, offset + i * width)) for i in range(len(vectors))]


def written_registers(arch, instruction):
    """The general registers, in their full width's names, that an instruction changes; too many rather than too few."""
    name, operands = instruction.name, instruction.operands
    if arch == "x86_64":
        if re.match(r"cmp|test|j|nop|prefetch|call|ret|v?(u?comis|ptest)", name) or operands.endswith(")"):
            return []
        return [full_x86_register(found) for found in re.findall(r"%(\w+)$", operands)]
    written = [found[1] for found in re.finditer(r"\[(x\d+)(?:, #-?\d+)?\](?:!|, )", operands)]  # Written back.
    if not re.match(r"st|b(\.|$)|cb|tb|cmp|cmn|tst|prf", name):
        written += ["x" + found for found in re.findall(r"\b[wx](\d+)", operands.split("[")[0])][:2 if name == "ldp" else 1]
    return written


def full_x86_register(name):
    """rax for eax, ax and al; r8 for r8d."""
    if match := re.match(r"(r\d+)[dwb]?$", name):
        return match[1]
    if match := re.match(r"[er]?([abcd])[xlh]$", name):
        return f"r{match[1]}x"
    match = re.match(r"[er]?(si|di|bp|sp)l?$", name)
    return "r" + match[1] if match else name


@dataclasses.dataclass(frozen=True)
class Slot:
    """A stack slot that a loop both stores and loads."""
    store: Instruction
    load: Instruction
    is_carried: bool  # Loaded first: what one iteration stores is for the next, an accumulator that lives on the stack.


def spilled_slots(arch, function, loop):
    """The Slots of one innermost loop."""
    frame = Frame(arch)
    first = min(instruction.address for instruction in loop)
    for instruction in function.body:
        if instruction.address >= first:
            break
        frame.follow(instruction)
    # A pointer that moves in the loop walks over an array.
    frame.forget(register for instruction in loop for register in written_registers(arch, instruction))
    loads, stores = {}, {}  # slot -> (when, instruction), the first time
    for when, instruction in enumerate(loop):
        for access in frame.accesses(instruction):
            (loads if access.is_load else stores).setdefault(access.slot, (when, instruction))
        frame.follow(instruction)
    return [Slot(stores[slot][1], loads[slot][1], loads[slot][0] < stores[slot][0]) for slot in sorted(stores) if slot in loads]

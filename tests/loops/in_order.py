"""Cycles of a loop on Cortex-A53 and Cortex-A55, which issue two instructions a cycle in the order of the program.

The rules are those that were measured on these cores by others (ncnn's wiki, "arm a53 a55 dual issue"): one vector
instruction a cycle; on A53 only general loads and arithmetic go beside a multiply-add, and 64-bit vector loads only beside a
move into a vector's element; on A55 64-bit vector loads and such moves go beside a multiply-add, too. 128-bit loads take two
cycles alone. LLVM's models of these cores pair other instructions than the hardware does.
"""
import dataclasses
import re

ANY_GENERAL = {"general load", "arithmetic", "branch"}


@dataclasses.dataclass(frozen=True)
class Core:
    partners: dict  # kind -> the kinds that can be issued in the same cycle, either first
    latency: dict


def symmetric(pairs):
    partners = {}
    for kind, others in pairs.items():
        for other in others:
            partners.setdefault(kind, set()).add(other)
            partners.setdefault(other, set()).add(kind)
    return partners


A53_PAIRS = {
    "vector": ANY_GENERAL,
    "load 64": {"insert", "arithmetic", "branch"},
    "insert": {"arithmetic", "branch"},
    "general load": {"arithmetic", "branch"},
    "arithmetic": {"arithmetic", "branch"},
    "store": {"arithmetic", "branch"},
}
A55_PAIRS = {
    **A53_PAIRS,
    "vector": ANY_GENERAL | {"load 64", "insert", "store"},
    "insert": {"arithmetic", "branch", "general load"},
}
LATENCY = {"vector": 4, "insert": 2, "general load": 3, "arithmetic": 1, "branch": 1, "store": 1}
CORES = {
    "a53": Core(symmetric(A53_PAIRS), {**LATENCY, "load 64": 4, "load 128": 5, "load 256": 6}),
    "a55": Core(symmetric(A55_PAIRS), {**LATENCY, "load 64": 3, "load 128": 4, "load 256": 6}),
}
CYCLES_ALONE = {"load 128": 2, "load 256": 4}  # No other instruction is issued meanwhile.


def kind_of(instruction):
    name, operands = instruction.name, instruction.operands
    vectors = len(re.findall(r"\bv\d+", operands.split("}")[0])) if operands.startswith("{") else 0
    if re.match(r"ld(r|ur|p)", name):
        width = {"q": 128, "d": 64, "s": 64}.get(operands[0], 0) * (2 if name == "ldp" else 1)
        return f"load {max(width, 64)}" if width else "general load"
    if re.match(r"ld1", name):
        half = name == "ld1r" or re.match(r"\{[^}]*(\}\[|\.(8b|4h|2s|1d)\})", operands)
        return f"load {min((64 if half else 128) * vectors, 256)}"
    if re.match(r"ld[2-4]", name):
        return "load 256"
    if re.match(r"st(r|ur|p|[1-4])", name):
        return "store"
    if re.match(r"(b|b\..*|bl|br|cbn?z|tbn?z|ret)$", name):
        return "branch"
    if re.match(r"(mov|ins|fmov)$", name) and re.match(r"v\d+\.[bhsd]\[", operands):
        return "insert"
    return "vector" if re.match(r"[vqds]\d", operands) else "arithmetic"


def registers(instruction):
    """The registers that an instruction (writes, reads); a pointer that it moves is in a third list."""
    found = [("v" if match[1] in "qvdshb" else "x") + match[2]
             for match in re.finditer(r"\b([qvdshbxw])(\d+)\b", instruction.operands)]
    kind = kind_of(instruction)
    moved = re.findall(r"\[(x\d+)[^\]]*\](?:!|,)", instruction.operands)
    if kind in ("store", "branch") or re.match(r"cmp|cmn|tst|prfu?m", instruction.name):
        return [], found, moved
    count = 2 if instruction.name == "ldp" else 1
    if instruction.operands.startswith("{"):
        count = len(re.findall(r"\bv\d+", instruction.operands.split("}")[0]))
    adds_to_it = kind == "insert" or re.match(r"fml[as]|ml[as]|[su]mla|[su]dot|[su]mmla|ins", instruction.name)
    return found[:count], found if adds_to_it else found[count:], moved


def cycles(loop, core, iterations=40):
    """Cycles an iteration, once it runs evenly; loads find their data in the first cache."""
    rules = CORES[core]
    decoded = [(kind_of(instruction), *registers(instruction)) for instruction in loop]
    ready = {}  # register -> the first cycle that can read it
    now, partner = 0, None  # the cycle that was issued last, and what is alone in it
    ends = []
    for _ in range(iterations):
        for kind, written, read, moved in decoded:
            data = max((ready.get(register, 0) for register in read), default=0)
            if partner and data <= now and kind in rules.partners.get(partner, ()):
                at, partner = now, None
            else:
                at = max(data, now + 1)
                partner = None if kind in CYCLES_ALONE else kind
            now = at + CYCLES_ALONE.get(kind, 1) - 1
            ready.update((register, at + rules.latency[kind]) for register in written)
            ready.update((register, at + 1) for register in moved)
        ends.append(now)
    half = iterations // 2
    return (ends[-1] - ends[half - 1]) / (iterations - half)

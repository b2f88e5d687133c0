"""The other engines as on a CPU with fewer instruction sets. Python's packages of most have no switch for that: they ask CPUID,
and take what is there. Their libraries are copied, each CPUID in a copy becomes UD2, which is as long, and a library that is
loaded first answers the signal that this raises (rivals/answer_cpuid.c). Skiff is told by SKIFF_CPU.

x86-64 Linux; needs cc, objdump and readelf.
"""
import importlib.metadata
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
# Tier -> what is hidden besides AMX.
TIERS = {
    "avx512vnni": ["-DHIDE_AVX512=0", "-DHIDE_AVX_VNNI=1"],
    "avxvnni": ["-DHIDE_AVX512=1", "-DHIDE_AVX_VNNI=0"],
    "avx2": ["-DHIDE_AVX512=1", "-DHIDE_AVX_VNNI=1"],
}
CPUID, UD2 = b"\x0f\xa2", b"\x0f\x0b"


def top_names(site, package):
    """Files and folders in which a package lies."""
    distribution = next(importlib.metadata.distributions(name=package, path=[site]))
    return {file.parts[0] for file in distribution.files if file.parts[0] != ".." and not file.parts[0].endswith(".dist-info")}


def libraries(folder):
    for root, _, files in os.walk(folder):
        for file in files:
            path = os.path.join(root, file)
            if re.search(r"\.so(\.|$)", file) and not os.path.islink(path):
                yield path


def code_sections(path):
    """(address, place in the file, size) of each section that can be executed."""
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    row = r"^ *\[ *\d+\] \S+ +PROGBITS +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) \S+ +\S*X"
    return [tuple(int(number, 16) for number in match) for match in re.findall(row, text, re.M)]


def patch(path):
    """Returns how many instructions were changed."""
    with open(path, "rb") as file:
        code = bytearray(file.read())
    if CPUID not in code:
        return 0
    sections = code_sections(path)
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True).stdout
    count = 0
    for address in (int(match, 16) for match in re.findall(r"^ *([0-9a-f]+):\s+cpuid", listing, re.M)):
        for start, place, size in sections:
            at = place + address - start
            if start <= address < start + size and code[at:at + 2] == CPUID:
                code[at:at + 2] = UD2
                count += 1
    with open(path, "wb") as file:
        file.write(code)
    return count


def environment(folder, python, packages, tier):
    """What processes of `python` need so that the packages meet a CPU of this tier. The copies are kept in `folder`."""
    code = "import sysconfig; print(sysconfig.get_paths()['platlib'])"
    site = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    copies = os.path.join(folder, "lower_tier")
    for name in sorted(set().union(*(top_names(site, package) for package in packages))):
        source, copy = os.path.join(site, name), os.path.join(copies, name)
        if os.path.exists(copy):
            continue
        unfinished = copy + ".unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        os.makedirs(unfinished)
        (shutil.copytree if os.path.isdir(source) else shutil.copy2)(source, os.path.join(unfinished, name))
        for path in libraries(unfinished):
            patch(path)
        os.rename(os.path.join(unfinished, name), copy)
        os.rmdir(unfinished)
    answer = os.path.join(copies, f"answer_{tier}.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", *TIERS[tier], "-o", answer, os.path.join(HERE, "rivals", "answer_cpuid.c")], check=True)
    return {"PYTHONPATH": copies, "LD_PRELOAD": answer, "SKIFF_CPU": tier}

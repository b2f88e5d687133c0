"""What check_spills.py finds, and what it leaves alone: usage: check_spills_test.py

Assembles small functions, so that what objdump prints of them is what is read.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from check_spills import check, read_exceptions, short_name
from disassembly import find_objdump, functions, innermost_loops, symbols

CHECKER = pathlib.Path(__file__).with_name("check_spills.py")

CLEAN_X86 = """
  vxorps %ymm0, %ymm0, %ymm0
  vmovaps %ymm0, 32(%rsp)          # before the loop
1: vmovups (%rsi), %ymm1
  vfmadd231ps 64(%rsp), %ymm1, %ymm0 # only loaded
  mov %rax, 8(%rsp)                # no vector
  mov 8(%rsp), %rax
  add $32, %rsi
  dec %rdx
  jne 1b
  vmovaps 32(%rsp), %ymm2
  ret"""

CARRIED_X86 = """
1: vmovups (%rsi), %ymm1
  vmovaps 32(%rsp), %ymm0
  vfmadd231ps (%rdi), %ymm1, %ymm0
  vmovaps %ymm0, 32(%rsp)
  add $32, %rsi
  dec %rdx
  jne 1b
  ret"""

PASSING_X86 = """
1: vmovups (%rsi), %ymm1
  vmovaps %ymm1, 32(%rsp)
  vaddps 32(%rsp), %ymm3, %ymm2
  dec %rdx
  jne 1b
  ret"""

CARRIED_ARM = """
1: ldp q0, q1, [x1], #32
  ldr q2, [sp, #48]
  fmla v2.4s, v0.4s, v1.s[0]
  fmla v3.4s, v0.4s, v1.s[1]
  stp q4, q2, [sp, #32]
  subs x2, x2, #1
  b.ne 1b
  ret"""

CLEAN_ARM = """
  str q2, [sp, #48]
1: ldr q0, [x1], #16
  ldr q2, [sp, #48]
  fmla v3.4s, v0.4s, v2.4s
  str x3, [sp, #8]
  ldr x3, [sp, #8]
  str q3, [x4]
  ldr q4, [x4]
  cbnz x2, 1b
  ret"""


def assemble(arch, folder, **bodies):
    """An object with a function of each name."""
    tool = "as" if arch == os.uname().machine and shutil.which("as") else f"{arch}-linux-gnu-as"
    if not shutil.which(tool) or not find_objdump(arch):
        raise unittest.SkipTest(f"no assembler and objdump for {arch}")
    path = os.path.join(folder, "kernels.cpp.o")
    source = "".join(f".globl {name}\n.type {name}, %function\n{name}:{body}\n.size {name}, .-{name}\n"
                     for name, body in bodies.items())
    subprocess.run([tool, "-o", path, "-"], input=source, text=True, check=True)
    return path


class Spills(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def found(self, arch, body):
        """How many slots, and how many of them carried, the sentence about the function says."""
        path = assemble(arch, self.folder, xnn_kernel=body)
        sentences = [sentence for is_mistake, sentence in check(arch, functions(find_objdump(arch), path), []) if is_mistake]
        self.assertLessEqual(len(sentences), 1)
        return sentences[0].split(";")[0] if sentences else None

    def test_an_accumulator_on_the_stack(self):
        self.assertEqual(self.found("x86_64", CARRIED_X86), "xnn_kernel: 1 slots, 1 carried")
        self.assertEqual(self.found("aarch64", CARRIED_ARM), "xnn_kernel: 1 slots, 1 carried")

    def test_a_value_that_passes_through_the_stack(self):
        self.assertEqual(self.found("x86_64", PASSING_X86), "xnn_kernel: 1 slots, 0 carried")

    def test_constants_and_general_registers_are_left_alone(self):
        self.assertIsNone(self.found("x86_64", CLEAN_X86))
        self.assertIsNone(self.found("aarch64", CLEAN_ARM))

    def test_the_stack_by_another_name(self):
        self.assertEqual(self.found("x86_64", "\n lea 16(%rsp), %r8" + CARRIED_X86.replace(", 32(%rsp)", ", 16(%r8)")),
                         "xnn_kernel: 1 slots, 1 carried")
        self.assertEqual(self.found("aarch64", "\n add x9, sp, #48" + CARRIED_ARM.replace("[sp, #48]", "[x9]")),
                         "xnn_kernel: 1 slots, 1 carried")
        self.assertIsNone(self.found("x86_64", "\n lea 16(%rsp), %r8\n mov %rcx, %r8"
                                     + CARRIED_X86.replace(", 32(%rsp)", ", 16(%r8)")))

    def test_a_pointer_that_walks_over_an_array_on_the_stack(self):
        walks = CARRIED_X86.replace("32(%rsp)", "(%r8)").replace("dec %rdx", "add $32, %r8\n dec %rdx")
        self.assertIsNone(self.found("x86_64", "\n lea 16(%rsp), %r8" + walks))

    def test_an_outer_loop_may_use_the_stack(self):
        nested = """
        1: vmovaps 32(%rsp), %ymm0
        2: vfmadd231ps (%rdi), %ymm1, %ymm0
          dec %rdx
          jne 2b
          vmovaps %ymm0, 32(%rsp)
          dec %rcx
          jne 1b
          ret"""
        self.assertIsNone(self.found("x86_64", nested))

    def test_a_block_behind_the_function_belongs_to_its_loop_alone(self):
        # Between the loop and its part behind the return stands what is not in the loop.
        moved = """
        1: vaddps (%rsi), %ymm0, %ymm0
          test %rcx, %rcx
          je 3f
        2: dec %rdx
          jne 1b
          vmovaps %ymm0, 32(%rsp)
          vmovaps 32(%rsp), %ymm1
          ret
        3: vaddps %ymm2, %ymm0, %ymm0
          jmp 2b"""
        self.assertIsNone(self.found("x86_64", moved))
        spilled = moved.replace("3: ", "3: vmovaps %ymm0, 32(%rsp)\n vaddps 32(%rsp), %ymm3, %ymm0\n ")
        self.assertEqual(self.found("x86_64", spilled), "xnn_kernel: 1 slots, 0 carried")

    def test_loops(self):
        path = assemble("x86_64", self.folder, none="\n ret", endless="\n1: jmp 1b",
                        two="\n1: dec %rax\n jne 1b\n2: dec %rdx\n jne 2b\n ret")
        counts = {function.name: len(innermost_loops(function)) for function in functions(find_objdump("x86_64"), path)}
        self.assertEqual(counts, {"none": 0, "endless": 1, "two": 2})
        self.assertEqual(symbols(find_objdump("x86_64"), path), set(counts))


class Exceptions(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path = assemble("x86_64", folder, xnn_a=CARRIED_X86, xnn_b=CLEAN_X86)
        self.functions = list(functions(find_objdump("x86_64"), path))

    def mistakes(self, text):
        return [sentence for is_mistake, sentence in check("x86_64", self.functions, read_exceptions(text)) if is_mistake]

    def test_one_that_is_needed(self):
        self.assertEqual(self.mistakes("# why\n\nx86_64 1 xnn_. costs little"), [])

    def test_one_that_is_not(self):
        self.assertIn("matches no kernel", self.mistakes("x86_64 1 xnn_a costs\nx86_64 1 xnn_c costs")[0])
        self.assertIn("clean now", self.mistakes("x86_64 1 xnn_a costs\nx86_64 1 xnn_b costs")[0])
        self.assertIn("lower it", self.mistakes("x86_64 2 xnn_a costs")[0])

    def test_one_of_another_architecture(self):
        self.assertEqual(len(self.mistakes("aarch64 1 xnn_a costs")), 1)

    def test_one_without_a_reason(self):
        for line in ("x86_64 1 xnn_a", "x86_64 0 xnn_a costs", "mips 1 xnn_a costs"):
            with self.assertRaises(SystemExit):
                read_exceptions(line)


class Program(unittest.TestCase):
    def run_checker(self, *arguments):
        return subprocess.run([sys.executable, "-B", CHECKER, *arguments], capture_output=True, text=True)

    def test_fails_on_a_spilled_kernel_that_is_linked(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other, \
             contextlib.chdir(folder):
            kernels = assemble("x86_64", folder, xnn_a=CARRIED_X86, xnn_b=CLEAN_X86)
            program = assemble("x86_64", other, xnn_b=CLEAN_X86)
            pathlib.Path("none").touch()
            spilled = self.run_checker("x86_64", "none", kernels)
            self.assertEqual(spilled.returncode, 1)
            self.assertIn("xnn_a: 1 slots, 1 carried", spilled.stdout)
            self.assertEqual(self.run_checker("x86_64", "none", kernels, "--linked-in", program).returncode, 0)
            pathlib.Path("allowed").write_text("x86_64 1 xnn_a costs little")
            self.assertEqual(self.run_checker("x86_64", "allowed", kernels).returncode, 0)
            self.assertRegex(self.run_checker("x86_64", "none", "missing.a").stdout, "^SKIPPED: ")

    def test_names(self):
        self.assertEqual(short_name("a.a", "xnn_f32_gemm"), "xnn_f32_gemm")
        self.assertEqual(short_name("x/avx2.cpp.o", "void skiff::xnnpack::(anonymous namespace)::Tile<3, true>(int const&)"),
                         "avx2:Tile<3,true>")


if __name__ == "__main__":
    unittest.main()

"""Which instructions of Cortex-A53 and Cortex-A55 share a cycle in in_order.py: usage: in_order_test.py"""
import unittest

from disassembly import Instruction
from in_order import cycles


def loop(*lines):
    return [Instruction(4 * i, *line.split(None, 1)) for i, line in enumerate(lines)]


class Cycles(unittest.TestCase):
    def expect(self, a53, a55, *lines):
        self.assertAlmostEqual(cycles(loop(*lines), "a53"), a53)
        self.assertAlmostEqual(cycles(loop(*lines), "a55"), a55)

    FMLAS = [f"fmla v{i}.4s, v30.4s, v31.s[1]" for i in range(8)]

    def test_one_multiply_add_a_cycle(self):
        self.expect(8, 8, *self.FMLAS)

    def test_an_accumulator_is_waited_for(self):
        self.expect(4, 4, self.FMLAS[0])

    def test_general_instructions_are_free_beside_multiply_adds(self):
        self.expect(8, 8, *[line for fmla in self.FMLAS for line in (fmla, "add x1, x1, #0x10")][:16])

    def test_64_bit_loads_beside_multiply_adds(self):
        pairs = [line for i, fmla in enumerate(self.FMLAS) for line in (fmla, f"ldr d{20 + i}, [x1, #{8 * i}]")]
        self.expect(16, 8, *pairs)
        self.expect(16, 8, *[line.replace("ldr d", "ld1 {v").replace(", [x", ".2s}, [x").split(", #")[0]
                             if line.startswith("ldr") else line for line in pairs])

    def test_128_bit_loads_are_alone(self):
        pairs = [line for i, fmla in enumerate(self.FMLAS) for line in (fmla, f"ldr q{20 + i}, [x1, #{16 * i}]")]
        self.expect(24, 24, *pairs)

    def test_a_pointer_that_moves_is_ready_in_the_next_cycle(self):
        self.expect(1, 1, "ldr x5, [x1], #8")


if __name__ == "__main__":
    unittest.main()

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from sweep import every, of_text, open_text  # noqa: E402

TEXT = """graph g {
  input x: f32[1, 4]
  const w: f32[4, 4] = seed 1
  y: f32[1, 4] = MatMul(x, w)
  q: i8[1, 4] {scale=0.5} = Quantize(y)
  output z = q
}
"""
OPENED = """graph g {
  input x: f32[d1, d2]
  const w: f32[4, 4] = seed 1
  y = MatMul(x, w)
  q: i8[1, 4] {scale=0.5} = Quantize(y)
  output z = q
}
"""


class Text(unittest.TestCase):
    def test_open_inputs_leave_constants_their_types(self):
        self.assertEqual(open_text(TEXT), OPENED)

    def test_changes_one_place_of_the_opened_text(self):
        made = [changed.decode() for changed in of_text(TEXT.encode(), True, every(0, 1))]
        self.assertIn(OPENED.replace("MatMul(x, w)", "MatMul(x, x)"), made)
        self.assertIn(OPENED.replace("f32[4, 4]", "f32[4, 0]"), made)
        self.assertIn(OPENED.replace("f32", "i64"), made)
        self.assertNotIn(OPENED, made)

    def test_parts_of_the_changes_are_all_of_them(self):
        def parts(step):
            return [set(of_text(TEXT.encode(), True, every(first, step))) for first in range(step)]

        halves = parts(2)
        self.assertEqual(halves[0] | halves[1], parts(1)[0])
        self.assertNotIn(parts(1)[0], halves)


if __name__ == "__main__":
    unittest.main()

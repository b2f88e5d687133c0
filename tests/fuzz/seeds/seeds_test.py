"""The seeds of TensorFlow Lite in the tree are what their script writes."""
import filecmp
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Seeds(unittest.TestCase):
    def test_those_in_the_tree_are_what_the_script_writes(self):
        here = os.path.join(HERE, "tflite", "graphs")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", os.path.join(HERE, "write_tflite.py"), folder], check=True)
            written = sorted(os.listdir(folder))
            self.assertEqual(written, sorted(os.listdir(here)), "write_tflite.py was not run, or a seed is not from it")
            _, others, unreadable = filecmp.cmpfiles(folder, here, written, shallow=False)
            self.assertEqual((others, unreadable), ([], []), "write_tflite.py was not run")


if __name__ == "__main__":
    unittest.main()

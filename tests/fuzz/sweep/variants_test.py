import copy
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from variants import INTEGERS, variants  # noqa: E402


class Variants(unittest.TestCase):
    def test_each_place_is_changed_alone_and_back(self):
        document = {"op": "Add", "inputs": ["a", "b"], "axis": 4, "big": "7", "flag": True, "inner": [{"scale": 0.5}, {}]}
        whole = copy.deepcopy(document)
        made = [copy.deepcopy(each) for each in variants(document)]
        self.assertEqual(document, whole)
        for expected in (
            {"op": ""},
            {"inputs": []},
            {"inputs": ["a"]},
            {"inputs": ["a", "b", "b"]},
            {"inputs": ["a", "a"]},
            {"inputs": ["b", "b"]},
            {"axis": INTEGERS[-1]},
            {"big": "-1"},
            {"flag": False},
            {"inner": [{}, {}]},
            {"inner": [{"scale": "NaN"}, {}]},
        ):
            self.assertIn({**whole, **expected}, made)
        self.assertNotIn(whole, made)

    def test_bytes_become_others_of_the_same_count(self):
        made = [copy.deepcopy(each)["raw_data"] for each in variants({"raw_data": "AQAAAAAAAAA="})]
        self.assertIn("//////////8=", made)
        self.assertIn("", made)


if __name__ == "__main__":
    unittest.main()

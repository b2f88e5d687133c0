"""The Python in the documentation runs as it stands: each block in the place of @SNIPPET@ in its file of tests/docs/snippets, which has
what the reader has around it."""

import re

import pytest

from conftest import SOURCE_DIR

SURROUNDINGS = SOURCE_DIR / "tests" / "docs" / "snippets"
PAGES = [SOURCE_DIR / "README.md", *SOURCE_DIR.glob("docs/*.md"), *SOURCE_DIR.glob("[!b]*/*/README.md"), *SOURCE_DIR.glob("platforms/*/*/README.md")]


def blocks():
    """Of all pages by the names of their surroundings."""
    found = {}
    for page in PAGES:
        # All pages called README.md have another folder.
        stem = (page.parent.name + "_" if page.parent != SOURCE_DIR and page.stem == "README" else "") + page.stem
        for number, block in enumerate(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL), 1):
            found[f"{stem}_{number}"] = block
    return found


BLOCKS = blocks()


def test_each_block_has_surroundings():
    assert sorted(BLOCKS) == sorted(path.name.removesuffix(".py.in") for path in SURROUNDINGS.glob("*.py.in"))


@pytest.mark.parametrize("name", BLOCKS)
def test_it_runs(name, tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(SURROUNDINGS))
    import nets

    code = (SURROUNDINGS / f"{name}.py.in").read_text().replace("@SNIPPET@", BLOCKS[name])
    exec(compile(code, f"{name}.py", "exec"), {"__name__": "__main__", "nets": nets, "pytest": pytest})

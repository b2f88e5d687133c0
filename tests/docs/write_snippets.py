#!/usr/bin/env python3
"""Makes sources that compile of the code in the documentation.

usage: write_snippets.py SOURCE_ROOT OUT LANGUAGE PAGE...      LANGUAGE: cpp, c, java or kt

Each ```LANGUAGE block (```kotlin for kt) of a page becomes OUT/<stem of the page>_<its number there>.LANGUAGE: the file of that name in
tests/docs/snippets, which says what the reader has around the block, with the block as it stands in the place of @SNIPPET@. Lines
of a block that begin with #include, and the using-directives among them, take the place of @INCLUDES@. Prints the files; a block without
surroundings, and surroundings without a block, are errors.
"""
import argparse
import pathlib
import re
import sys


FENCES = {"kt": "kotlin"}


def blocks(page, language):
    return re.findall(rf"^```{FENCES.get(language, language)}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def split_head(block):
    """Lines that must stand outside of a function, and the others."""
    lines = block.splitlines(keepends=True)
    head = [line for line in lines if line.startswith(("#include", "using namespace"))]
    return "".join(head), "".join(line for line in lines if line not in head)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", metavar="SOURCE_ROOT", type=pathlib.Path)
    parser.add_argument("out", metavar="OUT", type=pathlib.Path)
    parser.add_argument("language", metavar="LANGUAGE", choices=["cpp", "c", "java", "kt"])
    parser.add_argument("pages", metavar="PAGE", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    root, out, language = options.root, options.out, options.language
    surroundings = {path.name: path for path in (root / "tests" / "docs" / "snippets").glob(f"*.{language}.in")}
    out.mkdir(parents=True, exist_ok=True)
    for page in options.pages:
        # All pages called README.md have another folder.
        stem = (page.parent.name + "_" if page.parent != root and page.stem == "README" else "") + page.stem
        for number, block in enumerate(blocks(page, language), 1):
            name = f"{stem}_{number}.{language}"
            template = surroundings.pop(f"{name}.in", None)
            if template is None:
                sys.exit(f"{page}: the {language} block number {number} is not compiled; tests/docs/snippets/{name}.in is "
                         f"to say what stands around it")
            head, body = split_head(block)
            text = template.read_text().replace("@INCLUDES@", head).replace("@SNIPPET@", body)
            target = out / name
            if not target.exists() or target.read_text() != text:
                target.write_text(text)
            print(target)
    if surroundings:
        sys.exit(f"no block of the pages stands in {', '.join(sorted(surroundings))}")


if __name__ == "__main__":
    main()

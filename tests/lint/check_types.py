"""Checks that no two files define a type of the same qualified name: usage: check_types.py SOURCE_ROOT

Two such types in one program are undefined behaviour that no linker reports: whichever inline constructor or destructor
it meets first serves both. Types in anonymous namespaces and in functions are a file's own, and are not compared; forward
declarations and specialisations of templates define no new name. The compiler is not needed, so the check sees what no
build configuration of this machine compiles; what macros define it does not see (`-Wodr` of the preset `odr` does).
"""
import collections
import dataclasses
import pathlib
import re
import sys

FOLDERS = ("runtime", "delegates", "converter", "platforms", "samples", "tests")
SUFFIXES = (".h", ".cpp")

LEXEME = re.compile(
    r"""(?P<blank>\s+|//(?:\\\n|[^\n])*|/\*.*?\*/)
      |(?P<directive>(?m:^)[ \t]*\#(?:/\*.*?\*/|\\\n|[^\n])*)
      |(?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
      |(?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
      |(?P<number>\.?\d(?:'?[\w.])*)
      |(?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
      |(?P<name>[A-Za-z_]\w*)
      |(?P<symbol>::|\[\[|\]\]|.)""",
    re.VERBOSE | re.DOTALL)
CLASS_KEYS = ("class", "struct", "union", "enum")
OPENING = {"(": ")", "[": "]", "[[": "]]"}


def lex(text):
    """Yields names, symbols, '""' for a string, '0' for other literals and '#...' for a directive."""
    for match in LEXEME.finditer(text):
        kind = match.lastgroup if match.lastgroup != "delimiter" else "raw"
        if kind in ("raw", "string"):
            yield '""'
        elif kind in ("number", "character"):
            yield "0"
        elif kind == "directive":
            yield "#" + re.sub(r"\\\n|/\*.*?\*/", " ", match.group().strip()[1:], flags=re.DOTALL).strip()
        elif kind != "blank":
            yield match.group()


def without_groups(tokens):
    """`tokens` without what stands in brackets, angle brackets of templates included; each group leaves its opening one."""
    kept, closing = [], []
    for i, token in enumerate(tokens):
        is_angle = token == "<" and i > 0 and re.match(r"[A-Za-z_]\w*$", tokens[i - 1])
        if token in OPENING or is_angle:
            if not closing:
                kept.append(token)
            closing.append(OPENING.get(token, ">"))
        elif closing and token == closing[-1]:
            closing.pop()
        elif not closing:
            kept.append(token)
    return kept


@dataclasses.dataclass(frozen=True)
class Scope:
    kind: str  # "transparent": adds nothing to a name; "named"; "hidden": what is inside belongs to the file
    name: str = ""
    defines: bool = False  # a type, not a namespace


HIDDEN = Scope("hidden")


def scope_of(head):
    """What the brace behind the tokens `head` (since the last `;`, `{` or `}`) opens."""
    tokens = without_groups(head)
    if tokens[:1] == ["extern"] and tokens[1:] == ['""']:
        return Scope("transparent")
    if "namespace" in tokens[:2]:
        name = [token for token in tokens[tokens.index("namespace") + 1:] if token not in ("[[", "inline")]
        return Scope("named", "".join(name)) if name else HIDDEN
    key = next((i for i, token in enumerate(tokens) if token in CLASS_KEYS), None)
    if key is None or "=" in tokens[:key] or "(" in tokens[:key] and "requires" not in tokens[:key]:
        return HIDDEN
    rest = tokens[key + 1:]
    if rest[:1] in (["class"], ["struct"]):  # of an enum
        rest = rest[1:]
    rest = rest[:rest.index(":")] if ":" in rest else rest
    if rest[-1:] == ["final"]:
        rest.pop()
    if rest[-1:] == ["<"] or not rest or not re.match(r"[A-Za-z_]\w*$", rest[-1]):
        return HIDDEN  # a specialisation, an unnamed type, or a function that returns one
    begin = len(rest) - 1
    while begin >= 2 and rest[begin - 1] == "::":
        begin -= 2
    if "<" in rest[begin:]:
        return HIDDEN  # a member of a specialisation
    # Attributes and macros in capitals may stand before the name; another name is the type of a variable.
    if any(token not in ("[[", "(", "alignas", "__attribute__") and not re.match(r"[A-Z][A-Z0-9_]*$", token)
           for token in rest[:begin]):
        return HIDDEN
    return Scope("named", "".join(rest[begin:]), defines=True)


def defined_types(text):
    """The qualified names of the types that the C++ source `text` defines for the whole program."""
    types = set()
    scopes, head = [], []
    branches = []  # of each #if: the state at its beginning, and the depth at which an "#if 0" hides the code, or None
    for token in lex(text):
        if token.startswith("#"):
            directive = token[1:].split(None, 1)
            word = directive[0] if directive else ""
            if word in ("if", "ifdef", "ifndef"):
                off = word == "if" and directive[1:] == ["0"]
                branches.append([list(scopes), list(head), off])
            elif word in ("else", "elif") and branches:
                # Each branch goes on from where the #if stood, so that one that opens a brace in both opens it once.
                scopes, head, branches[-1][2] = list(branches[-1][0]), list(branches[-1][1]), False
            elif word == "endif" and branches:
                branches.pop()
        elif any(off for _, _, off in branches):
            continue
        elif token == "{":
            scope = HIDDEN if any(outer.kind == "hidden" for outer in scopes) else scope_of(head)
            scopes.append(scope)
            if scope.defines:
                types.add("::".join(outer.name for outer in scopes if outer.kind == "named"))
            head = []
        elif token == "}":
            if scopes:
                scopes.pop()
            head = []
        elif token == ";":
            head = []
        elif token == ":" and head[-1:] and head[-1] in ("public", "private", "protected"):
            head = []
        else:
            head.append(token)
    return types


def duplicates(sources):
    """`sources` maps files to their text; returns {qualified name: files} of the types that several files define."""
    files = collections.defaultdict(list)
    for file, text in sources.items():
        for name in defined_types(text):
            files[name].append(file)
    return {name: sorted(where) for name, where in sorted(files.items()) if len(where) > 1}


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    sources = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                sources[path.relative_to(root).as_posix()] = path.read_text()
    found = duplicates(sources)
    for name, where in found.items():
        print(f"{name} is defined in {' and in '.join(where)}; give one another name, or an anonymous namespace")
    count = sum(len(defined_types(text)) for text in sources.values())
    print(f"{len(sources)} files checked, {count} types, {len(found)} names defined twice")
    return 1 if found or len(sources) < 50 or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())

"""Every single change of a document of JSON: what the sweep makes of a model."""
import base64
import re

INTEGERS = [0, 1, -1, 2, 3, 5, 8, 255, 1 << 20, 1 << 31, (1 << 63) - 1, -(1 << 63)]
REALS = [0.0, 1.0, -1.0, 1e-30, 1e30, "NaN", "Infinity"]
# Of a long list each element is like the next.
MOST_ELEMENTS = 4
MOST_WORDS = 6


def words_by_key(tree, key=None, found=None):
    """The strings of the document under each key, as they come."""
    found = {} if found is None else found
    if isinstance(tree, dict):
        for name, value in tree.items():
            words_by_key(value, name, found)
    elif isinstance(tree, list):
        for value in tree:
            words_by_key(value, key, found)
    elif isinstance(tree, str):
        words = found.setdefault(key, [])
        if tree not in words and len(words) < MOST_WORDS:
            words.append(tree)
    return found


def other_bytes(text):
    """Instead of bytes in base64: none, fewer, and those of 0, -1 and the ends of integers everywhere."""
    data = base64.b64decode(text)
    patterns = [b"", data[:-1], *(bytes([byte]) * len(data) for byte in (0, 255, 127, 128))]
    patterns += [(number & (1 << 64) - 1).to_bytes(8, "little") * (len(data) // 8) for number in INTEGERS if len(data) % 8 == 0]
    return [base64.b64encode(pattern).decode() for pattern in patterns]


def replacements(key, value, words):
    """What may stand in the place of a value. Integers of 64 bits are strings where protobuf writes JSON."""
    if isinstance(value, dict):
        return [{name: value[name] for name in value if name != left_out} for left_out in value]
    if isinstance(value, list):
        shorter = [value[:i] + value[i + 1 :] for i in range(len(value)) if i < MOST_ELEMENTS or i == len(value) - 1]
        alike = [[each] * len(value) for each in replacements(key, value[0], words)] if value and not isinstance(value[0], dict) else []
        return [[], *shorter, value + value[-1:], *alike]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return INTEGERS
    if isinstance(value, float):
        return REALS
    if key == "raw_data":
        return other_bytes(value)
    if re.fullmatch(r"-?\d+", value):
        return [str(number) for number in INTEGERS]
    return ["", *words.get(key, [])]


def places(tree, key=None):
    """Each value that can be replaced: what holds it, where in it, and the key that says what it is."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree[:MOST_ELEMENTS] if tree and not isinstance(tree[0], dict) else tree)
    for at, value in list(inner):
        name = at if isinstance(tree, dict) else key
        yield tree, at, name
        if isinstance(value, (dict, list)):
            yield from places(value, name)


def variants(document):
    """The document with one change after the other; the same object each time."""
    words = words_by_key(document)
    for holder, at, key in places(document):
        old = holder[at]
        for new in replacements(key, old, words):
            if new != old or type(new) is not type(old):
                holder[at] = new
                yield document
        holder[at] = old

"""Pictures with labels: the photographs among Tux Paint's stamps (Debian's tuxpaint-stamps-default), twenty of ImageNet's
(the Python package foolbox), and squares of the photographs that lie beside the shared models."""
import importlib.util
import pathlib
import re

import numpy as np
from PIL import Image

STAMPS = pathlib.Path("/usr/share/tuxpaint/stamps")
DRAWN = re.compile(r"cartoon|symbols|seasonal|toys|plastic|naturalforces|space")
# Folders of stamps that show what CIFAR-10 names, in its order.
CIFAR10 = ("vehicles/flight/planes/", "vehicles/(auto|emergency)/", "animals/birds/", "animals/mammals/cats/",
           "animals/mammals/deer/", "animals/mammals/dogs/", "animals/amphibians/frog", "animals/mammals/equines/",
           "vehicles/ship/", "vehicles/garbagetruck")


def stamps():
    """Path below STAMPS, the words of its name, picture with transparency."""
    files = sorted(path for path in STAMPS.rglob("*.png") if not DRAWN.search(str(path.relative_to(STAMPS)))
                   and path.with_suffix(".txt").exists())
    if not files:
        raise SystemExit(f"{STAMPS} has no stamps: install Debian's tuxpaint-stamps-default")
    for path in files:
        title = path.with_suffix(".txt").read_text(errors="replace").splitlines()[0]
        words = re.findall(r"[a-z]+", re.split("[.!,(]", title.lower())[0])
        picture = Image.open(path).convert("RGBA")
        yield str(path.relative_to(STAMPS)), words, picture.crop(picture.getbbox())


def photographs(models):
    files = sorted(path for path in models.glob("*/*") if path.suffix in (".jpg", ".jpeg", ".bmp")
                   and "mask" not in path.name)
    return [Image.open(path).convert("RGB") for path in files]


def cut(picture, side, random, least=0.4):
    """A square of it, of any size from `least` of the whole on."""
    edge = int(min(picture.size) * random.uniform(least, 1))
    left, top = (int(random.integers(0, extent - edge + 1)) for extent in picture.size)
    return picture.crop((left, top, left + edge, top + edge)).resize((side, side), Image.BILINEAR)


def squares(models, side, count, seed):
    """Samples of 0 to 255, every second square mirrored, and which photograph each is of."""
    pictures = photographs(models)
    random = np.random.default_rng(seed)
    found = [np.asarray(cut(pictures[i % len(pictures)], side, random), np.float32) for i in range(count)]
    return (np.stack([pixels[:, ::-1] if i % 2 else pixels for i, pixels in enumerate(found)]),
            np.arange(count) % len(pictures))


def shown(stamp, side, random):
    """A stamp on a light ground, mirrored or not, with a camera's noise."""
    canvas = Image.new("RGB", (side, side), tuple(int(sample) for sample in random.integers(200, 256, 3)))
    share = side * random.uniform(0.7, 1) / max(stamp.size)
    small = stamp.resize([max(1, int(extent * share)) for extent in stamp.size], Image.BOX if share < 1 else Image.BILINEAR)
    canvas.paste(small, [int(random.integers(0, side - extent + 1)) for extent in small.size], small)
    pixels = np.asarray(canvas, np.float32)
    pixels = np.clip(np.round(pixels + random.normal(0, 4, pixels.shape)), 0, 255).astype(np.float32)
    return pixels[:, ::-1] if random.integers(2) else pixels


def named_stamps(side, classes_of, views, calls, seed):
    """Samples of 0 to 255 of stamps that have a class, `views` of each, and their classes; and of others to calibrate
    with. classes_of(path, words): the classes that are right, an empty set: none."""
    random = np.random.default_rng(seed)
    others, named = [], []
    for path, words, picture in stamps():
        right = classes_of(path, words)
        (named if right else others).append((picture, right))
    random.shuffle(others)
    calibration = [shown(others[i % len(others)][0], side, random) for i in range(calls)]
    inputs, labels = [], []
    for picture, right in named:
        for _ in range(views):
            inputs.append(shown(picture, side, random))
            labels.append(right)
    return np.stack(calibration), np.stack(inputs), labels


def of_imagenet(side, views, seed):
    """Samples of 0 to 255 of photographs from ImageNet's test set, `views` squares of each, every second mirrored, and
    their classes (0 is the tench)."""
    package = importlib.util.find_spec("foolbox")
    if not package:
        raise SystemExit("ImageNet's photographs are in the package foolbox: pip install --no-deps foolbox")
    files = sorted((pathlib.Path(package.origin).parent / "data").glob("imagenet_*.jpg"))
    random = np.random.default_rng(seed)
    inputs, labels = [], []
    for file in files:
        picture = Image.open(file).convert("RGB")
        for view in range(views):
            pixels = np.asarray(cut(picture, side, random, 0.8), np.float32)
            inputs.append(pixels[:, ::-1] if view % 2 else pixels)
            labels.append(int(file.stem.split("_")[-1]))
    return np.stack(inputs), np.array(labels)


def cifar10_classes(path, _words):
    return {i for i, pattern in enumerate(CIFAR10) if re.match(pattern, path)}

"""Characters as samples/characters/train.py draws them."""
import importlib.util
import pathlib
import sys
import types

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "samples/characters"
FONTS = pathlib.Path("/usr/share/fonts")


def drawing():
    """train.py without what trains."""
    for name in ("torch", "torch.nn"):
        module = types.ModuleType(name)
        module.Module = object
        module.nn = module
        sys.modules.setdefault(name, module)
    spec = importlib.util.spec_from_file_location("train", FOLDER / "train.py")
    train = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(train)
    return train


def draw(train, families, per_class, seed):
    random = np.random.default_rng(seed)
    images, labels, glyphs = [], [], {}
    names = list(families)
    for label, character in enumerate(train.LABELS):
        for i in range(per_class):
            fonts = families[names[i % len(names)]]
            font = fonts[random.integers(len(fonts))]
            if (font, character) not in glyphs:
                glyphs[font, character] = train.draw_glyph(font, character)
            picture = train.paint(train.distort(glyphs[font, character], train.SIZE, random), random)
            images.append((picture.transpose(2, 0, 1).astype(np.float32) - train.MEAN) * np.float32(train.SCALE))
            labels.append(label)
    return np.stack(images), np.array(labels)


def training_and_held_out(per_class, calls, seed):
    """Characters in fonts of the training, to calibrate with; and in fonts held out, with their classes."""
    train = drawing()
    training = {name: sorted(FONTS.glob(pattern)) for name, pattern in train.TRAINING_FAMILIES.items()}
    training = {name: files for name, files in training.items() if files}
    calibration, _ = draw(train, training, 2, seed)
    inputs, labels = draw(train, train.find_fonts(FONTS, train.HELD_OUT_FAMILIES), per_class, seed + 1)
    chosen = np.random.default_rng(seed).permutation(len(calibration))[:calls]
    return calibration[chosen], inputs, labels

#!/usr/bin/python3
"""Trains the sample character classifier on characters rendered by this script, and exports it to ONNX.

usage: /usr/bin/python3 train.py [--out DIR] [--epochs N] [--per-class N]

The packages to install, the split of the fonts and the accuracy are in README.md.
"""
import argparse
import collections
import pathlib
import string
import sys
import time

try:
    import numpy
    import onnx
    import torch
    from PIL import Image, ImageDraw, ImageFilter, ImageFont
    from torch import nn
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

LABELS = string.digits + string.ascii_uppercase
SIZE = 32
MEAN = 127.5
SCALE = 0.00784313725  # 1 / 127.5, as written on the converter's command line.
SEED = 20240501
GLYPH_BOX = 96  # Side of the masks in which each glyph is drawn once, before it is distorted.

# No held-out family derives from a training one, which is why Carlito (from Lato) and Hack (from DejaVu) are
# in neither list.
TRAINING_FAMILIES = {
    "DejaVu": "truetype/dejavu/*.ttf",
    "Liberation": "truetype/liberation/*.ttf",
    "FreeFont": "truetype/freefont/*.ttf",
    "Lato": "truetype/lato/*.ttf",
    "Open Sans": "truetype/open-sans/*.ttf",
    "Noto Mono": "truetype/noto/*Mono-*.ttf",
    "Inconsolata": "truetype/inconsolata/*.otf",
    "Comfortaa": "truetype/comfortaa/*.ttf",
    "Linux Libertine": "opentype/linux-libertine/Lin*_R*.otf",
}
HELD_OUT_FAMILIES = {
    "Roboto": "truetype/roboto/unhinted/**/*.ttf",
    "Cantarell": "opentype/cantarell/*.otf",
    "Fira Code": "truetype/firacode/*.ttf",
    "Caladea": "truetype/crosextra/Caladea*.ttf",
}
# Strokes below a pixel wide vanish at 32x32, so these styles are left out on both sides of the split.
TOO_THIN = ("Hairline", "Thin")

# The example pictures: character, file of a held-out font, width and height.
EXAMPLES = (
    ("A", "Roboto-Regular.ttf", 64),
    ("7", "Cantarell-Bold.otf", 32),
    ("R", "Caladea-Italic.ttf", 96),
    ("K", "FiraCode-Medium.ttf", 48),
    ("4", "RobotoCondensed-Regular.ttf", 128),
    ("G", "Cantarell-Regular.otf", 80),
)
# The examples whose input and output are stored as well: one that needs no resize, and one that needs it.
REFERENCES = ("7", "A")


def find_fonts(fonts_root, families):
    """The font files of each family, sorted, so that one seed gives the same pictures everywhere."""
    found = {}
    for family, pattern in families.items():
        files = sorted(p for p in fonts_root.glob(pattern) if not any(w in p.name for w in TOO_THIN))
        if not files:
            raise SystemExit(f"no font of the family {family}: expected files {fonts_root / pattern}; "
                             "install the packages that README.md lists")
        found[family] = files
    return found


def draw_glyph(font_path, character):
    """The character in white on black, centred by its bounding box, at one size for the whole font."""
    font = ImageFont.truetype(str(font_path), 64)
    mask = Image.new("L", (GLYPH_BOX, GLYPH_BOX))
    left, top, right, bottom = font.getbbox(character)
    origin = ((GLYPH_BOX - left - right) / 2, (GLYPH_BOX - top - bottom) / 2)
    ImageDraw.Draw(mask).text(origin, character, fill=255, font=font)
    return mask


def distort(mask, side, random):
    """The mask rotated, sheared, scaled and shifted onto a square of the given side."""
    angle = numpy.deg2rad(random.uniform(-15, 15))
    shear = random.uniform(-0.15, 0.15)
    # A capital is about 46 pixels high in the mask: the zoom takes it to 55 % to 85 % of the picture.
    zoom = side / 46 * random.uniform(0.55, 0.85)
    stretch = random.uniform(0.92, 1.08)
    rotation = numpy.array([[numpy.cos(angle), -numpy.sin(angle)], [numpy.sin(angle), numpy.cos(angle)]])
    forward = rotation @ numpy.array([[1, shear], [0, 1]]) @ numpy.diag([zoom * stretch, zoom / stretch])
    back = numpy.linalg.inv(forward)
    target = side / 2 + random.uniform(-0.06, 0.06, 2) * side
    offset = GLYPH_BOX / 2 - back @ target
    coefficients = (back[0, 0], back[0, 1], offset[0], back[1, 0], back[1, 1], offset[1])
    return mask.transform((side, side), Image.AFFINE, coefficients, resample=Image.BILINEAR)


def paint(mask, random):
    """An RGB picture: the mask in random ink on a shaded, clearly lighter or darker ground, and noise."""
    side = mask.size[0]
    if random.random() < 0.3:
        mask = mask.filter(ImageFilter.GaussianBlur(random.uniform(0.2, 0.9) * side / SIZE))
    weights = numpy.array([0.299, 0.587, 0.114])
    while True:
        ink, paper = random.uniform(0, 255, (2, 3))
        if abs((ink - paper) @ weights) > 60:
            break
    slope = random.uniform(-20, 20, 2)
    ramp = numpy.linspace(-1, 1, side)
    background = paper + (slope[0] * ramp[:, None] + slope[1] * ramp[None, :])[:, :, None]
    alpha = numpy.asarray(mask, numpy.float32)[:, :, None] / 255
    picture = background * (1 - alpha) + ink * alpha
    picture = picture + random.normal(0, random.uniform(0, 12), picture.shape)
    return numpy.clip(numpy.rint(picture), 0, 255).astype(numpy.uint8)


def preprocess(picture):
    """What the tool does: bilinear resize to 32x32, then (value - MEAN) * SCALE, as [1, 3, 32, 32]."""
    image = torch.from_numpy(picture.astype(numpy.float32)).permute(2, 0, 1)[None]
    if image.shape[2:] != (SIZE, SIZE):
        image = nn.functional.interpolate(image, (SIZE, SIZE), mode="bilinear", align_corners=False)
    return (image - MEAN) * SCALE


def render(families, per_class, random):
    """Pictures [N, 3, 32, 32], labels [N] and the family of each, balanced over characters and families."""
    images, labels, owners = [], [], []
    glyphs = {}
    names = list(families)
    for label, character in enumerate(LABELS):
        for i in range(per_class):
            family = names[i % len(names)]
            font = families[family][random.integers(len(families[family]))]
            if (font, character) not in glyphs:
                glyphs[font, character] = draw_glyph(font, character)
            side = int(random.choice((32, 32, 40, 48, 64, 96)))
            images.append(preprocess(paint(distort(glyphs[font, character], side, random), random)))
            labels.append(label)
            owners.append(family)
    return torch.cat(images), torch.tensor(labels), owners


def convolution(inputs, outputs, kernel=3, stride=1, groups=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False)


class SeparableResidual(nn.Module):
    """A depthwise and a pointwise convolution, each with BatchNorm, added to their input."""

    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(convolution(width, width, groups=width), nn.BatchNorm2d(width), nn.ReLU(),
                                  convolution(width, width, kernel=1), nn.BatchNorm2d(width))

    def forward(self, x):
        return nn.functional.relu(x + self.body(x))


def make_model():
    return nn.Sequential(
        convolution(3, 24, stride=2), nn.BatchNorm2d(24), nn.ReLU(), SeparableResidual(24),
        convolution(24, 48, stride=2), nn.BatchNorm2d(48), nn.ReLU(), SeparableResidual(48),
        convolution(48, 80, stride=2), nn.BatchNorm2d(80), nn.ReLU(),
        convolution(80, 144, kernel=1), nn.BatchNorm2d(144), nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(144, len(LABELS)))


def train(model, images, labels, epochs, batch=128):
    steps = epochs * (len(images) // batch)
    optimiser = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=steps, pct_start=0.2)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(epochs):
        model.train()
        begin, total = time.time(), 0.0
        order = torch.randperm(len(images))
        for first in range(0, len(images) - batch + 1, batch):
            chosen = order[first:first + batch]
            optimiser.zero_grad()
            loss = criterion(model(images[chosen]), labels[chosen])
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item() * batch
        print(f"epoch {epoch + 1}/{epochs}: loss {total / len(images):.4f}, {time.time() - begin:.0f} s",
              flush=True)
    model.eval()


def report(model, images, labels, owners):
    """Prints the accuracy by family, and the most frequent confusions."""
    with torch.no_grad():
        guesses = torch.cat([model(part).argmax(1) for part in images.split(512)])
    right = guesses == labels
    for family in dict.fromkeys(owners):
        mine = torch.tensor([owner == family for owner in owners])
        print(f"  {family}: {100 * right[mine].float().mean():.2f} % of {int(mine.sum())}")
    alike = {LABELS.index("0"), LABELS.index("O")}
    merged = right | torch.tensor([{int(a), int(b)} <= alike for a, b in zip(guesses, labels)])
    print(f"  all: {100 * right.float().mean():.2f} % of {len(labels)}; "
          f"{100 * merged.float().mean():.2f} % when 0 and O count as one")
    wrong = collections.Counter(LABELS[int(a)] + " read as " + LABELS[int(b)]
                                for a, b in zip(labels[~right], guesses[~right]))
    print("  most frequent: " + ", ".join(f"{name} ({count})" for name, count in wrong.most_common(8)))


def export(model, path):
    """Writes inference-form ONNX with the BatchNormalization nodes kept, for the converter to fold."""
    torch.onnx.export(model, torch.zeros(1, 3, SIZE, SIZE), str(path), opset_version=14,
                      input_names=["image"], output_names=["logits"],
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    graph = onnx.load(str(path))
    onnx.checker.check_model(graph, full_check=True)
    norms = [node for node in graph.graph.node if node.op_type == "BatchNormalization"]
    if not norms or any(len(node.output) != 1 for node in norms):
        raise SystemExit("the export folded BatchNormalization, or left it in training form")
    nodes = " ".join(node.op_type for node in graph.graph.node)
    print(f"{path.name}: {path.stat().st_size} bytes, nodes: {nodes}")


def write_examples(model, fonts, out):
    """Writes the example pictures, and the input and output of PyTorch for those in REFERENCES."""
    random = numpy.random.default_rng(SEED + 2)
    (out / "images").mkdir(exist_ok=True)
    paths = {path.name: path for files in fonts.values() for path in files}
    for character, name, side in EXAMPLES:
        picture = paint(distort(draw_glyph(paths[name], character), side, random), random)
        file = out / "images" / f"{character}_{pathlib.Path(name).stem.lower()}_{side}x{side}.png"
        Image.fromarray(picture).save(file, optimize=True)
        image = preprocess(picture)
        with torch.no_grad():
            logits = model(image)
        chance = torch.softmax(logits, 1)[0]
        print(f"{file.name}: {LABELS[int(chance.argmax())]} ({chance.max():.3f})")
        if character in REFERENCES:
            case = out / "reference" / file.stem
            case.mkdir(parents=True, exist_ok=True)
            numpy.save(case / "input_image.npy", image.numpy())
            numpy.save(case / "output_logits.npy", logits.numpy())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("--fonts", type=pathlib.Path, default=pathlib.Path("/usr/share/fonts"))
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--per-class", type=int, default=900, help="training pictures of each character")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    begin = time.time()
    training = find_fonts(arguments.fonts, TRAINING_FAMILIES)
    held_out = find_fonts(arguments.fonts, HELD_OUT_FAMILIES)
    for name, families in (("training", training), ("held out", held_out)):
        print(f"{name}: " + ", ".join(f"{family} ({len(files)})" for family, files in families.items()))
    images, labels, _ = render(training, arguments.per_class, numpy.random.default_rng(SEED))
    test_images, test_labels, test_owners = render(held_out, 200, numpy.random.default_rng(SEED + 1))
    print(f"rendered {len(images)} training and {len(test_images)} held-out pictures "
          f"in {time.time() - begin:.0f} s", flush=True)

    model = make_model()
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    train(model, images, labels, arguments.epochs)
    print("held-out fonts:")
    report(model, test_images, test_labels, test_owners)

    arguments.out.mkdir(parents=True, exist_ok=True)
    export(model, arguments.out / "characters.onnx")
    (arguments.out / "labels.txt").write_text("\n".join(LABELS) + "\n")
    write_examples(model, held_out, arguments.out)
    print(f"{time.time() - begin:.0f} s in all")


if __name__ == "__main__":
    main()

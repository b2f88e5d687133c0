#!/usr/bin/env python3
"""Writes cases/ beside this file: ten pictures, and what Pillow and torchvision make of them. The tests need neither.

usage: write_cases.py pillow        pictures.ppm, pillow.txt and pillow.ppm (Pillow and NumPy; 12.0 wrote what is there)
       write_cases.py torchvision   torchvision.txt and torchvision.f32 (0.14 on Pillow 9.4)

Those of Pillow 9.4 to 12.0 are the same: a picture's rows are resized, rounded to 8 bits, then its columns. Pillow 13 begins with
the columns where a picture loses more of its height than of its width.

A line of the .txt files is a case: picture, fit, width, height, resize, filter, channels, orientation, fill. The results follow
each other in the order of the lines: pictures as PPM or PGM, tensors [3, height, width] as little-endian f32.
"""
import argparse
import itertools
import math
import os
import random
import sys

try:
    import numpy as np
    from PIL import Image, ImageOps
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {'-h', '--help'} & set(sys.argv) else f'{missing}; --help says what is needed')

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cases')
SIZES = [(1, 1), (7, 5), (64, 48), (100, 30), (31, 97), (48, 48), (33, 32), (5, 64), (80, 80), (17, 19)]
FILTERS = {'bilinear': Image.BILINEAR, 'bicubic': Image.BICUBIC, 'nearest': Image.NEAREST}
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def sample(kind, x, y, c, dice):
    """Noise, ramps, hard edges, waves, saturated colours, by turns."""
    return [lambda: dice.randrange(256), lambda: (x * (3 + c) + y * (5 - c)) % 256,
            lambda: 255 * ((x // 3 + y // (2 + c)) % 2), lambda: int(127.5 + 127.5 * math.sin(x * 0.35 + c) * math.cos(y * 0.21)),
            lambda: 255 * ((x * y + c) % 3 == 0)][kind]()


def pictures():
    for number, (width, height) in enumerate(SIZES):
        dice = random.Random(number)
        channels = 1 if number == 5 else 3
        samples = [[[sample(number % 5, x, y, c, dice) for c in range(channels)] for x in range(width)] for y in range(height)]
        array = np.array(samples, np.uint8)
        yield Image.fromarray(array[:, :, 0] if channels == 1 else array)


def write_netpbm(file, image):
    grey = image.mode == 'L'
    file.write(b'P%d\n%d %d\n255\n' % (5 if grey else 6, *image.size))
    file.write(image.tobytes())


def pillow_cases():
    for picture, name in itertools.product(range(len(SIZES)), FILTERS):
        for width, height in [(16, 16), (40, 24)]:
            yield picture, 'stretch', width, height, 0, name, 3, 1, 0
    for picture in range(len(SIZES)):
        yield picture, 'letterbox', 24, 24, 0, 'bilinear', 3, 1, 114
        yield picture, 'letterbox', 30, 13, 0, 'bicubic', 3, 1, 0
        yield picture, 'stretch', 12, 20, 0, 'bilinear', 1, 1, 0
    for orientation in range(1, 9):
        yield 2, 'stretch', 20, 9, 0, 'bilinear', 3, orientation, 0
        yield 5, 'stretch', 11, 50, 0, 'bicubic', 1, orientation, 0


def pillow_result(image, case):
    _, fit, width, height, _, name, channels, orientation, fill = case
    if orientation != 1:
        image.getexif()[0x0112] = orientation
        image = ImageOps.exif_transpose(image)
    image = image.convert('L' if channels == 1 else 'RGB')
    if fit == 'letterbox':
        return ImageOps.pad(image, (width, height), FILTERS[name], color=(fill,) * 3)
    return image.resize((width, height), FILTERS[name])


def torchvision_cases():
    for picture in range(len(SIZES)):
        yield picture, 'crop', 16, 16, 20, 'bilinear', 3, 1, 0
        yield picture, 'crop', 15, 12, 17, 'bicubic', 3, 1, 0
        yield picture, 'crop', 14, 14, 0, 'bilinear', 3, 1, 0


def torchvision_result(image, case):
    from torchvision import transforms
    _, _, width, height, resize, name, _, _, _ = case
    mode = {'bilinear': transforms.InterpolationMode.BILINEAR, 'bicubic': transforms.InterpolationMode.BICUBIC}[name]
    return transforms.Compose([transforms.Resize(resize or width, mode), transforms.CenterCrop((height, width)),
                               transforms.ToTensor(), transforms.Normalize(MEAN, STD)])(image.convert('RGB'))


def write_list(name, cases):
    with open(os.path.join(CASES, name), 'w', encoding='utf-8') as file:
        file.writelines(' '.join(map(str, case)) + '\n' for case in cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('of', choices=['pillow', 'torchvision'])
    of = parser.parse_args().of
    images = list(pictures())
    if of == 'pillow':
        cases = list(pillow_cases())
        with open(os.path.join(CASES, 'pictures.ppm'), 'wb') as file:
            for image in images:
                write_netpbm(file, image)
        with open(os.path.join(CASES, 'pillow.ppm'), 'wb') as file:
            for case in cases:
                write_netpbm(file, pillow_result(images[case[0]].copy(), case))
        write_list('pillow.txt', cases)
    else:
        cases = list(torchvision_cases())
        with open(os.path.join(CASES, 'torchvision.f32'), 'wb') as file:
            for case in cases:
                file.write(torchvision_result(images[case[0]], case).numpy().astype('<f4').tobytes())
        write_list('torchvision.txt', cases)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""Writes pictures/ beside this file with Pillow: tiny files of every kind that is read or refused, and in decoded.ppm what Pillow
makes of those that are read, in the order of their names.

usage: write_pictures.py
"""
import argparse
import os
import random
import sys

try:
    import numpy as np
    from PIL import Image, ImageOps
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {'-h', '--help'} & set(sys.argv) else f'{missing}; --help says what is needed')

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pictures')


def save(image, name, **options):
    image.save(os.path.join(FOLDER, name), **options)


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    dice = random.Random(7)
    rgb = Image.fromarray(np.array([[[(x * 9 + dice.randrange(20)) % 256, (y * 11) % 256, (x * y) % 256] for x in range(21)]
                                    for y in range(13)], np.uint8))
    grey = rgb.convert('L')
    rgba = rgb.copy()
    rgba.putalpha(grey)
    exif = Image.Exif()
    exif[0x0112] = 6
    save(rgb, 'rgb.jpg', quality=90, exif=exif)
    save(rgb, 'progressive.jpg', quality=80, progressive=True, subsampling=0)
    save(grey, 'grey.jpg', quality=90)
    save(rgb, 'rgb.png', exif=exif)
    save(grey, 'grey.png')
    save(grey.convert('1'), 'bits.png')
    save(rgba, 'rgba.png')
    save(Image.merge('LA', (grey, grey)), 'grey_alpha.png')
    save(rgb.quantize(7), 'palette.png', bits=4)
    save(Image.fromarray(np.array(grey, np.uint16) * 257), 'grey16.png')
    save(rgb.convert('CMYK'), 'refused_cmyk.jpg')
    for kind in ('gif', 'bmp', 'webp', 'tiff'):
        save(rgb, 'refused.' + kind)
    with open(os.path.join(FOLDER, 'decoded.ppm'), 'wb') as file:
        for name in sorted(os.listdir(FOLDER)):
            if name.startswith(('refused', 'decoded')):
                continue
            image = ImageOps.exif_transpose(Image.open(os.path.join(FOLDER, name)))
            if image.mode.startswith('I'):
                image = Image.fromarray((np.array(image) >> 8).astype(np.uint8))
            image = image.convert('L' if image.mode in ('L', '1') else 'RGB')
            file.write(b'P%d\n%d %d\n255\n' % (5 if image.mode == 'L' else 6, *image.size) + image.tobytes())


if __name__ == '__main__':
    main()

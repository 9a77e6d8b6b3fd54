#!/usr/bin/python3
"""Writes tests/golden/transforms: small pictures of every kind that we read, and what Pillow and torchvision make of them.

index.tsv: name, file, channels, steps, width, height, offset into pixels.bin.gz (of the unpacked bytes). Steps are
kind:x:y:width:height:factor joined by ';', or '-', with the kinds of NwStepKind. Run with Debian's python3-torch (1.13),
python3-torchvision (0.14) and python3-pil (9.4); the pictures are drawn here, so nobody's rights are touched."""
import gzip
import io
import os
import random
import struct
import zlib

import numpy as np
from PIL import Image
from torchvision.transforms import functional as F
import torchvision.transforms as T

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transforms")
random.seed(1)
rng = np.random.default_rng(1)


def drawing(width, height, seed):
    """Waves, hard edges, flat colours and a little noise."""
    g = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    a = np.zeros((height, width, 3))
    for c in range(3):
        fx, fy, p = g.uniform(0.02, 0.25), g.uniform(0.02, 0.25), g.uniform(0, 6)
        a[..., c] = 128 + 90 * np.sin(fx * x + fy * y + p) + 40 * np.cos(0.9 * fy * x - 1.7 * fx * y)
    for _ in range(6):
        x0, y0 = g.integers(0, width), g.integers(0, height)
        w, h = g.integers(3, width // 3), g.integers(3, height // 3)
        a[y0 : y0 + h, x0 : x0 + w] = g.choice([0, 40, 128, 200, 255], 3)
    a += g.normal(0, 4, a.shape)
    a[: height // 8, : width // 6] = 255
    a[-height // 8 :, -width // 6 :] = 0
    return Image.fromarray(np.clip(a, 0, 255).astype(np.uint8))


def save(name, image, **options):
    image.save(os.path.join(FOLDER, name), **options)
    return name


def raw_png(name, width, height, depth, kind, rows, extra=b"", interlace=0):
    """PNG by hand, for the depths that Pillow does not write. rows: packed bytes of each row."""

    def chunk(tag, data):
        return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))

    data = zlib.compress(b"".join(b"\0" + r for r in rows), 9)
    with open(os.path.join(FOLDER, name), "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlace)))
        f.write(extra + chunk(b"IDAT", data) + chunk(b"IEND", b""))
    return name


def files():
    im = drawing(61, 47, 3)
    a = np.asarray(im)
    gray = im.convert("L")
    out = []
    for name, ss in (("420", 2), ("422", 1), ("444", 0)):
        out.append(save(f"{name}.jpg", im, quality=90, subsampling=ss))
    out.append(save("progressive.jpg", im, quality=88, progressive=True))
    out.append(save("gray.jpg", gray, quality=90))
    out.append(save("low.jpg", im, quality=25))
    out.append(save("cmyk.jpg", im.convert("CMYK"), quality=90))
    alpha = Image.fromarray((np.add.outer(np.arange(47) * 5, np.arange(61) * 4) % 256).astype(np.uint8))
    rgba = im.copy()
    rgba.putalpha(alpha)
    out.append(save("rgb.png", im))
    out.append(save("rgba.png", rgba))
    out.append(save("gray.png", gray))
    la = gray.copy()
    la.putalpha(alpha)
    out.append(save("la.png", la))
    out.append(save("bit1.png", gray.convert("1")))
    out.append(save("palette.png", im.quantize(40)))
    out.append(save("palette-transparent.png", im.quantize(12), transparency=3))
    for depth in (2, 4):
        v = np.asarray(gray) >> (8 - depth)
        per = 8 // depth
        v = np.pad(v, ((0, 0), (0, -v.shape[1] % per)))
        rows = [bytes(sum(int(p) << (8 - depth * (k + 1)) for k, p in enumerate(r[i : i + per])) for i in range(0, len(r), per)) for r in v]
        out.append(raw_png(f"gray{depth}.png", 61, 47, depth, 0, rows))
    passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
    rows = [r.tobytes() for x, y, dx, dy in passes for r in a[y::dy, x::dx]]
    out.append(raw_png("interlaced.png", 61, 47, 8, 2, rows, interlace=1))
    wide = (a.astype(np.uint16) << 8) | np.random.default_rng(5).integers(0, 256, a.shape).astype(np.uint16)
    out.append(raw_png("rgb16.png", 61, 47, 16, 2, [r.astype(">u2").tobytes() for r in wide]))
    out.append(save("lossy.webp", im, quality=85))
    out.append(save("lossless.webp", im, lossless=True))
    out.append(save("alpha.webp", rgba, lossless=True, exact=True))
    out.append(save("animated.webp", im, save_all=True, append_images=[drawing(61, 47, 4)], lossless=True))
    out.append(save("rgb.bmp", im))
    out.append(save("palette.gif", im.quantize(64)))
    out.append(save("rgb.ppm", im))
    out.append(save("rgb.tif", im))
    return out


STEPS = {"crop": 0, "resize": 1, "mirror": 2, "brightness": 3, "contrast": 4, "saturation": 5, "hue": 6}


def apply(image, steps):
    for kind, x, y, w, h, factor in steps:
        if kind == "crop":
            image = F.crop(image, y, x, h, w)
        elif kind == "resize":
            image = F.resize(image, [h, w])
        elif kind == "mirror":
            image = F.hflip(image)
        else:
            image = getattr(F, "adjust_" + kind)(image, factor)
    return image


def main():
    os.makedirs(FOLDER, exist_ok=True)
    pixels, lines = [], []
    size = 0

    def add(name, file, channels, steps, image):
        nonlocal size
        data = np.asarray(image).tobytes()
        text = ";".join(":".join(map(repr, (STEPS[s[0]],) + s[1:])) for s in steps) or "-"
        lines.append(f"{name}\t{file}\t{channels}\t{text}\t{image.width}\t{image.height}\t{size}\n")
        pixels.append(data)
        size += len(data)

    for file in files():
        with Image.open(os.path.join(FOLDER, file)) as image:
            add("decode", file, 3, [], image.convert("RGB"))
            add("decode", file, 1, [], image.convert("L"))

    photo = save("photo.jpg", drawing(200, 150, 7), quality=85, subsampling=2)
    image = Image.open(os.path.join(FOLDER, photo)).convert("RGB")
    gray = Image.open(os.path.join(FOLDER, photo)).convert("L")

    def both(name, steps, do_gray=False):
        add(name, photo, 3, steps, apply(image, steps))
        if do_gray:
            add(name, photo, 1, steps, apply(gray, steps))

    r = lambda w, h: ("resize", 0, 0, w, h, 0.0)
    c = lambda x, y, w, h: ("crop", x, y, w, h, 0.0)
    m = ("mirror", 0, 0, 0, 0, 0.0)
    both("resize-down", [r(48, 40)], True)
    both("resize-tiny", [r(7, 5)], True)
    both("resize-one", [r(1, 1)], True)
    both("resize-wide", [r(90, 12)])
    both("resize-same-width", [r(200, 16)], True)
    both("resize-same-height", [r(14, 150)])
    both("resize-up", [c(40, 30, 17, 13), r(64, 50)], True)
    for i in range(8):  # what RandomResizedCrop does
        w, h = random.randint(12, 200), random.randint(12, 150)
        x, y = random.randint(0, 200 - w), random.randint(0, 150 - h)
        both(f"resized-crop-{i}", [c(x, y, w, h), r(40, 40)] + ([m] if i % 2 else []), i < 2)
    both("crop-outside", [c(-9, -4, 40, 30)], True)
    both("crop-far", [c(180, 130, 40, 40)])
    both("mirror", [c(20, 20, 51, 30), m], True)
    both("mirror-resize", [c(20, 20, 51, 40), m, r(24, 20)])
    both("resize-crop", [r(64, 48), c(11, 7, 32, 32)], True)
    small = [r(40, 30)]
    for kind, factors in (("brightness", (0.0, 0.37, 1.0, 1.61)), ("contrast", (0.0, 0.52, 1.0, 1.83)),
                          ("saturation", (0.0, 0.41, 1.0, 1.9)), ("hue", (-0.5, -0.13, 0.0, 0.217, 0.5))):
        for f in factors:
            if kind == "hue" and f < 0:  # numpy's cast of negative numbers to uint8, spelled out
                h, s, v = apply(image, small).convert("HSV").split()
                shifted = (np.asarray(h).astype(int) + int(f * 255)) & 255
                out = Image.merge("HSV", (Image.fromarray(shifted.astype(np.uint8)), s, v)).convert("RGB")
                add(kind, photo, 3, small + [(kind, 0, 0, 0, 0, f)], out)
                continue
            both(kind, small + [(kind, 0, 0, 0, 0, f)], True)
    both("jitter", small + [("hue", 0, 0, 0, 0, 0.09), ("contrast", 0, 0, 0, 0, 1.3), ("saturation", 0, 0, 0, 0, 0.7),
                            ("brightness", 0, 0, 0, 0, 1.15)])

    # Whole lists, as an evaluation runs them; the name is the list: Resize shorter side, CenterCrop height, width.
    for short, ch, cw in ((40, 32, 32), (33, 32, 48), (30, 48, 70), (57, 41, 24)):
        add(f"list {short} {ch} {cw}", photo, 3, [], T.CenterCrop((ch, cw))(T.Resize(short)(image)))

    with open(os.path.join(FOLDER, "index.tsv"), "w") as f:
        f.writelines(lines)
    with open(os.path.join(FOLDER, "pixels.bin.gz"), "wb") as f:
        with gzip.GzipFile(fileobj=f, mode="wb", mtime=0, filename="") as z:
            z.write(b"".join(pixels))


main()

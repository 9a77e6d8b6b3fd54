#!/usr/bin/python3
"""Makes the 500 JPEG files of 500×375 that the feeding benchmark reads, from the photos of Debian's python3-skimage, and
prints their folder. They lie under the cache folder, outside of this tree, and are the same on every machine.

Crops of the photos at 0.9 to 2.2 times the size, grain as cameras make it, quality 93 to 97, 70 % with halved colour:
about 100 KB each, like ImageNet's."""
import os
import random
import shutil
import sys

import numpy as np
from PIL import Image

VERSION = "1"
PHOTOS = "/usr/lib/python3/dist-packages/skimage/data"
NAMES = ["astronaut.png", "chelsea.png", "coffee.png", "hubble_deep_field.jpg", "ihc.png", "motorcycle_left.png",
         "motorcycle_right.png", "retina.jpg", "rocket.jpg"]


def main():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(cache, "netwright", "feed-" + VERSION)
    if os.path.exists(os.path.join(folder, "done")):
        print(folder)
        return
    missing = [n for n in NAMES if not os.path.exists(os.path.join(PHOTOS, n))]
    if missing:
        sys.exit(f"{PHOTOS}/{missing[0]} is missing: install Debian's python3-skimage")
    shutil.rmtree(folder, ignore_errors=True)
    rnd = random.Random(7)
    photos = [Image.open(os.path.join(PHOTOS, n)).convert("RGB") for n in NAMES]
    for i in range(500):
        photo = photos[i % len(photos)]
        widest = min(photo.width, photo.height * 4 // 3)
        w = rnd.randint(min(widest, 450), min(widest, 1100))
        h = min(round(w * 0.75), photo.height)
        x, y = rnd.randint(0, photo.width - w), rnd.randint(0, photo.height - h)
        picture = photo.crop((x, y, x + w, y + h)).resize((500, 375), Image.BICUBIC)
        grain = np.random.default_rng(i)
        a = np.asarray(picture, dtype=np.float32)
        a = a + grain.normal(0, 1, (375, 500, 1)) * rnd.uniform(2.5, 6) + grain.normal(0, 1, (375, 500, 3)) * rnd.uniform(0.5, 2)
        picture = Image.fromarray(np.clip(a, 0, 255).astype(np.uint8))
        if rnd.random() < 0.5:
            picture = picture.transpose(Image.FLIP_LEFT_RIGHT)
        name = os.path.join(folder, NAMES[i % len(NAMES)].split(".")[0], f"{i:04d}.jpg")
        os.makedirs(os.path.dirname(name), exist_ok=True)
        picture.save(name, quality=rnd.choice([93, 95, 96, 97]), subsampling=2 if rnd.random() < 0.7 else 0)
    open(os.path.join(folder, "done"), "w").close()
    print(folder)


main()

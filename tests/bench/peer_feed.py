"""torchvision's side of the feeding benchmark, driven by feed.py over standard input like bench-feed. Run as
peer_feed.py FOLDER; the first line out is the versions."""
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import PIL
import torch
import torchvision
from PIL import Image
import torchvision.transforms as T
from torchvision.transforms import functional as F

torch.set_num_threads(1)
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def main(folder):
    data = torchvision.datasets.ImageFolder(
        folder, T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, DEVIATION)]))
    print(f"torchvision {torchvision.__version__}, Pillow {PIL.__version__}", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "epoch":
            torch.manual_seed(int(words[1]))
            start = time.process_time()
            for i in torch.randperm(len(data)).tolist():  # no DataLoader: its own costs are not counted against torchvision
                data[i]
            print(len(data), time.process_time() - start, flush=True)
        elif words[0] == "check":  # check BOXES PIXELS: the largest difference of any number
            boxes, pixels = words[1:]
            worst = worst_float = n = 0
            with open(boxes) as f, open(pixels, "rb") as g:
                for row in f:
                    y, x, h, w, flip, path = row.rstrip("\n").split(" ", 5)
                    image = Image.open(os.path.join(folder, path)).convert("RGB")
                    image = F.resized_crop(image, int(y), int(x), int(h), int(w), [224, 224])
                    image = F.hflip(image) if int(flip) else image
                    want = F.normalize(F.to_tensor(image), MEAN, DEVIATION).numpy()
                    have = np.frombuffer(g.read(want.nbytes), dtype=np.float32).reshape(want.shape)
                    scale = np.array(DEVIATION, dtype=np.float64)[:, None, None] * 255
                    shift = np.array(MEAN, dtype=np.float64)[:, None, None] * 255
                    bytes_ = np.rint(have * scale + shift) - np.asarray(image).transpose(2, 0, 1)
                    worst = max(worst, int(np.abs(bytes_).max()))
                    worst_float = max(worst_float, float(np.abs(have - want).max()))
                    n += 1
            print(n, worst, worst_float, flush=True)


main(sys.argv[1])

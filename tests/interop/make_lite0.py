#!/usr/bin/env python3
"""make_lite0.py WEIGHTS OUT: what PyTorch makes of three photos of scikit-image with EfficientNet-Lite0 and these weights (a
published .pth): OUT holds input and logits. Written from the description of the network, not from our templates."""
import os
import sys
import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

weights, out = sys.argv[1:3]
state = torch.load(weights, map_location="cpu")
ROWS = [(3, 1, 1), (3, 2, 6), (3, 1, 6), (5, 2, 6), (5, 1, 6), (3, 2, 6), (3, 1, 6), (3, 1, 6), (5, 1, 6), (5, 1, 6), (5, 1, 6),
        (5, 2, 6), (5, 1, 6), (5, 1, 6), (5, 1, 6), (3, 1, 6)]


def norm(x, name):
    p = [state[f"{name}.{k}"] for k in ("running_mean", "running_var", "weight", "bias")]
    return F.batch_norm(x, *p, False, 0.01, 1e-3)


def conv(x, name, k=1, stride=1, groups=1):
    if stride == 2:
        x = F.pad(x, (0, 1, 0, 1) if k == 3 else (1, 2, 1, 2))
    return F.conv2d(x, state[name + ".weight"], None, stride, 0 if stride == 2 else k // 2, 1, groups)


def net(x):
    x = F.relu6(norm(conv(x, "_conv_stem", 3, 2), "_bn0"))
    for i, (k, stride, expand) in enumerate(ROWS):
        y, b = x, f"_blocks.{i}."
        if expand != 1:
            y = F.relu6(norm(conv(y, b + "_expand_conv"), b + "_bn0"))
        y = F.relu6(norm(conv(y, b + "_depthwise_conv", k, stride, y.shape[1]), b + "_bn1"))
        y = norm(conv(y, b + "_project_conv"), b + "_bn2")
        x = x + y if stride == 1 and x.shape == y.shape else y
    x = F.relu6(norm(conv(x, "_conv_head"), "_bn1"))
    return F.linear(x.mean((2, 3)), state["_fc.weight"], state["_fc.bias"])


def photo(name):
    picture = Image.open(os.path.join("/usr/lib/python3/dist-packages/skimage/data", name)).convert("RGB")
    w, h = picture.size
    size = (256, int(256 * h / w)) if w < h else (int(256 * w / h), 256)
    picture = picture.resize(size, Image.BICUBIC)
    left, top = round((size[0] - 224) / 2), round((size[1] - 224) / 2)
    a = np.asarray(picture.crop((left, top, left + 224, top + 224)), dtype=np.float32) / 255
    return torch.from_numpy((a - 0.5) / 0.5).permute(2, 0, 1)


x = torch.stack([photo(n) for n in ("coffee.png", "chelsea.png", "rocket.jpg")])
with torch.no_grad():
    logits = net(x)
share = logits.softmax(1)
best = share.max(1)
print(f"torch {torch.__version__}: classes {best.indices.tolist()}, {[round(v, 3) for v in best.values.tolist()]}")
assert best.indices.tolist() == [967, 282, 657], best
torch.save({"input": x.contiguous(), "logits": logits}, out)

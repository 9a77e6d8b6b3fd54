#!/usr/bin/env python3
"""check_templates.py NAME WEIGHTS IO: torchvision's network of this name takes our weights strictly, has our names in our
order, and gives our logits."""
import sys
import torch
import torchvision

name, weights, io = sys.argv[1:4]
net = getattr(torchvision.models, name)(weights=None)
state = torch.load(weights, weights_only=True)
assert list(state) == list(net.state_dict()), "names or their order differ"
net.load_state_dict(state, strict=True)
net.eval()
data = torch.load(io, weights_only=True)
with torch.no_grad():
    logits = net(data["input"])
difference = ((logits - data["logits"]).norm() / logits.norm()).item()
assert difference <= 1e-4, difference
print(f"torchvision {torchvision.__version__}: {name}: {len(state)} tensors, logits differ by {difference:.3g}")

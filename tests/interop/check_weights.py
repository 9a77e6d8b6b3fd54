#!/usr/bin/env python3
"""check_weights.py NET CHANNELS SIZE CLASSES WEIGHTS IO COPY: loads our weights as a stranger's file, strictly, into the
same network written in torch, compares the logits, and saves the state dict again the way torch does."""
import sys
import torch
from nets import NETS

name, channels, size, classes, weights, io, copy = sys.argv[1:8]
torch.manual_seed(0)
state = torch.load(weights, weights_only=True)
if name not in NETS:
    torch.save(state, copy)
    sys.exit(0)
net = NETS[name](int(channels), int(size), int(classes))
message = net.load_state_dict(state, strict=True)
assert list(state) == list(net.state_dict()), "the order of the state dict differs"
net.eval()
data = torch.load(io, weights_only=True)
with torch.no_grad():
    logits = net(data["input"])
difference = (logits - data["logits"]).abs().max().item()
print(f"torch {torch.__version__}: {name}: {message}, logits differ by at most {difference:.3g}")
assert difference <= 1e-5, difference
torch.save(net.state_dict(), copy)

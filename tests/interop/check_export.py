#!/usr/bin/env python3
"""check_export.py NET CHANNELS SIZE CLASSES WEIGHTS MODEL: both exports of one run are the same network for torch."""
import json
import sys
import torch
from nets import NETS

name, channels, size, classes, weights, path = sys.argv[1:7]
state = torch.load(weights, weights_only=True)
extra = {"netwright.json": ""}
model = torch.jit.load(path, _extra_files=extra)
about = json.loads(extra["netwright.json"])
assert len(about["classes"]) == int(classes), about
assert about["preprocessing"], about
assert list(model.state_dict()) == list(state)
for key, value in state.items():
    assert torch.equal(model.state_dict()[key], value), key
model.eval()
torch.manual_seed(0)
x = torch.randn(5, int(channels), int(size), int(size))
report = f"torch {torch.__version__}: {name}: {len(state)} tensors"
with torch.no_grad():
    logits = model(x)
    assert logits.shape == (5, int(classes)) and logits.isfinite().all()
    if name in NETS:
        net = NETS[name](int(channels), int(size), int(classes))
        net.load_state_dict(state, strict=True)
        net.eval()
        difference = (net(x) - logits).abs().max().item()
        assert difference <= 1e-5, difference
        report += f", logits of both exports differ by {difference:.3g}"
print(report)

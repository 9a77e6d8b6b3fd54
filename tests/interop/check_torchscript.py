#!/usr/bin/env python3
"""check_torchscript.py NET CHANNELS SIZE CLASSES MODEL IO: torch.jit.load gives our logits, in eval and in train mode."""
import sys
import torch
from nets import NETS

name, channels, size, classes, path, io = sys.argv[1:7]
extra = {"netwright.json": ""}
model = torch.jit.load(path, _extra_files=extra)
data = torch.load(io, weights_only=True)
assert b"test" in extra["netwright.json"] if isinstance(extra["netwright.json"], bytes) else "test" in extra["netwright.json"]
if name in NETS:
    net = NETS[name](int(channels), int(size), int(classes))
    net.load_state_dict(model.state_dict(), strict=True)
    assert list(model.state_dict()) == list(net.state_dict()), "the order of the state dict differs"
assert all(p.requires_grad for p in model.parameters())

model.eval()
with torch.no_grad():
    evaluated = (model(data["input"]) - data["logits"]).abs().max().item()
assert evaluated <= 1e-5, evaluated
report = f"torch {torch.__version__}: {name}: eval differs by at most {evaluated:.3g}"

if "train_logits" in data:
    model.train()
    net.train()
    with torch.no_grad():
        ours, eager = model(data["input"]), net(data["input"])
    trained = (ours - data["train_logits"]).abs().max().item()
    assert trained <= 1e-5 * max(1, data["train_logits"].abs().max().item()), trained
    assert torch.equal(ours, eager), "train mode differs from torch's own"
    for key, value in net.state_dict().items():
        assert torch.equal(model.state_dict()[key], value), key
        if "after." + key in data:
            after = (value.double() - data["after." + key].double()).abs().max().item()
            assert after <= 1e-5, (key, after)
    report += f", train by {trained:.3g}, running statistics as torch's"
print(report)

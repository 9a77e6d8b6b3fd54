#!/usr/bin/env python3
"""check_checkpoint.py NET CHANNELS SIZE CLASSES CHECKPOINT OPTIMIZER STEP: a PyTorch user can go on from our checkpoint."""
import json
import sys
import torch
from nets import NETS

name, channels, size, classes, path, optimizer, step = sys.argv[1:8]
checkpoint = torch.load(path)
assert set(checkpoint) == {"epoch", "model_state_dict", "optimizer_state_dict", "netwright"}, set(checkpoint)
state = json.loads(checkpoint["netwright"])
assert state["position"]["step"] == int(step), state["position"]
assert checkpoint["epoch"] == state["position"]["epoch"]
net = NETS[name](int(channels), int(size), int(classes))
net.load_state_dict(checkpoint["model_state_dict"], strict=True)
make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[optimizer]
torch_optimizer = make(net.parameters(), lr=123.0)
torch_optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
group = torch_optimizer.param_groups[0]
assert group["lr"] == state["position"]["lr"], group["lr"]
if optimizer != "sgd":
    assert group["betas"] == (0.9, 0.999), group["betas"]
for p in net.parameters():
    slots = torch_optimizer.state[p]
    names = ["momentum_buffer"] if optimizer == "sgd" else ["exp_avg", "exp_avg_sq"]
    for slot in names:
        assert slots[slot].shape == p.shape and torch.isfinite(slots[slot]).all(), slot
    if optimizer != "sgd":
        assert float(slots["step"]) == int(step)
loss = net(torch.zeros(2, int(channels), int(size), int(size))).pow(2).sum()
loss.backward()
torch_optimizer.step()
assert all(torch.isfinite(p).all() for p in net.parameters())
print(f"torch {torch.__version__}: {name}, {optimizer}: torch goes on from step {step}")

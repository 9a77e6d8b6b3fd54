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
make, names, options = {
    "sgd": (torch.optim.SGD, ["momentum_buffer"], {"momentum": 0.9}),
    "adam": (torch.optim.Adam, ["exp_avg", "exp_avg_sq"], {"betas": (0.9, 0.999)}),
    "adamw": (torch.optim.AdamW, ["exp_avg", "exp_avg_sq"], {"betas": (0.9, 0.999)}),
    "rmsprop": (torch.optim.RMSprop, ["square_avg"], {"alpha": 0.99}),
    "adagrad": (torch.optim.Adagrad, ["sum"], {"lr_decay": 0}),
    "nadam": (torch.optim.NAdam, ["exp_avg", "exp_avg_sq"], {"betas": (0.9, 0.999), "momentum_decay": 4e-3}),
}[optimizer]
torch_optimizer = make(net.parameters(), lr=123.0)
torch_optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
group = torch_optimizer.param_groups[0]
assert group["lr"] == state["position"]["lr"], group["lr"]
for key, value in options.items():
    assert group[key] == value, (key, group[key])
for p in net.parameters():
    slots = torch_optimizer.state[p]
    for slot in names:
        assert slots[slot].shape == p.shape and torch.isfinite(slots[slot]).all(), slot
    if optimizer == "nadam":
        assert slots["mu_product"].shape == () and 0 < float(slots["mu_product"]) < 1
    if optimizer != "sgd":
        assert float(slots["step"]) == int(step)
loss = net(torch.zeros(2, int(channels), int(size), int(size))).pow(2).sum()
loss.backward()
torch_optimizer.step()
assert all(torch.isfinite(p).all() for p in net.parameters())
print(f"torch {torch.__version__}: {name}, {optimizer}: torch goes on from step {step}")

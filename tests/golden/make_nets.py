#!/usr/bin/env python3
"""Writes nets.bin: loss, gradients and loss curves of our template networks as PyTorch computes them.

Run with the Python that has PyTorch:  OMP_NUM_THREADS=1 /usr/bin/python3 make_nets.py
Weights, pictures and labels come from Philox on both sides (streams 70 to 72, see numbers below and
tests/engine/test-nets-golden.c), so the file holds only results: for every gradient its norm and up to 256 elements in
float64, and the error of PyTorch's own float32; the loss of 50 training steps in float64.

Little endian: "NWNETS1\\0", u32 networks; each: text name, u32 channels, size, classes, batch, f64 loss, f64 error of
torch's float32 loss, u32 parameters; each: text name, f64 norm, f64 error of torch's float32, u32 n, f64 elements
(i * count // n); u32 curves; each: text optimizer, text settings, u32 steps, f64 losses, f64 greatest relative deviation
of torch's float32. A text is u32 length and bytes.
"""
import os
import struct
import sys
import numpy as np
import torch

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "interop"))
from nets import NETS  # noqa: E402
from philox import numbers, philox  # noqa: E402

torch.set_num_threads(1)
CASES = [("simplecnn", 1, 28, 10), ("lenet", 3, 32, 10), ("simpleclassifier", 3, 32, 10), ("mlp", 1, 28, 10),
         ("residual", 3, 16, 10)]
BATCH, PICTURES, STEPS, SAMPLES = 16, 160, 50, 256
MEAN, DEVIATION = np.float32(0.45), np.float32(0.25)
CURVES = [("sgd", "lr=0.002 momentum=0.9", lambda p: torch.optim.SGD(p, lr=0.002, momentum=0.9)),
          ("adam", "lr=0.0002", lambda p: torch.optim.Adam(p, lr=0.0002)),
          ("adamw", "lr=0.0002 weight_decay=0.05", lambda p: torch.optim.AdamW(p, lr=0.0002, weight_decay=0.05))]


def weights(net, seed):
    """Conv and Linear weights in +-1/sqrt(fan in), norms' weights around 1, the rest in +-0.1; buffers stay."""
    buffers = {name for name, _ in net.named_buffers()}
    state = net.state_dict()
    for step, (name, t) in enumerate(state.items()):
        if name in buffers:
            continue
        u = numbers(seed, 70, step, t.numel())
        if t.ndim > 1:
            a = u / np.sqrt(np.float32(t[0].numel()))
        elif name.endswith("weight"):
            a = np.float32(1) + np.float32(0.2) * u
        else:
            a = np.float32(0.1) * u
        t.copy_(torch.from_numpy(a.astype(np.float32).reshape(t.shape)))


def data(seed, channels, size, classes):
    pixels = (philox(seed, 71, 0, PICTURES * size * size * channels) >> 24).astype(np.uint8)
    x = ((pixels.astype(np.float32) / np.float32(255)) - MEAN) / DEVIATION
    x = x.reshape(PICTURES, size, size, channels).transpose(0, 3, 1, 2).copy()
    y = (philox(seed, 72, 0, PICTURES) % np.uint32(classes)).astype(np.int64)
    return torch.from_numpy(x), torch.from_numpy(y)


def build(case, seed, dtype):
    name, channels, size, classes = case
    torch.manual_seed(0)
    net = NETS[name](channels, size, classes)
    weights(net, seed)
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return net.to(dtype).train()


def loss_of(net, x, y):
    return torch.nn.functional.cross_entropy(net(x), y)


def curve(case, seed, make, dtype):
    net = build(case, seed, dtype)
    x, y = data(seed, *case[1:])
    optimizer = make(net.parameters())
    losses = []
    for step in range(STEPS):
        at = step % (PICTURES // BATCH) * BATCH
        optimizer.zero_grad()
        loss = loss_of(net, x[at:at + BATCH].to(dtype), y[at:at + BATCH])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


def text(s):
    return struct.pack("<I", len(s)) + s.encode()


def main():
    out = [b"NWNETS1\0", struct.pack("<I", len(CASES))]
    for seed, case in enumerate(CASES, 1):
        x, y = data(seed, *case[1:])
        nets = [build(case, seed, d) for d in (torch.float64, torch.float32)]
        losses = []
        for net in nets:
            loss = loss_of(net, x[:BATCH].to(next(net.parameters()).dtype), y[:BATCH])
            loss.backward()
            losses.append(loss.item())
        params = [list(net.named_parameters()) for net in nets]
        out.append(text(case[0]) + struct.pack("<4I2dI", *case[1:], BATCH, losses[0],
                                               abs(losses[1] - losses[0]) / losses[0], len(params[0])))
        for (name, p), (_, q) in zip(*params):
            ref, own = p.grad.numpy().ravel(), q.grad.numpy().ravel().astype(np.float64)
            n = min(SAMPLES, ref.size)
            index = np.arange(n) * ref.size // n
            norm = np.linalg.norm(ref)
            error = max(np.linalg.norm(own - ref) / norm,
                        np.linalg.norm(own[index] - ref[index]) / np.linalg.norm(ref[index]))
            out.append(text(name) + struct.pack("<2dI", norm, error, n) + ref[index].astype("<f8").tobytes())
        out.append(struct.pack("<I", len(CURVES)))
        for name, settings, make in CURVES:
            ref, own = curve(case, seed, make, torch.float64), curve(case, seed, make, torch.float32)
            deviation = np.abs(own / ref - 1).max()
            print(f"{case[0]:18s} {name:6s} {ref[0]:.4f} -> {ref[-1]:.4f}  torch float32 deviates by {deviation:.2g}")
            out.append(text(name) + text(settings) + struct.pack("<I", STEPS) + ref.astype("<f8").tobytes() +
                       struct.pack("<d", deviation))
    with open(os.path.join(here, "nets.bin"), "wb") as f:
        f.write(b"".join(out))


main()

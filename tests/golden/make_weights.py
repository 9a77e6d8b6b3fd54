#!/usr/bin/env python3
"""Writes weights/: arrays as NumPy and the safetensors package save them, and weights/tensors.txt: what stands in them.

Run with a Python that has torch, numpy and safetensors (./dev peers installs one). A line: file, name, dtype, shape, FNV-1a
of the elements in row-major order, little endian; dtype "-" stands for a tensor that is listed but cannot be used."""
import os
import numpy as np
import safetensors.torch
import torch

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "weights")
rng = np.random.default_rng(1)
lines = []


def fnv(data):
    h = 14695981039346656037
    for b in data:
        h = (h ^ b) * 1099511628211 % 2 ** 64
    return h


def note(name, key, a, dtype=None):
    little = np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<"))
    shape = "x".join(map(str, a.shape)) or "scalar"
    lines.append(f"{name} {key} {dtype or a.dtype.newbyteorder('=')} {shape} {fnv(little.tobytes()):016x}")


base = rng.standard_normal((3, 4, 2)).astype(np.float32)
arrays = {
    "f32": base, "fortran": np.asfortranarray(base), "big": base.astype(">f8"), "half": base.astype(np.float16),
    "scalar": np.float32(3.5), "empty": np.zeros((0, 7), np.float32), "i64": np.array([-1, 2 ** 40]),
    "i32": np.arange(3, dtype=np.int32), "u8": np.array([0, 255, 7], np.uint8), "bool": np.array([True, False]),
    "big.fortran": np.asfortranarray(base.astype(">i4"))}
for key, a in arrays.items():
    np.save(os.path.join(here, key + ".npy"), a)
    note(key + ".npy", key, np.asarray(a))
for name, save in (("stored.npz", np.savez), ("deflated.npz", np.savez_compressed)):
    save(os.path.join(here, name), **arrays)
    for key, a in arrays.items():
        note(name, key, np.asarray(a))
np.save(os.path.join(here, "i16.npy"), np.arange(4, dtype=np.int16))
lines.append("i16.npy i16 - 4 0")

torch.manual_seed(1)
tensors = {"b.weight": torch.randn(2, 3, 2), "a.half": torch.randn(5).half(), "bf16": torch.randn(3).bfloat16(),
           "f64": torch.randn(2, dtype=torch.float64), "count": torch.tensor(7), "empty": torch.empty(0, 3),
           "flags": torch.tensor([True, False]), "u8": torch.tensor([1, 2], dtype=torch.uint8)}
safetensors.torch.save_file({**tensors, "i8": torch.tensor([1, -1], dtype=torch.int8)}, os.path.join(here, "torch.safetensors"),
                            metadata={"format": "pt"})
for key, t in tensors.items():
    a = t.view(torch.int16).numpy() if t.dtype == torch.bfloat16 else t.numpy()
    note("torch.safetensors", key, a, str(t.dtype)[6:])
lines.append("torch.safetensors i8 - 2 0")
with open(os.path.join(here, "tensors.txt"), "w") as f:
    f.write("\n".join(lines) + "\n")

#!/usr/bin/env python3
"""Writes layers.bin: what PyTorch says about the layers and losses that make_ops.py does not have.

Run with the Python that has PyTorch:  OMP_NUM_THREADS=1 /usr/bin/python3 make_layers.py
golden_ops.py says what the file holds.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from golden_ops import add, f32, rng, write


def yes(flag):
    return "true" if flag else "false"


# ---- activations ----
x = f32(2, 5, 3, 5, scale=3)
y = f32(3, 13, scale=4)
x[0, 0, 0, :] = (-4, 0, 4, 6, 9)  # not 3: there PyTorch 1.13 and 2 give hardswish different slopes
for op, attrs, fn in (("relu6", "", F.relu6), ("hardswish", "", F.hardswish), ("hardsigmoid", "", F.hardsigmoid),
                      ("elu", "", F.elu), ("elu", "alpha=0.3", lambda v: F.elu(v, .3)), ("selu", "", F.selu),
                      ("mish", "", F.mish), ("softplus", "", F.softplus),
                      ("softplus", "beta=3 threshold=1", lambda v: F.softplus(v, 3, 1))):
    for v in (x, y):
        add(op, attrs, {0: v}, lambda t: fn(t[0]), grads=(0,))
for shape, n in (((2, 8, 3, 4), 1), ((3, 6, 4, 4), 6), ((3, 13), 13), ((2, 20, 3, 1), 20)):
    add("prelu", "num_parameters=%d" % n, {0: f32(*shape), 1: f32(n, scale=.3)}, lambda t: F.prelu(t[0], t[1]),
        grads=(0, 1))
for shape, dim in (((3, 7), -1), ((2, 5, 3, 4), 1), ((2, 3, 9), -2), ((4, 2), 0)):
    add("log_softmax", "dim=%d" % dim, {0: f32(*shape, scale=2)}, lambda t: F.log_softmax(t[0], dim), grads=(0,))

# ---- shape and merge ----
for a, b in (((2, 8, 3, 5), (2, 8, 3, 5)), ((2, 12, 3, 5), (2, 12, 1, 1)), ((2, 3, 4, 5), (3, 1, 1)), ((2, 3, 4), (2, 1, 4)),
             ((3, 7), (3, 1)), ((2, 16, 2, 2), (2, 16, 1, 1))):
    add("mul", "", {0: f32(*a), 1: f32(*b)}, lambda t: t[0] * t[1], grads=(0, 1))
for shape, g in (((2, 8, 3, 3), 2), ((1, 12, 2, 5), 3), ((2, 6, 2, 2), 6)):
    add("channel_shuffle", "groups=%d" % g, {0: f32(*shape)},  # torch 1.13 has no gradient for its own
        lambda t: t[0].reshape(shape[0], g, -1, *shape[2:]).transpose(1, 2).reshape(shape), grads=(0,))
for shape, text, sizes in (((2, 3, 4, 5), "0", (60,)), ((2, 3, 4, 5), "5x12x0", (5, 12)), ((3, 24), "4x-1x3", (4, 2, 3))):
    add("reshape", "shape=" + text, {0: f32(*shape)}, lambda t: t[0].reshape((shape[0],) + sizes), grads=(0,))
for shape, order in (((2, 3, 4, 5), (2, 3, 1)), ((2, 3, 4, 5), (3, 1, 2)), ((2, 5, 3), (2, 1, 3)), ((1, 2, 3, 4), (1, 3, 2))):
    add("permute", "first=%d second=%d third=%d" % order, {0: f32(*shape)},
        lambda t: t[0].permute((0,) + order[:len(shape) - 1]), grads=(0,))
for shape, p in (((2, 3, 4, 5), (1, 1, 1, 1)), ((1, 12, 4, 3), (1, 2, 0, 3)), ((2, 8, 3, 3), (0, 0, 0, 0)),
                 ((1, 3, 4, 4), (2, 0, 1, 0))):
    add("zero_pad2d", "padding=%dx%dx%dx%d" % p, {0: f32(*shape)}, lambda t: F.pad(t[0], p), grads=(0,))
    add("reflection_pad2d", "padding=%dx%dx%dx%d" % p, {0: f32(*shape)}, lambda t: F.pad(t[0], p, mode="reflect"),
        grads=(0,))
for shape, f, mode, corners in (((2, 3, 4, 5), (2, 2), "nearest", None), ((1, 12, 3, 2), (3, 1), "nearest", None),
                                ((2, 8, 3, 4), (2, 2), "bilinear", False), ((1, 5, 4, 3), (2, 3), "bilinear", True),
                                ((1, 3, 1, 1), (4, 4), "bilinear", True), ((1, 4, 5, 2), (3, 4), "bilinear", False)):
    add("upsample", "scale_factor=%dx%d mode=%s align_corners=%s" % (f + (mode, yes(corners))), {0: f32(*shape)},
        lambda t: F.interpolate(t[0], scale_factor=tuple(map(float, f)), mode=mode, align_corners=corners), grads=(0,))
for shape, r in (((2, 8, 3, 4), 2), ((1, 18, 2, 5), 3)):
    add("pixel_shuffle", "upscale_factor=%d" % r, {0: f32(*shape)}, lambda t: F.pixel_shuffle(t[0], r), grads=(0,))

write("layers.bin")

#!/usr/bin/env python3
"""Writes ops.bin: what PyTorch says about the layers, losses and optimizers of the first networks.

Run with the Python that has PyTorch:  OMP_NUM_THREADS=1 /usr/bin/python3 make_ops.py
golden_ops.py says what the file holds.
"""
import numpy as np
import torch
import torch.nn.functional as F
from golden_ops import add, cases, err, f32, rng, write


# ---- convolution ----
def conv(shape, out, k=(3, 3), s=(1, 1), p=(0, 0), d=(1, 1), g=1, bias=True):
    x = f32(*shape)
    bound = 1 / np.sqrt(shape[1] // g * k[0] * k[1])
    w = (rng.uniform(-bound, bound, (out, shape[1] // g) + k)).astype(np.float32)
    inputs = {0: x, 1: w}
    if bias:
        inputs[2] = rng.uniform(-bound, bound, out).astype(np.float32)
    attrs = "out_channels=%d kernel_size=%dx%d stride=%dx%d padding=%dx%d dilation=%dx%d groups=%d bias=%s" % (
        (out,) + k + s + p + d + (g, "true" if bias else "false"))
    add("conv2d", attrs, inputs, lambda t: F.conv2d(t[0], t[1], t.get(2), s, p, d, g),
        grads=(0, 1, 2) if bias else (0, 1))


conv((2, 3, 7, 6), 5)
conv((1, 1, 9, 9), 8, p=(1, 1))
conv((1, 16, 5, 5), 8, k=(1, 1), bias=False)
conv((2, 8, 9, 9), 16, p=(1, 1))
conv((2, 6, 11, 7), 12, k=(5, 3), s=(2, 1), p=(2, 1))
conv((1, 8, 8, 8), 16, p=(2, 2), d=(2, 2))
conv((2, 24, 6, 7), 24, p=(1, 1), g=24, bias=False)
conv((1, 8, 9, 8), 16, s=(2, 2), p=(1, 1), g=4)
conv((1, 16, 6, 6), 16, p=(1, 1), g=2)
conv((1, 3, 15, 15), 16, k=(7, 7), s=(2, 2), p=(3, 3))
conv((1, 6, 9, 9), 16, k=(5, 5))
conv((3, 16, 1, 1), 8, k=(1, 1), s=(2, 2))
conv((2, 32, 8, 8), 16, p=(1, 1))

# ---- linear ----
for shape, out, bias in (((3, 5), 7, True), ((1, 33), 10, False), ((2, 3, 24), 16, True), ((9, 130), 33, True),
                         ((4, 1), 1, True)):
    n = shape[-1]
    inputs = {0: f32(*shape), 1: rng.uniform(-n ** -.5, n ** -.5, (out, n)).astype(np.float32)}
    if bias:
        inputs[2] = rng.uniform(-n ** -.5, n ** -.5, out).astype(np.float32)
    add("linear", "out_features=%d bias=%s" % (out, "true" if bias else "false"), inputs,
        lambda t: F.linear(t[0], t[1], t.get(2)), grads=(0, 1, 2) if bias else (0, 1))

# ---- pooling ----
def pair(v):
    return v if isinstance(v, tuple) else (v, v)


for shape, k, s, p, d, c in (((2, 3, 8, 8), 2, 2, 0, 1, False), ((1, 8, 7, 9), 2, 2, 0, 1, False),
                             ((2, 5, 11, 10), 3, 2, 1, 1, False), ((1, 16, 9, 8), (3, 2), (1, 2), (1, 0), (2, 1), False),
                             ((2, 4, 8, 8), 3, 2, 0, 1, True), ((1, 2, 20, 20), 13, 7, 6, 1, False)):
    k, s, p, d = pair(k), pair(s), pair(p), pair(d)
    x = f32(*shape)
    x[0, 0, :2, :2] = 0.25  # equal numbers: the first one wins
    add("max_pool2d", "kernel_size=%dx%d stride=%dx%d padding=%dx%d dilation=%dx%d ceil_mode=%s" % (
        k + s + p + d + ("true" if c else "false",)), {0: x},
        lambda t: F.max_pool2d(t[0], k, s, p, d, c), grads=(0,))
for shape, k, s, p, c, i in (((2, 3, 8, 8), 2, 2, 0, False, True), ((1, 8, 7, 9), 3, 2, 1, False, True),
                             ((2, 5, 8, 9), 3, 2, 1, True, False), ((1, 16, 5, 5), (3, 2), (1, 2), (0, 0), True, True)):
    k, s, p = pair(k), pair(s), pair(p)
    add("avg_pool2d", "kernel_size=%dx%d stride=%dx%d padding=%dx%d ceil_mode=%s count_include_pad=%s" % (
        k + s + p + ("true" if c else "false", "true" if i else "false")), {0: f32(*shape)},
        lambda t: F.avg_pool2d(t[0], k, s, p, c, i), grads=(0,))
for shape, o in (((2, 16, 7, 7), 1), ((1, 5, 7, 8), 3), ((2, 3, 4, 6), (5, 1)), ((3, 8, 4, 4), 2)):
    o = pair(o)
    add("adaptive_avg_pool2d", "output_size=%dx%d" % o, {0: f32(*shape)},
        lambda t: F.adaptive_avg_pool2d(t[0], o), grads=(0,))

# ---- batch norm ----
for shape, training, affine, momentum, eps in (((3, 5, 4, 7), True, True, .1, 1e-5), ((2, 16, 9, 9), True, True, .1, 1e-5),
                                               ((4, 3, 5, 5), True, False, .3, 1e-5),
                                               ((2, 8, 3, 3), False, True, .1, 1e-3),
                                               ((16, 24, 1, 1), True, True, .1, 1e-5),
                                               ((2, 12, 5, 5), False, False, .1, 1e-5)):
    c = shape[1]
    inputs = {0: f32(*shape, scale=2, shift=3)}
    if affine:
        inputs[1], inputs[2] = f32(c, shift=1), f32(c)
    inputs[3], inputs[4], inputs[5] = f32(c), f32(c) ** 2 + np.float32(.5), np.array([4], np.int64)

    def norm(t):
        if training:
            t[5] += 1
        return F.batch_norm(t[0], t[3], t[4], t.get(1), t.get(2), training, momentum, eps)
    add("batch_norm2d", "training=%s affine=%s momentum=%g eps=%g" % (
        "true" if training else "false", "true" if affine else "false", momentum, eps), inputs, norm,
        grads=(0, 1, 2) if affine else (0,), state=(3, 4, 5))

# ---- activations ----
x = f32(2, 8, 5, 7, scale=2)
y = f32(3, 13, scale=3)
for op, attrs, fn in (("relu", "", F.relu), ("leaky_relu", "negative_slope=0.2", lambda t: F.leaky_relu(t, .2)),
                      ("gelu", "approximate=none", F.gelu),
                      ("gelu", "approximate=tanh", lambda t: F.gelu(t, approximate="tanh")), ("silu", "", F.silu),
                      ("sigmoid", "", torch.sigmoid), ("tanh", "", torch.tanh)):
    for v in (x, y):
        add(op, attrs, {0: v}, lambda t: fn(t[0]), grads=(0,))
for shape, dim in (((3, 7), -1), ((2, 5, 3, 4), 1), ((2, 3, 9), -2), ((4, 2), 0)):
    add("softmax", "dim=%d" % dim, {0: f32(*shape, scale=2)}, lambda t: F.softmax(t[0], dim), grads=(0,))

# ---- shape and merge ----
add("flatten", "", {0: f32(2, 3, 4, 5)}, lambda t: torch.flatten(t[0], 1), grads=(0,))
add("flatten", "start_dim=2", {0: f32(2, 3, 4, 5)}, lambda t: torch.flatten(t[0], 2), grads=(0,))
add("add", "", {0: f32(2, 8, 5, 5), 1: f32(2, 8, 5, 5)}, lambda t: t[0] + t[1], grads=(0, 1))
add("add", "", {0: f32(3, 7), 1: f32(3, 7)}, lambda t: t[0] + t[1], grads=(0, 1))
for shapes in (((2, 8, 3, 3), (2, 16, 3, 3)), ((2, 3, 4, 5), (2, 5, 4, 5), (2, 1, 4, 5)), ((3, 7), (3, 2))):
    add("concat", "", {i: f32(*s) for i, s in enumerate(shapes)},
        lambda t: torch.cat([t[i] for i in range(len(t))], 1), grads=tuple(range(len(shapes))))

# ---- loss ----
for n, c, smooth, weighted, ignore in ((5, 7, 0, False, False), (4, 10, .1, False, False), (6, 3, .2, True, False),
                                       (1, 2, 0, True, False), (8, 5, .1, True, True)):
    inputs = {0: f32(n, c, scale=3), 1: rng.integers(0, c, n).astype(np.int64)}
    if ignore:
        inputs[1][2] = -100
    if weighted:
        inputs[2] = rng.uniform(.5, 2, c).astype(np.float32)
    add("cross_entropy", "label_smoothing=%g" % smooth, inputs,
        lambda t: F.cross_entropy(t[0], t[1], t.get(2), label_smoothing=smooth), grads=(0,))

# ---- pictures ----
u8 = rng.integers(0, 256, (2, 5, 7, 3)).astype(np.uint8)
mean, std = np.array([.485, .456, .406], np.float32), np.array([.229, .224, .225], np.float32)
add("normalize_u8", "", {0: u8, 1: mean, 2: std},
    lambda t: ((t[0].permute(0, 3, 1, 2).to(t[1].dtype) / 255) - t[1].reshape(-1, 1, 1)) / t[2].reshape(-1, 1, 1))
add("count_correct", "", {0: f32(30, 4), 1: rng.integers(0, 4, 30).astype(np.int64)},
    lambda t: (t[0].argmax(1) == t[1]).sum())


# ---- optimizers: 50 steps of given gradients ----
def optimizer(op, attrs, make, lr, slots):
    """in0 the first parameter; grads (steps, n); lr (1); after0 the parameter and after4... the slots at the end."""
    n, steps = 24, 50
    p0, grads = f32(n), f32(steps, n)
    ref = []
    for dtype in (torch.float64, torch.float32):
        p = torch.from_numpy(p0.copy()).to(dtype).requires_grad_(True)
        opt = make([p], float(np.float32(lr)))
        for i in range(steps):
            p.grad = torch.from_numpy(grads[i].copy()).to(dtype)
            opt.step()
        found = {"after0": p.detach().numpy()}
        for k, name in enumerate(slots):
            found["after%d" % (4 + k)] = opt.state[p][name].numpy()
        ref.append(found)
    tensors = [("in0", p0, 0.0), ("grads", grads, 0.0), ("lr", np.array([lr], np.float32), 0.0)]
    tensors += [(k, v.astype(np.float32), err(ref[1][k], v)) for k, v in ref[0].items()]
    cases.append((op, attrs, tensors))


O = torch.optim
optimizer("sgd", "momentum=0 weight_decay=0.01", lambda p, lr: O.SGD(p, lr, weight_decay=.01), .05, ())
optimizer("sgd", "momentum=0.9", lambda p, lr: O.SGD(p, lr, momentum=.9), .05, ("momentum_buffer",))
optimizer("sgd", "momentum=0.9 dampening=0.3 weight_decay=0.001",
          lambda p, lr: O.SGD(p, lr, momentum=.9, dampening=.3, weight_decay=.001), .05, ("momentum_buffer",))
optimizer("sgd", "momentum=0.8 nesterov=true weight_decay=0.01",
          lambda p, lr: O.SGD(p, lr, momentum=.8, nesterov=True, weight_decay=.01), .05, ("momentum_buffer",))
optimizer("adam", "", lambda p, lr: O.Adam(p, lr), .01, ("exp_avg", "exp_avg_sq"))
optimizer("adam", "beta1=0.8 beta2=0.99 eps=1e-6 weight_decay=0.1",
          lambda p, lr: O.Adam(p, lr, (.8, .99), 1e-6, .1), .01, ("exp_avg", "exp_avg_sq"))
optimizer("adamw", "", lambda p, lr: O.AdamW(p, lr), .01, ("exp_avg", "exp_avg_sq"))
optimizer("adamw", "weight_decay=0.3", lambda p, lr: O.AdamW(p, lr, weight_decay=.3), .001, ("exp_avg", "exp_avg_sq"))

write("ops.bin")

"""What make_ops.py and make_layers.py share: running PyTorch in both widths, and the file they write.

References are computed in float64 on float32 inputs; beside each stands the error of PyTorch's own float32 result, so
that the bound max(1e-5, 2 x torch's error) can be checked without PyTorch.

The file, little endian: "NWOPS1\\0\\0", u32 number of cases, and for each case: text op, text attributes, u32 number of
tensors, and for each tensor: text name, u8 type (0 float32, 1 int64, 2 uint8), u8 ndim, u32 sizes, f64 error of torch's
float32, numbers. A text is u32 length and bytes. Names: in0... the inputs by port; dout0 the gradient that comes back;
out0..., din0... the references; after3... an input's numbers after the run (running statistics, parameters);
grads and steps for optimizers (see optimizer() in make_ops.py).
"""
import os
import struct
import numpy as np
import torch

rng = np.random.default_rng(20240601)
cases = []


def err(a, ref):
    a, ref = np.asarray(a, np.float64), np.asarray(ref, np.float64)
    d = np.linalg.norm(ref)
    return float(np.linalg.norm(a - ref) / d) if d > 0 else float(np.linalg.norm(a))


def f32(*shape, scale=1.0, shift=0.0):
    return (rng.standard_normal(shape) * scale + shift).astype(np.float32)


def add(op, attrs, inputs, fn, grads=(), state=(), out_names=("out0",)):
    """inputs: {port: array}; fn(tensors by port) gives a tuple of outputs, the first one differentiable."""
    results = []
    dout = None
    for dtype in (torch.float64, torch.float32):
        t = {}
        for p, a in inputs.items():
            x = torch.from_numpy(a.copy())
            t[p] = x.to(dtype) if a.dtype == np.float32 else x
            if p in grads:
                t[p].requires_grad_(True)
        out = fn(t)
        out = out if isinstance(out, tuple) else (out,)
        if dout is None:
            dout = f32(*out[0].shape)
        ref = {}
        if grads:
            out[0].backward(torch.from_numpy(np.asarray(dout)).to(dtype).reshape(out[0].shape))
        for name, o in zip(out_names, out):
            ref[name] = o.detach().numpy()
        for p in grads:
            ref["din%d" % p] = t[p].grad.numpy()
        for p in state:
            ref["after%d" % p] = t[p].detach().numpy()
        results.append(ref)
    tensors = [("in%d" % p, a, 0.0) for p, a in inputs.items()]
    if grads:
        tensors.append(("dout0", np.asarray(dout), 0.0))
    for name, r in results[0].items():
        e = err(results[1][name], r) if r.dtype.kind == "f" else 0.0
        tensors.append((name, r.astype(np.float32) if r.dtype.kind == "f" else r, e))
    cases.append((op, attrs, tensors))


def text(s):
    return struct.pack("<I", len(s)) + s.encode()


def write(name):
    out = [b"NWOPS1\0\0", struct.pack("<I", len(cases))]
    for op, attrs, tensors in cases:
        out += [text(op), text(attrs), struct.pack("<I", len(tensors))]
        for key, a, e in tensors:
            kind = {"float32": 0, "int64": 1, "uint8": 2}[a.dtype.name]
            out += [text(key), struct.pack("<BB", kind, a.ndim), struct.pack("<%dI" % a.ndim, *a.shape),
                    struct.pack("<d", e), np.ascontiguousarray(a).tobytes()]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, "wb") as f:
        f.write(b"".join(out))
    print("%d cases, %d bytes" % (len(cases), sum(map(len, out))))

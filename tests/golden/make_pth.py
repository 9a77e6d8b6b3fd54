#!/usr/bin/env python3
"""Writes pth/: small files as PyTorch saves them, and pth/tensors.txt: what stands in them.

Run with the Python that has PyTorch:  OMP_NUM_THREADS=1 /usr/bin/python3 make_pth.py
A line of tensors.txt: file, name, dtype, shape, FNV-1a of the elements in row-major order, little endian. Names of a file
that must be refused stand with the word "refused" and the word that the sentence must hold.
"""
import collections
import io
import os
import pickle
import struct
import tarfile
import zipfile
import numpy as np
import torch

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pth")
torch.manual_seed(1)
lines = []


def fnv(a):
    h = 14695981039346656037
    for b in a.tobytes():
        h = (h ^ b) * 1099511628211 % 2 ** 64
    return h


def note(name, state):
    for key, t in state.items():
        a = t.detach().contiguous()
        a = a.view(torch.int16).numpy() if t.dtype == torch.bfloat16 else a.numpy()
        lines.append(f"{name} {key} {str(t.dtype)[6:]} {'x'.join(map(str, t.shape)) or 'scalar'} {fnv(a):016x}")


def save(name, obj, state, **options):
    torch.save(obj, os.path.join(here, name), **options)
    note(name, state)


base = torch.randn(6, 4)
tensors = collections.OrderedDict([
    ("f32", torch.randn(2, 3, 2, 2)), ("f64", torch.randn(3, dtype=torch.float64)), ("f16", torch.randn(5).half()),
    ("bf16", torch.randn(5).bfloat16()), ("i64", torch.tensor([-1, 2 ** 40])), ("i32", torch.arange(3, dtype=torch.int32)),
    ("u8", torch.tensor([0, 255, 7], dtype=torch.uint8)), ("bool", torch.tensor([True, False])),
    ("scalar", torch.tensor(3.5)), ("count", torch.tensor(12345678901)), ("empty", torch.empty(0, 7)),
    ("transposed", base.t()), ("column", base[:, 1]), ("rows", base[2:4]), ("same", base),
    ("specials", torch.tensor([float("inf"), float("-inf"), -0.0, 1e-40]))])
for protocol in (2, 3, 4, 5):
    save(f"protocol{protocol}.pth", tensors, tensors, pickle_protocol=protocol)

net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3, bias=False), torch.nn.BatchNorm2d(2), torch.nn.Flatten(),
                          torch.nn.Linear(8, 3))
first = {k: v.clone() for k, v in net.state_dict().items()}
save("module.pth", net.state_dict(), first)
optimizer = torch.optim.AdamW(net.parameters())
net(torch.randn(2, 1, 4, 4)).sum().backward()
optimizer.step()
state = net.state_dict()
save("checkpoint.pth", {"epoch": 3, "best": 0.25, "args": {"lr": 1e-3, "names": ["a", "b"], "none": None},
                        "state_dict": state, "optimizer": optimizer.state_dict()}, state)
save("parameters.pth", {k: torch.nn.Parameter(v) for k, v in tensors.items() if v.dtype == torch.float32},
     {k: v for k, v in tensors.items() if v.dtype == torch.float32})

script = torch.jit.script(net)
torch.jit.save(script, os.path.join(here, "script.pt"))
note("script.pt", state)

# deflated records, as a person who zips a file anew makes them
data = zipfile.ZipFile(os.path.join(here, "module.pth"))
with zipfile.ZipFile(os.path.join(here, "deflated.pth"), "w", zipfile.ZIP_DEFLATED) as out:
    for name in data.namelist():
        out.writestr(zipfile.ZipInfo(name), data.read(name), zipfile.ZIP_DEFLATED)
note("deflated.pth", first)

# a big-endian machine's file: every number turned round
data = zipfile.ZipFile(os.path.join(here, "module.pth"))
turned = {}
with zipfile.ZipFile(os.path.join(here, "big-endian.pth"), "w") as out:
    keys = [k for k in data.namelist() if "/data/" in k]
    for name in data.namelist():
        raw = data.read(name)
        if name in keys:
            size = 8 if len(raw) == 8 and name.endswith(keys[5].rsplit("/", 1)[1]) else 4
            raw = np.frombuffer(raw, f"<u{size}").byteswap().tobytes()
        out.writestr(zipfile.ZipInfo(name), raw)
    out.writestr(zipfile.ZipInfo(data.namelist()[0].split("/")[0] + "/byteorder"), "big")
note("big-endian.pth", first)

save("legacy.pth", net.state_dict(), state, _use_new_zipfile_serialization=False)
shared = collections.OrderedDict((k, v) for k, v in tensors.items() if v.dtype != torch.bool)
save("legacy-shared.pth", shared, shared, _use_new_zipfile_serialization=False)
save("whole.pth", net, state)
save("whole-legacy.pth", {"epoch": 1, "model": net}, state, _use_new_zipfile_serialization=False)


def write_tar(path, tensors):
    """As torch.save wrote before 0.2: by hand, because no torch that runs today does."""
    out = {name: io.BytesIO() for name in ("sys_info", "storages", "tensors", "pickle")}

    def put(part, value):
        pickle.dump(value, out[part], protocol=2)

    put("sys_info", {"protocol_version": 1000, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}})
    put("storages", len(tensors))
    put("tensors", len(tensors))
    for i, t in enumerate(tensors.values()):
        storage = t.storage()
        put("storages", (100 + i, "cpu", torch.FloatStorage if t.dtype == torch.float32 else torch.LongStorage))
        out["storages"].write(struct.pack("<q", storage.size()))
        out["storages"].write(torch.tensor(storage.tolist(), dtype=t.dtype).numpy().tobytes())
        put("tensors", (200 + i, 100 + i, torch.FloatTensor if t.dtype == torch.float32 else torch.LongTensor))
        out["tensors"].write(struct.pack("<iI", t.dim(), 0))
        out["tensors"].write(struct.pack(f"<{2 * t.dim() + 1}q", *t.shape, *t.stride(), t.storage_offset()))
    put("storages", [])

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return next((200 + i for i, t in enumerate(tensors.values()) if t is obj), None)

    Pickler(out["pickle"], protocol=2).dump(collections.OrderedDict(tensors))
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in out.items():
            info = tarfile.TarInfo(name)
            info.size = len(data.getvalue())
            tar.addfile(info, io.BytesIO(data.getvalue()))


plain = {k: v.clone() for k, v in state.items() if v.dim() > 0}
plain["turned"] = torch.randn(3, 5).t()
write_tar(os.path.join(here, "old.tar.pth"), plain)
back = torch.load(os.path.join(here, "old.tar.pth"))
assert all(torch.equal(back[k], v) for k, v in plain.items())
note("old.tar.pth", plain)


class Elsewhere:
    """Neither weights nor a module."""


torch.save(Elsewhere(), os.path.join(here, "object.pth"))
lines.append("object.pth refused state_dict()")


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/netwright-was-here",)


torch.save({"state_dict": net.state_dict(), "evil": Evil()}, os.path.join(here, "evil.pth"))
note("evil.pth", net.state_dict())
with open(os.path.join(here, "tensors.txt"), "w") as f:
    f.write("\n".join(lines) + "\n")

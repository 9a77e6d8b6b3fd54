#!/usr/bin/env python3
"""check_onnx.py FOLDER: every NAME.onnx in FOLDER passes ONNX's checker and strict shape inference, and gives our logits of
NAME.pth (input, logits) in ONNX Runtime, at once and picture by picture."""
import os
import sys
import torch

folder = sys.argv[1]
try:
    import onnx
except ImportError:
    print(f"torch {torch.__version__}: the package onnx is not here, nothing was checked")
    sys.exit(0)
try:
    import onnxruntime
except ImportError:
    onnxruntime = None
worst, n, kinds, bad = 0.0, 0, set(), {}
for name in sorted(f[:-5] for f in os.listdir(folder) if f.endswith(".onnx")):
    path = os.path.join(folder, name + ".onnx")
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path)
    version = model.opset_import[0].version
    onnx.shape_inference.infer_shapes_path(path, path + ".inferred", strict_mode=True)
    os.unlink(path + ".inferred")
    kinds |= {(version, node.op_type) for node in model.graph.node}
    assert {p.key: p.value for p in model.metadata_props}.get("classes") == '["a","b"]', model.metadata_props
    n += 1
    if onnxruntime is None:
        continue
    data = torch.load(os.path.join(folder, name + ".pth"), weights_only=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x, ours = data["input"], data["logits"]
    for theirs in (torch.from_numpy(session.run(None, {"input": x.numpy()})[0]),
                   torch.cat([torch.from_numpy(session.run(None, {"input": x[i:i + 1].numpy()})[0]) for i in range(len(x))])):
        difference = (theirs - ours).abs().max().item() / max(1, ours.abs().max().item())
        worst = max(worst, difference)
        if theirs.shape != ours.shape or not difference <= 1e-4:
            bad[name] = (tuple(theirs.shape), difference)
runtime = onnxruntime.__version__ if onnxruntime else "not here"
assert n > 0 and not bad, bad
print(f"onnx {onnx.__version__}, onnxruntime {runtime}: {n} models, {len(kinds)} kinds of nodes, differ by at most {worst:.3g}")

#!/usr/bin/env python3
"""check_layers.py FOLDER: every N.pt of the folder gives the output that N.pth holds; its list names them."""
import os
import sys
import torch

folder = sys.argv[1]
worst, worst_name, wrong = 0.0, "", []
names = open(os.path.join(folder, "list")).read().splitlines()
for i, name in enumerate(names):
    try:
        model = torch.jit.load(os.path.join(folder, "%d.pt" % i))
        data = torch.load(os.path.join(folder, "%d.pth" % i), weights_only=True)
        with torch.no_grad():
            model.eval()
            y, want = model(data["input"]), data["output"]
            error = ((y - want).double().norm() / max(want.double().norm().item(), 1e-30)).item()
            if y.shape != want.shape or not error <= 1e-4:  # Winograd's bound: these plans are not exact
                wrong.append("%s: %s, off by %.3g" % (name, tuple(y.shape), error))
            if error > worst:
                worst, worst_name = error, name
            # the text of training mode runs, too, on another number of pictures
            model.train()
            assert model(torch.cat([data["input"]] * 2)).shape[0] == 2 * y.shape[0]
    except Exception as problem:
        wrong.append("%s: %s" % (name, str(problem)[-600:]))
assert not wrong, "\n".join(wrong)
print(f"torch {torch.__version__}: {len(names)} exported layers, worst error {worst:.3g} ({worst_name})")

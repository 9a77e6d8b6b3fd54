#!/usr/bin/env python3
"""check_tensors.py WEIGHTS FILE: FILE (.safetensors or .npz), read by its own package, holds the tensors of WEIGHTS."""
import sys
import numpy as np
import torch

weights, path = sys.argv[1:3]
state = torch.load(weights, weights_only=True)
if path.endswith(".npz"):
    tensors = {key: torch.from_numpy(np.asarray(a)) for key, a in np.load(path).items()}
else:
    try:
        from safetensors.torch import load_file
    except ImportError:
        print(f"torch {torch.__version__}: the package safetensors is not here, nothing was checked")
        sys.exit(0)
    tensors = load_file(path)
assert set(tensors) == set(state), set(tensors) ^ set(state)
for key, value in state.items():
    assert tensors[key].dtype == value.dtype and torch.equal(tensors[key], value), key
print(f"torch {torch.__version__}: {len(state)} tensors of {path.rsplit('.', 1)[1]} are equal")

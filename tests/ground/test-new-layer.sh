#!/bin/sh
# Adding a layer touches one file and one word: a copy of the tree gets engine/ops/cube.c and the word 'cube', and twin.c, a
# composite, with the word 'twin'; it is built, and the layers are in the manual, in the palette, in the derived tests, in a trained step, and in an export that PyTorch loads. TAP.
set -u
source=${NETWRIGHT_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0
result() { # result STATUS NAME
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' "$work/log" | tail -n 25; fi
}
skip() {
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}

mkdir "$work/tree" && cd "$source" &&
  git ls-files -z --cached --others --exclude-standard | xargs -0 tar -cf - 2>/dev/null | tar -xf - -C "$work/tree"
cd "$work/tree" || exit 1
cp tests/ground/fixture/cube.c tests/ground/fixture/twin.c engine/ops/
sed -i "s/^ops = \[/ops = ['cube', 'twin', /" engine/ops/meson.build
export XDG_DATA_HOME="$work/data" XDG_CONFIG_HOME="$work/config" NETWRIGHT_HISTORY="$work/history"

# Only what is needed is built, with the compiler's cache where there is one.
{
  meson setup build >"$work/log" 2>&1 &&
    ninja -C build app/netwright tests/engine/test-ops-derived >>"$work/log" 2>&1
}
result $? "the tree builds with a file and a word more for each"
netwright=$work/tree/build/app/netwright

"$netwright" layers Cube >"$work/log" 2>&1 && grep -q 'scale' "$work/log" && "$netwright" layers Twin >>"$work/log" 2>&1
result $? "the manual knows the layers and the attribute"

build/tests/engine/test-ops-derived >"$work/log" 2>&1
result $? "the derived tests hold for them: kernels, gradients, attributes"

"$netwright" new project --template mlp --data share/sample/clothes.zip >"$work/log" 2>&1 &&
  python3 - project/project.json >>"$work/log" 2>&1 <<'PY'
import json, sys
path = sys.argv[1]
project = json.load(open(path))
blocks = project["network"]["blocks"]
last = blocks[-1]
number = max(b["id"] for b in blocks) + 1
blocks.append({"id": number, "name": "cube", "op": "cube", "version": 1, "attrs": {"scale": 0.5}, "x": 0, "y": 900,
               "from": [last["from"][0]], "frozen": False})
blocks.append({"id": number + 1, "name": "twin", "op": "twin", "version": 1, "attrs": {}, "x": 0, "y": 990,
               "from": [number], "frozen": False})
last["from"] = [number + 1]
project["network"].pop("next_id", None)
json.dump(project, open(path, "w"))
PY
result $? "a project takes them"

"$netwright" train project --epochs 1 --lr 1e-4 >"$work/log" 2>&1
result $? "it trains"

"$netwright" export latest --format torchscript --checkpoint last --output model.pt >"$work/log" 2>&1
result $? "it is exported"

if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
  OMP_NUM_THREADS=1 /usr/bin/python3 - model.pt >"$work/log" 2>&1 <<'PY'
import sys, torch
model = torch.jit.load(sys.argv[1]).eval()
weights = model.state_dict()
x = torch.randn(5, 1, 28, 28)
names = [k[:-len(".weight")] for k in weights if k.endswith(".weight") and not k.startswith("twin.")]
y = torch.flatten(x, 1)
for i, name in enumerate(names):
    if i == len(names) - 1:
        y = 0.5 * y ** 3
        y = y + torch.nn.functional.linear(y, weights["twin.mix.weight"], weights["twin.mix.bias"])
    y = torch.nn.functional.linear(y, weights[name + ".weight"], weights[name + ".bias"])
    if i < len(names) - 1:
        y = torch.relu(y)
difference = (model(x) - y).abs().max().item()
print("largest difference", difference, "of", y.abs().max().item())
assert difference < 1e-4 * max(1, y.abs().max().item())
PY
  result $? "PyTorch loads the export and computes the same"
else
  skip "PyTorch loads the export and computes the same" "PyTorch (python3-torch) is not installed"
fi

if [ -z "${DISPLAY:-}" ]; then
  skip "the palette shows it" "there is no display"
else
  ninja -C build tests/ui/test-palette >"$work/log" 2>&1 &&
    NETWRIGHT_EXPECT_LAYER=Cube build/tests/ui/test-palette >>"$work/log" 2>&1 &&
    NETWRIGHT_EXPECT_LAYER=Twin build/tests/ui/test-palette >>"$work/log" 2>&1
  result $? "the palette shows them"
fi
echo "1..$n"

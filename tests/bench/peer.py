"""PyTorch's side of the comparison: one network in one variant, driven over standard input as bench-net is.

  peer.py NET BATCH VARIANT [--infer] [--cpu] [--threads N]      "run N" → list of N times in ms; "info"; "quit"

Variants of training: default; tuned (fused AdamW; the caller raises malloc's thresholds, too); tuned-cl (also
channels_last); compile, compile-cl. Of inference: default, freeze, freeze-cl, compile, compile-cl."""
import json
import resource
import sys
import time

import torch
from torch import nn


def memory(field):
    with open('/proc/self/status') as f:
        return next(int(line.split()[1]) * 1024 / 1e6 for line in f if line.startswith(field))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def simplecnn():
    return nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Dropout(.5),
                         nn.Linear(128, 10))


def lenet():
    return nn.Sequential(nn.Conv2d(3, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 6 * 6, 120), nn.ReLU(), nn.Linear(120, 84),
                         nn.ReLU(), nn.Linear(84, 10))


def simpleclassifier():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 56 * 56, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def resnet18():
    import torchvision
    return torchvision.models.resnet18(num_classes=1000)


NETS = {'mlp': (mlp, 1, 28, 10), 'simplecnn': (simplecnn, 1, 28, 10), 'lenet': (lenet, 3, 32, 10),
        'simpleclassifier': (simpleclassifier, 3, 224, 10), 'resnet18': (resnet18, 3, 224, 1000)}


def main():
    arguments = sys.argv[1:]
    infer = '--infer' in arguments
    clock = time.process_time if '--cpu' in arguments else time.perf_counter
    if '--threads' in arguments:
        torch.set_num_threads(int(arguments[arguments.index('--threads') + 1]))
    net, batch, variant = arguments[0], int(arguments[1]), arguments[2]
    build, channels, side, classes = NETS[net]
    torch.manual_seed(1)
    bare = memory('VmRSS')
    layout = torch.channels_last if variant.endswith('-cl') else torch.contiguous_format
    model = build().to(memory_format=layout)
    x = torch.randn(batch, channels, side, side).to(memory_format=layout)
    labels = torch.arange(batch) * 7 % classes
    if infer:
        model.eval()
        call = model
        if variant.startswith('freeze'):
            with torch.no_grad():
                call = torch.jit.freeze(torch.jit.trace(model, x))
        elif variant.startswith('compile'):
            call = torch.compile(model)

        def step():
            with torch.no_grad():
                return call(x)
    else:
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=None if variant == 'default' else True)

        def loss_of(inputs, targets):
            return criterion(model(inputs), targets)
        if variant.startswith('compile'):
            loss_of = torch.compile(loss_of)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(x, labels)
            loss.backward()
            optimizer.step()
            return loss.item()
    start = time.perf_counter()
    step()
    first = (time.perf_counter() - start) * 1e3
    for line in sys.stdin:
        if line.startswith('quit'):
            break
        if line.startswith('info'):
            print(json.dumps({'first_ms': first, 'bare_mb': bare, 'threads': torch.get_num_threads(),
                              'rss_mb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
                              'version': torch.__version__}), flush=True)
            continue
        times = []
        for _ in range(int(line.split()[1])):
            start = clock()
            step()
            times.append((clock() - start) * 1e3)
        print(json.dumps(times), flush=True)


main()

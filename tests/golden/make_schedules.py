#!/usr/bin/python3
"""Learning rates of PyTorch's schedulers over 200 steps -> schedules.txt.

A case is four lines: schedule and settings as the command line takes them; how many epochs the training has and how
many steps an epoch; the rates before each epoch, in double (for per_step schedules: before each step). The fourth line holds the losses that
ReduceLROnPlateau watches, or -.
"""
import os
import numpy as np
import torch

L = torch.optim.lr_scheduler
BASE, STEPS = 0.1, 200
lines = []


def optimizer():
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=BASE)


def rates(make, metrics=None):
    opt = optimizer()
    schedule, found = make(opt), []
    for i in range(STEPS):
        found.append(opt.param_groups[0]["lr"])
        opt.step()
        if i < STEPS - 1:
            schedule.step(*([] if metrics is None else [metrics[i]]))
    return found


def add(text, make, epochs=STEPS, steps=1, metrics=None):
    lines.append(text)
    lines.append("%d %d" % (epochs, steps))
    lines.append(" ".join(repr(x) for x in rates(make, metrics)))
    lines.append("-" if metrics is None else " ".join(repr(float(x)) for x in metrics))


rng = np.random.default_rng(5)
losses = np.round(np.exp(-np.arange(STEPS) / 25) + 0.3 + rng.normal(0, 0.03, STEPS), 6)
add("step step_size=30 gamma=0.5", lambda o: L.StepLR(o, 30, .5))
add("exponential gamma=0.97", lambda o: L.ExponentialLR(o, .97))
add("cosine T_max=200 eta_min=0.001", lambda o: L.CosineAnnealingLR(o, 200, .001))
add("cosine T_max=50 eta_min=0.001", lambda o: L.CosineAnnealingLR(o, 50, .001))
add("cosine_restarts T_0=30", lambda o: L.CosineAnnealingWarmRestarts(o, 30))
add("cosine_restarts T_0=10 T_mult=2 eta_min=0.002", lambda o: L.CosineAnnealingWarmRestarts(o, 10, 2, .002))
add("cosine_restarts T_0=7 T_mult=3", lambda o: L.CosineAnnealingWarmRestarts(o, 7, 3))
add("onecycle", lambda o: L.OneCycleLR(o, BASE, STEPS, cycle_momentum=False), 10, 20)
add("onecycle pct_start=0.4 anneal_strategy=linear div_factor=10 final_div_factor=100 per_step=false",
    lambda o: L.OneCycleLR(o, BASE, STEPS, pct_start=.4, anneal_strategy="linear", div_factor=10, final_div_factor=100, cycle_momentum=False))
add("onecycle three_phase=true", lambda o: L.OneCycleLR(o, BASE, STEPS, three_phase=True, cycle_momentum=False), 8, 25)
add("polynomial total_iters=150 power=2", lambda o: L.PolynomialLR(o, 150, 2.0))
add("polynomial power=0.9", lambda o: L.PolynomialLR(o, 200, .9))
add("linear start_factor=0.1 total_iters=20", lambda o: L.LinearLR(o, .1, total_iters=20))
add("linear start_factor=1 end_factor=0.2 total_iters=120", lambda o: L.LinearLR(o, 1.0, .2, 120))
add("plateau patience=5 factor=0.5", lambda o: L.ReduceLROnPlateau(o, patience=5, factor=.5), metrics=losses)
add("plateau patience=2 factor=0.3 cooldown=4 threshold=0.01 threshold_mode=abs min_lr=0.0003",
    lambda o: L.ReduceLROnPlateau(o, patience=2, factor=.3, cooldown=4, threshold=.01, threshold_mode="abs", min_lr=.0003), metrics=losses)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedules.txt"), "w") as f:
    f.write("\n".join(lines) + "\n")
print(len(lines) // 4, "schedules")

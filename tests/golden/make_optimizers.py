#!/usr/bin/python3
"""Parameters and states after 50 steps of prescribed gradients: RMSprop, Adagrad, NAdam, Lion -> optimizers.bin.

PyTorch computes RMSprop and Adagrad. PyTorch 1 multiplies NAdam's product of shares by one share too many and PyTorch has
no Lion, so these two are written here from PyTorch 2's lines and from the paper; with PyTorch 2, its NAdam is compared
with what stands here.
"""
import numpy as np
import torch
from golden_ops import cases, err, f32, write

O = torch.optim


class NAdam:
    """torch 2.4, torch/optim/nadam.py, _single_tensor_nadam; mu_product is float32 there whatever the parameter is."""

    def __init__(self, p, lr, b1=.9, b2=.999, eps=1e-8, decay=0., momentum_decay=4e-3):
        self.p, self.lr, self.b1, self.b2, self.eps = p, lr, b1, b2, eps
        self.decay, self.momentum_decay, self.t = decay, momentum_decay, 0
        self.state = {p: {"exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p), "mu_product": torch.tensor(1.)}}

    @torch.no_grad()
    def step(self):
        s, p, self.t = self.state[self.p], self.p, self.t + 1
        grad = p.grad.add(p, alpha=self.decay)
        mu = self.b1 * (1. - 0.5 * (0.96 ** (self.t * self.momentum_decay)))
        mu_next = self.b1 * (1. - 0.5 * (0.96 ** ((self.t + 1) * self.momentum_decay)))
        s["mu_product"] *= mu
        s["exp_avg"].lerp_(grad, 1 - self.b1)
        s["exp_avg_sq"].mul_(self.b2).addcmul_(grad, grad, value=1 - self.b2)
        denom = s["exp_avg_sq"].div(1 - self.b2 ** self.t).sqrt().add(self.eps)
        p.addcdiv_(grad, denom, value=-self.lr * (1. - mu) / (1. - s["mu_product"].item()))
        p.addcdiv_(s["exp_avg"], denom, value=-self.lr * mu_next / (1. - s["mu_product"].item() * mu_next))


class Lion:
    """Chen et al. 2023, Algorithm 2."""

    def __init__(self, p, lr, b1=.9, b2=.99, decay=0.):
        self.p, self.lr, self.b1, self.b2, self.decay = p, lr, b1, b2, decay
        self.state = {p: {"exp_avg": torch.zeros_like(p)}}

    @torch.no_grad()
    def step(self):
        m, p = self.state[self.p]["exp_avg"], self.p
        way = (self.b1 * m + (1 - self.b1) * p.grad).sign()
        p.mul_(1 - self.lr * self.decay).sub_(self.lr * way)
        m.mul_(self.b2).add_(p.grad, alpha=1 - self.b2)


def optimizer(op, attrs, make, lr, slots):
    """slots: name of the state by port. The same tensors as in make_ops.py."""
    n, steps = 24, 50
    p0, grads = f32(n), f32(steps, n)
    ref = []
    for dtype in (torch.float64, torch.float32):
        p = torch.from_numpy(p0.copy()).to(dtype).requires_grad_(True)
        opt = make(p, float(np.float32(lr)))
        for i in range(steps):
            p.grad = torch.from_numpy(grads[i].copy()).to(dtype)
            opt.step()
        found = {"after0": p.detach().numpy()}
        for port, name in slots.items():
            found["after%d" % port] = opt.state[p][name].numpy()
        ref.append(found)
    tensors = [("in0", p0, 0.0), ("grads", grads, 0.0), ("lr", np.array([lr], np.float32), 0.0)]
    tensors += [(k, np.asarray(v, np.float32), err(ref[1][k], v)) for k, v in ref[0].items()]
    cases.append((op, attrs, tensors))


optimizer("rmsprop", "", lambda p, lr: O.RMSprop([p], lr), .01, {4: "square_avg"})
optimizer("rmsprop", "alpha=0.9 eps=1e-6 momentum=0.9 weight_decay=0.01",
          lambda p, lr: O.RMSprop([p], lr, .9, 1e-6, .01, .9), .003, {4: "square_avg", 5: "momentum_buffer"})
optimizer("rmsprop", "centered=true", lambda p, lr: O.RMSprop([p], lr, centered=True), .01, {4: "square_avg", 6: "grad_avg"})
optimizer("rmsprop", "momentum=0.5 centered=true eps=1e-3", lambda p, lr: O.RMSprop([p], lr, eps=1e-3, momentum=.5, centered=True),
          .01, {4: "square_avg", 5: "momentum_buffer", 6: "grad_avg"})
optimizer("adagrad", "", lambda p, lr: O.Adagrad([p], lr), .05, {4: "sum"})
optimizer("adagrad", "lr_decay=0.1 weight_decay=0.01 initial_accumulator_value=0.3 eps=1e-6",
          lambda p, lr: O.Adagrad([p], lr, .1, .01, .3, 1e-6), .1, {4: "sum"})
optimizer("nadam", "", NAdam, .002, {4: "exp_avg", 5: "exp_avg_sq", 6: "mu_product"})
optimizer("nadam", "beta1=0.8 beta2=0.99 eps=1e-6 weight_decay=0.1 momentum_decay=0.01",
          lambda p, lr: NAdam(p, lr, .8, .99, 1e-6, .1, .01), .01, {4: "exp_avg", 5: "exp_avg_sq", 6: "mu_product"})
optimizer("lion", "", Lion, .0001, {4: "exp_avg"})
optimizer("lion", "beta1=0.95 beta2=0.98 weight_decay=0.1", lambda p, lr: Lion(p, lr, .95, .98, .1), .01, {4: "exp_avg"})

if int(torch.__version__.split(".")[0]) >= 2:
    start = f32(24)
    a, b = (torch.from_numpy(start.copy()).double().requires_grad_(True) for _ in range(2))
    first, second = NAdam(a, .002), O.NAdam([b], .002)
    for _ in range(50):
        a.grad = b.grad = torch.from_numpy(f32(24)).double()
        first.step()
        second.step()
    assert err(a.detach(), b.detach().numpy()) < 1e-12

write("optimizers.bin")

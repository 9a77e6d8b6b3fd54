#!/usr/bin/env python3
"""Writes layers.bin: what PyTorch says about the layers and losses that make_ops.py does not have.

Run with the Python that has PyTorch:  OMP_NUM_THREADS=1 /usr/bin/python3 make_layers.py
golden_ops.py says what the file holds.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from golden_ops import add, f32, rng, write


def yes(flag):
    return "true" if flag else "false"


# ---- activations ----
x = f32(2, 5, 3, 5, scale=3)
y = f32(3, 13, scale=4)
x[0, 0, 0, :] = (-4, 0, 4, 6, 9)  # not 3: there PyTorch 1.13 and 2 give hardswish different slopes
for op, attrs, fn in (("relu6", "", F.relu6), ("hardswish", "", F.hardswish), ("hardsigmoid", "", F.hardsigmoid),
                      ("elu", "", F.elu), ("elu", "alpha=0.3", lambda v: F.elu(v, .3)), ("selu", "", F.selu),
                      ("mish", "", F.mish), ("softplus", "", F.softplus),
                      ("softplus", "beta=3 threshold=1", lambda v: F.softplus(v, 3, 1))):
    for v in (x, y):
        add(op, attrs, {0: v}, lambda t: fn(t[0]), grads=(0,))
for shape, n in (((2, 8, 3, 4), 1), ((3, 6, 4, 4), 6), ((3, 13), 13), ((2, 20, 3, 1), 20)):
    add("prelu", "num_parameters=%d" % n, {0: f32(*shape), 1: f32(n, scale=.3)}, lambda t: F.prelu(t[0], t[1]),
        grads=(0, 1))
for shape, dim in (((3, 7), -1), ((2, 5, 3, 4), 1), ((2, 3, 9), -2), ((4, 2), 0)):
    add("log_softmax", "dim=%d" % dim, {0: f32(*shape, scale=2)}, lambda t: F.log_softmax(t[0], dim), grads=(0,))

# ---- shape and merge ----
for a, b in (((2, 8, 3, 5), (2, 8, 3, 5)), ((2, 12, 3, 5), (2, 12, 1, 1)), ((2, 3, 4, 5), (3, 1, 1)), ((2, 3, 4), (2, 1, 4)),
             ((3, 7), (3, 1)), ((2, 16, 2, 2), (2, 16, 1, 1))):
    add("mul", "", {0: f32(*a), 1: f32(*b)}, lambda t: t[0] * t[1], grads=(0, 1))
for shape, g in (((2, 8, 3, 3), 2), ((1, 12, 2, 5), 3), ((2, 6, 2, 2), 6)):
    add("channel_shuffle", "groups=%d" % g, {0: f32(*shape)},  # torch 1.13 has no gradient for its own
        lambda t: t[0].reshape(shape[0], g, -1, *shape[2:]).transpose(1, 2).reshape(shape), grads=(0,))
for shape, text, sizes in (((2, 3, 4, 5), "0", (60,)), ((2, 3, 4, 5), "5x12x0", (5, 12)), ((3, 24), "4x-1x3", (4, 2, 3))):
    add("reshape", "shape=" + text, {0: f32(*shape)}, lambda t: t[0].reshape((shape[0],) + sizes), grads=(0,))
for shape, order in (((2, 3, 4, 5), (2, 3, 1)), ((2, 3, 4, 5), (3, 1, 2)), ((2, 5, 3), (2, 1, 3)), ((1, 2, 3, 4), (1, 3, 2))):
    add("permute", "first=%d second=%d third=%d" % order, {0: f32(*shape)},
        lambda t: t[0].permute((0,) + order[:len(shape) - 1]), grads=(0,))
for shape, p in (((2, 3, 4, 5), (1, 1, 1, 1)), ((1, 12, 4, 3), (1, 2, 0, 3)), ((2, 8, 3, 3), (0, 0, 0, 0)),
                 ((1, 3, 4, 4), (2, 0, 1, 0))):
    add("zero_pad2d", "padding=%dx%dx%dx%d" % p, {0: f32(*shape)}, lambda t: F.pad(t[0], p), grads=(0,))
    add("reflection_pad2d", "padding=%dx%dx%dx%d" % p, {0: f32(*shape)}, lambda t: F.pad(t[0], p, mode="reflect"),
        grads=(0,))
for shape, f, mode, corners in (((2, 3, 4, 5), (2, 2), "nearest", None), ((1, 12, 3, 2), (3, 1), "nearest", None),
                                ((2, 8, 3, 4), (2, 2), "bilinear", False), ((1, 5, 4, 3), (2, 3), "bilinear", True),
                                ((1, 3, 1, 1), (4, 4), "bilinear", True), ((1, 4, 5, 2), (3, 4), "bilinear", False)):
    add("upsample", "scale_factor=%dx%d mode=%s align_corners=%s" % (f + (mode, yes(corners))), {0: f32(*shape)},
        lambda t: F.interpolate(t[0], scale_factor=tuple(map(float, f)), mode=mode, align_corners=corners), grads=(0,))
for shape, r in (((2, 8, 3, 4), 2), ((1, 18, 2, 5), 3)):
    add("pixel_shuffle", "upscale_factor=%d" % r, {0: f32(*shape)}, lambda t: F.pixel_shuffle(t[0], r), grads=(0,))

# ---- norms ----
for shape, sizes, affine, eps in (((3, 13), 1, True, 1e-5), ((2, 5, 24), 1, True, 1e-3), ((4, 9), 1, False, 1e-5),
                                  ((2, 3, 4, 5), 3, True, 1e-5), ((2, 33), 1, True, 1e-6)):
    last = shape[len(shape) - sizes:]
    inputs = {0: f32(*shape, scale=2, shift=3)}
    if affine:
        inputs[1], inputs[2] = f32(*last, shift=1), f32(*last)
    add("layer_norm", "sizes=%d elementwise_affine=%s eps=%g" % (sizes, yes(affine), eps), inputs,
        lambda t: F.layer_norm(t[0], last, t.get(1), t.get(2), eps), grads=(0, 1, 2) if affine else (0,))
for shape, g, affine in (((2, 6, 3, 4), 2, True), ((1, 24, 2, 5), 8, True), ((2, 9, 3), 3, False), ((3, 16), 4, True),
                         ((2, 7, 3, 3), 1, True)):
    c = shape[1]
    inputs = {0: f32(*shape, scale=2, shift=3)}
    if affine:
        inputs[1], inputs[2] = f32(c, shift=1), f32(c)
    add("group_norm", "num_groups=%d affine=%s" % (g, yes(affine)), inputs,
        lambda t: F.group_norm(t[0], g, t.get(1), t.get(2), 1e-5), grads=(0, 1, 2) if affine else (0,))
    if len(shape) == 4:
        add("instance_norm2d", "affine=%s" % yes(affine), inputs,
            lambda t: F.instance_norm(t[0], weight=t.get(1), bias=t.get(2)), grads=(0, 1, 2) if affine else (0,))
        add("layer_norm2d", "affine=%s" % yes(affine), inputs, lambda t: F.layer_norm(
            t[0].permute(0, 2, 3, 1), (c,), t.get(1), t.get(2), 1e-6).permute(0, 3, 1, 2),
            grads=(0, 1, 2) if affine else (0,))
for shape, training, affine in (((6, 7), True, True), ((3, 12, 5), True, True), ((2, 5, 3), False, True),
                                ((4, 5), True, False)):
    c = shape[1]
    inputs = {0: f32(*shape, scale=2, shift=3)}
    if affine:
        inputs[1], inputs[2] = f32(c, shift=1), f32(c)
    inputs[3], inputs[4], inputs[5] = f32(c), f32(c) ** 2 + np.float32(.5), np.array([4], np.int64)
    add("batch_norm1d", "training=%s affine=%s" % (yes(training), yes(affine)), inputs,
        lambda t: F.batch_norm(t[0], t[3], t[4], t.get(1), t.get(2), training, .1, 1e-5),
        grads=(0, 1, 2) if affine else (0,), state=(3, 4))

# ---- pooling and convolution ----
for shape, o in (((2, 16, 7, 7), (1, 1)), ((1, 5, 7, 8), (3, 3)), ((2, 3, 4, 6), (5, 1)), ((3, 8, 4, 4), (2, 2))):
    add("adaptive_max_pool2d", "output_size=%dx%d" % o, {0: f32(*shape)}, lambda t: F.adaptive_max_pool2d(t[0], o),
        grads=(0,))
for shape, k, s, p, c in (((2, 3, 9), 2, 2, 0, False), ((1, 12, 8), 3, 2, 1, False), ((2, 2, 8), 3, 2, 0, True)):
    text = "kernel_size=%d stride=%d padding=%d ceil_mode=%s" % (k, s, p, yes(c))
    add("max_pool1d", text, {0: f32(*shape)}, lambda t: F.max_pool1d(t[0], k, s, p, 1, c), grads=(0,))
    add("avg_pool1d", text, {0: f32(*shape)}, lambda t: F.avg_pool1d(t[0], k, s, p, c), grads=(0,))
for shape, out, k, s, p, d, g, bias in (((2, 3, 9), 4, 3, 1, 0, 1, 1, True), ((1, 4, 11), 6, 5, 2, 2, 1, 2, False),
                                        ((3, 8, 7), 8, 2, 1, 1, 2, 1, True)):
    inputs = {0: f32(*shape), 1: f32(out, shape[1] // g, k, scale=.3)}
    if bias:
        inputs[2] = f32(out)
    add("conv1d", "out_channels=%d kernel_size=%d stride=%d padding=%d dilation=%d groups=%d bias=%s" % (
        out, k, s, p, d, g, yes(bias)), inputs, lambda t: F.conv1d(t[0], t[1], t.get(2), s, p, d, g),
        grads=(0, 1, 2) if bias else (0, 1))
for shape, out, k, s, p, op, d, g, bias in (
        ((2, 3, 4, 5), 4, (3, 3), (2, 2), (0, 0), (0, 0), (1, 1), 1, True),
        ((1, 4, 3, 3), 6, (4, 4), (2, 2), (1, 1), (0, 0), (1, 1), 2, False),
        ((1, 8, 3, 2), 2, (3, 2), (2, 3), (0, 0), (1, 2), (2, 1), 1, True),
        ((2, 8, 3, 3), 8, (2, 2), (2, 2), (0, 0), (0, 0), (1, 1), 8, True)):
    inputs = {0: f32(*shape), 1: f32(shape[1], out // g, *k, scale=.3)}
    if bias:
        inputs[2] = f32(out)
    text = "out_channels=%d kernel_size=%dx%d stride=%dx%d padding=%dx%d output_padding=%dx%d dilation=%dx%d groups=%d"
    add("conv_transpose2d", (text + " bias=%s") % ((out,) + k + s + p + op + d + (g, yes(bias))), inputs,
        lambda t: F.conv_transpose2d(t[0], t[1], t.get(2), s, p, op, g, d), grads=(0, 1, 2) if bias else (0, 1))


# ---- composites: torchvision's own modules, with weights of ours ----
def weight(path):
    return [path + ".weight"]


def linear(path):
    return [path + ".weight", path + ".bias"]


def norm(path):
    return [path + "." + n for n in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")]


def block(op, attrs, module, shape, ports, training, after=lambda f, x: f(x)):
    """ports: the row's, behind x. The module's own numbers are replaced by ours."""
    have = module.state_dict()
    missing = set(have) - set(ports)
    assert not missing, missing
    # torchvision's order is ours, so that a state_dict can be read one to one
    assert [k for k in ports if k in have] == list(have), (ports, list(have))
    inputs, grads, state = {0: f32(*shape)}, [0], []
    for k, name in enumerate(ports, 1):
        if name not in have:
            continue
        size = tuple(have[name].shape)
        if name.endswith("num_batches_tracked"):
            inputs[k] = np.array([4], np.int64)
        elif name.endswith("running_var"):
            inputs[k] = f32(*size) ** 2 + np.float32(.5)
        else:
            inputs[k] = f32(*size, scale=.5, shift=1 if len(size) == 1 and name.endswith("weight") else 0)
        if "running" in name:
            state.append(k)
        elif "tracked" not in name:
            grads.append(k)

    def run(t):
        module.to(t[0].dtype).train(training)
        values = {name: t[k] if "tracked" not in name else t[k][0] for k, name in enumerate(ports, 1) if k in t}
        return after(lambda v: torch.nn.utils.stateless.functional_call(module, values, (v,)), t[0])
    add(op, attrs + " training=" + yes(training), inputs, run, grads=tuple(grads), state=tuple(state))


from torchvision.models import convnext, densenet, efficientnet, mobilenetv2, mobilenetv3, resnet, squeezenet
from torchvision.ops import SqueezeExcitation


def down(i, o, s):
    return nn.Sequential(resnet.conv1x1(i, o, s), nn.BatchNorm2d(o)) if s != 1 or i != o else None


for training in (True, False):
    for i, o, s in ((4, 4, 1), (3, 8, 2), (4, 8, 1)):
        block("basic_block", "out_channels=%d stride=%d" % (o, s), resnet.BasicBlock(i, o, s, down(i, o, s)), (3, i, 6, 5),
              weight("conv1") + norm("bn1") + weight("conv2") + norm("bn2") + weight("downsample.0") +
              norm("downsample.1"), training)
    for i, o, s, g, w in ((8, 2, 1, 1, 64), (3, 4, 2, 2, 64), (8, 2, 1, 1, 128)):
        block("bottleneck", "planes=%d stride=%d groups=%d base_width=%d" % (o, s, g, w),
              resnet.Bottleneck(i, o, s, down(i, 4 * o, s), g, w), (3, i, 5, 4),
              sum([weight("conv%d" % k) + norm("bn%d" % k) for k in (1, 2, 3)], []) + weight("downsample.0") +
              norm("downsample.1"), training)
    for i, o, s, e in ((4, 4, 1, 3), (5, 6, 2, 1), (4, 6, 2, 2)):
        block("inverted_residual", "out_channels=%d stride=%d expand_ratio=%d" % (o, s, e),
              mobilenetv2.InvertedResidual(i, o, s, e), (3, i, 5, 6),
              weight("conv.0.0") + norm("conv.0.1") + weight("conv.1") + weight("conv.1.0") + norm("conv.1.1") +
              norm("conv.2") + norm("conv.3"), training)
    mb = []
    for k in range(4):
        mb += weight("block.%d.0" % k) + norm("block.%d.1" % k)
        if k in (1, 2):
            mb += linear("block.%d.fc1" % k) + linear("block.%d.fc2" % k)
    for i, o, s, e, k in ((8, 8, 1, 2, 3), (8, 16, 2, 1, 5)):
        wide = efficientnet.MBConvConfig.adjust_channels(i, e)
        block("mb_conv", "out_channels=%d expanded_channels=%d kernel_size=%d stride=%d squeeze_channels=%d" % (
            o, wide, k, s, max(1, i // 4)),
            efficientnet.MBConv(efficientnet.MBConvConfig(e, k, s, i, o, 1), 0., nn.BatchNorm2d), (3, i, 5, 5), mb,
            training)
    for i, e, o, k, se, act, s in ((4, 6, 4, 3, True, "RE", 1), (4, 8, 6, 5, False, "HS", 2), (4, 4, 4, 3, False, "RE", 1)):
        config = mobilenetv3.InvertedResidualConfig(i, k, e, o, se, act, s, 1, 1.)
        config.expanded_channels, config.out_channels, config.input_channels = e, o, i
        module = mobilenetv3.InvertedResidual(config, lambda c: nn.BatchNorm2d(c, eps=.001, momentum=.01))
        squeeze = module.block[-2].fc1.out_channels if se else 0
        block("mb_conv", ("out_channels=%d expanded_channels=%d kernel_size=%d stride=%d squeeze_channels=%d "
                          "activation=%s eps=0.001 momentum=0.01") % (
            o, e, k, s, squeeze, "relu" if act == "RE" else "hardswish"), module, (3, i, 6, 5), mb, training)
    for i, g, b in ((4, 3, 2), (8, 8, 1)):
        block("dense_layer", "growth_rate=%d bn_size=%d" % (g, b), densenet._DenseLayer(i, g, b, 0.), (3, i, 5, 4),
              norm("norm1") + weight("conv1") + norm("norm2") + weight("conv2"), training,
              lambda f, x: torch.cat([x, f(x)], 1))
for c, q, act, gate in ((8, 4, "relu", "sigmoid"), (13, 3, "silu", "hardsigmoid")):
    block("squeeze_excitation", "squeeze_channels=%d activation=%s gate=%s" % (q, act, gate),
          SqueezeExcitation(c, q, {"relu": nn.ReLU, "silu": nn.SiLU}[act],
                            {"sigmoid": nn.Sigmoid, "hardsigmoid": nn.Hardsigmoid}[gate]), (2, c, 3, 5),
          linear("fc1") + linear("fc2"), False)
block("fire", "squeeze=2 expand1x1=3 expand3x3=4", squeezenet.Fire(5, 2, 3, 4), (2, 5, 4, 4),
      linear("squeeze") + linear("expand1x1") + linear("expand3x3"), False)
block("convnext_block", "layer_scale=0.5", convnext.CNBlock(4, .5, 0.), (2, 4, 6, 5),
      ["layer_scale"] + linear("block.0") + linear("block.2") + linear("block.3") + linear("block.5"), False)

# ---- sequences ----
def steps(prefix=""):
    return [prefix + n for n in ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")]


recurrent = []
for k in range(4):
    for side in ("", "_reverse"):
        recurrent += ["%s_l%d%s" % (n, k, side) for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
class Steps(nn.Module):
    """A recurrent layer of PyTorch that really uses the parameters that it is given."""

    def __init__(self, part):
        super().__init__()
        self.part, self.names = [part], [name for name, _ in part.named_parameters()]
        for name, value in part.named_parameters():
            self.register_parameter(name, value)

    def forward(self, x):
        p = self.part[0]
        h = torch.zeros(p.num_layers * (1 + p.bidirectional), x.shape[0], p.hidden_size, dtype=x.dtype)
        run = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN_TANH": torch.rnn_tanh, "RNN_RELU": torch.rnn_relu}[p.mode]
        return run(x, (h, h) if p.mode == "LSTM" else h, [getattr(self, name) for name in self.names], p.bias, p.num_layers, 0., False,
                   p.bidirectional, True)[0]


for op, make, more in (("lstm", nn.LSTM, {}), ("gru", nn.GRU, {}), ("rnn", nn.RNN, {}), ("rnn", nn.RNN, {"nonlinearity": "relu"})):
    for n, length, size, hidden, layers, both, bias in ((2, 4, 5, 3, 1, False, True), (3, 2, 4, 9, 1, True, False),
                                                        (2, 5, 4, 3, 2, False, True), (2, 3, 4, 8, 2, True, True),
                                                        (1, 28, 28, 16, 1, False, True)):
        module = make(size, hidden, layers, bias, True, 0, both, **more)
        block(op, "hidden_size=%d num_layers=%d bidirectional=%s bias=%s%s" % (
            hidden, layers, yes(both), yes(bias), " nonlinearity=relu" if more else ""), Steps(module), (n, length, size),
            recurrent, False)
for n, length, size, heads, bias in ((2, 5, 8, 2, True), (1, 3, 6, 3, False), (3, 7, 20, 1, True), (2, 1, 4, 4, True)):
    module = nn.MultiheadAttention(size, heads, bias=bias, batch_first=True)

    class Self(nn.Module):  # of x with itself
        def __init__(self, part):
            super().__init__()
            for name, value in part._parameters.items():
                self.register_parameter(name, value)
            self.out_proj = part.out_proj

        def forward(self, x):
            t = x.transpose(0, 1)
            return F.multi_head_attention_forward(
                t, t, t, size, heads, self.in_proj_weight, self.in_proj_bias, None, None, False, 0.,
                self.out_proj.weight, self.out_proj.bias, True, need_weights=False)[0].transpose(0, 1)
    block("multihead_attention", "num_heads=%d bias=%s" % (heads, yes(bias)), Self(module), (n, length, size), steps(), False)
for n, length, size, heads, wide, first, act in ((2, 4, 6, 2, 5, False, "relu"), (1, 3, 4, 1, 3, True, "gelu"),
                                                 (2, 9, 16, 4, 32, True, "relu")):
    block("transformer_encoder_layer", "nhead=%d dim_feedforward=%d dropout=0 norm_first=%s activation=%s" % (
        heads, wide, yes(first), act), nn.TransformerEncoderLayer(size, heads, wide, 0., act, 1e-5, True, first),
        (n, length, size), steps("self_attn.") + linear("linear1") + linear("linear2") + linear("norm1") + linear("norm2"),
        True)
from torchvision.models import vision_transformer
for n, length, size, heads, wide in ((2, 4, 6, 2, 5), (1, 10, 16, 4, 24)):
    norm_of = lambda c: nn.LayerNorm(c, eps=1e-6)
    block("encoder_block", "num_heads=%d mlp_dim=%d" % (heads, wide), vision_transformer.EncoderBlock(
        heads, size, wide, 0., 0., norm_of), (n, length, size),
        linear("ln_1") + steps("self_attention.") + linear("ln_2") + linear("mlp.0") + linear("mlp.3"), True)
for shape, size, p in (((2, 3, 4, 6), 5, 2), ((1, 1, 3, 6), 8, 3)):
    add("patch_embedding", "embed_dim=%d patch_size=%d" % (size, p),
        {0: f32(*shape), 1: f32(size, shape[1], p, p), 2: f32(size)},
        lambda t: F.conv2d(t[0], t[1], t[2], p).flatten(2).transpose(1, 2), grads=(0, 1, 2))
for shape, index in (((2, 3, 5), -1), ((1, 4, 7), 0), ((3, 2, 1), 1)):
    add("select", "index=%d" % index, {0: f32(*shape)}, lambda t: t[0][:, index], grads=(0,))
    add("class_token", "", {0: f32(*shape), 1: f32(1, 1, shape[2])},
        lambda t: torch.cat([t[1].expand(shape[0], -1, -1), t[0]], 1), grads=(0, 1))
    add("position_embedding", "", {0: f32(*shape), 1: f32(1, *shape[1:])}, lambda t: t[0] + t[1], grads=(0, 1))
for shape in ((2, 3, 6), (1, 17, 4)):
    def waves(t):
        rate = torch.exp(torch.arange(0, shape[2], 2, dtype=t[0].dtype) * (-np.log(1e4) / shape[2]))
        angle = torch.arange(shape[1], dtype=t[0].dtype)[:, None] * rate
        return t[0] + torch.stack([angle.sin(), angle.cos()], 2).reshape(shape[1:])
    add("sinusoidal_positions", "", {0: f32(*shape)}, waves, grads=(0,))
for shape, n, size, pad in (((2, 5), 6, 3, -1), ((9,), 4, 7, -1), ((3, 20), 5, 2, 2)):
    add("embedding", "num_embeddings=%d embedding_dim=%d padding_idx=%d" % (n, size, pad),
        {0: rng.integers(0, n, shape).astype(np.int64), 1: f32(n, size)},
        lambda t: F.embedding(t[0], t[1], pad if pad >= 0 else None), grads=(1,))

# ---- losses ----
def one_hot(t, x):
    return t if t.dtype.is_floating_point else F.one_hot(t, x.shape[1]).to(x.dtype)


def focal(x, t, w, gamma, ignore):
    """PyTorch has none: the formula, and autograd."""
    keep = t != ignore
    log_p = F.log_softmax(x, 1)[keep].gather(1, t[keep][:, None])[:, 0]
    w = torch.ones(x.shape[1], dtype=x.dtype) if w is None else w
    return (-w[t[keep]] * (1 - log_p.exp()) ** gamma * log_p).mean()


def weighted(fn, reduction):
    """PyTorch has no weight of columns here: it is written out."""
    def run(t):
        target = one_hot(t[1], t[0])
        value = fn(t[0], target) * t.get(2, torch.ones((), dtype=t[0].dtype))
        return {"mean": value.mean, "sum": value.sum, "batchmean": lambda: value.sum() / value.shape[0]}[reduction]()
    return run


for shape, hard, w, reduction in (((5, 7), False, False, "mean"), ((4, 3), True, True, "sum"), ((2, 3, 4), False, False, "mean"),
                                  ((9, 40), True, False, "mean"), ((3, 5), False, True, "mean")):
    c = shape[-1]
    target = rng.integers(0, shape[1], shape[0]).astype(np.int64) if hard else f32(*shape)
    share = target if hard else rng.uniform(0, 1, shape).astype(np.float32)
    inputs = {0: f32(*shape, scale=2), 1: target}
    shares = {0: f32(*shape, scale=2), 1: share}
    odds = {0: rng.uniform(.01, .99, shape).astype(np.float32), 1: share}
    if w:
        inputs[2] = shares[2] = odds[2] = rng.uniform(.5, 2, c).astype(np.float32)
    r = "reduction=" + reduction
    add("mse_loss", r, inputs, weighted(lambda x, t: F.mse_loss(x, t, reduction="none"), reduction), grads=(0,))
    add("l1_loss", r, inputs, weighted(lambda x, t: F.l1_loss(x, t, reduction="none"), reduction), grads=(0,))
    for beta in (1, .3):
        add("smooth_l1_loss", r + " beta=%g" % beta, inputs,
            weighted(lambda x, t: F.smooth_l1_loss(x, t, reduction="none", beta=beta), reduction), grads=(0,))
        add("huber_loss", r + " delta=%g" % beta, inputs,
            weighted(lambda x, t: F.huber_loss(x, t, reduction="none", delta=beta), reduction), grads=(0,))
    add("bce_loss", r, odds, lambda t: F.binary_cross_entropy(t[0], one_hot(t[1], t[0]), t.get(2), reduction=reduction),
        grads=(0,))
    add("bce_with_logits_loss", r, shares, lambda t: F.binary_cross_entropy_with_logits(
        t[0], one_hot(t[1], t[0]), pos_weight=t.get(2), reduction=reduction), grads=(0,))
    for red in (reduction, "batchmean"):
        add("kl_div_loss", "reduction=" + red, {0: np.log(odds[0]), 1: share} | ({2: shares[2]} if w else {}),
            weighted(lambda x, t: F.kl_div(x, t, reduction="none"), red), grads=(0,))
    if not hard:
        add("kl_div_loss", r + " log_target=true", {0: np.log(odds[0]), 1: np.log(odds[0][::-1].copy())},
            lambda t: F.kl_div(t[0], t[1], reduction=reduction, log_target=True), grads=(0,))
for n, c, weighted_, ignore in ((5, 7, False, -100), (8, 3, True, 1), (1, 2, True, -100), (30, 11, False, 4)):
    inputs = {0: np.log(rng.uniform(.01, 1, (n, c))).astype(np.float32), 1: rng.integers(0, c, n).astype(np.int64)}
    if weighted_:
        inputs[2] = rng.uniform(.5, 2, c).astype(np.float32)
    add("nll_loss", "ignore_index=%d" % ignore, inputs, lambda t: F.nll_loss(t[0], t[1], t.get(2), ignore_index=ignore),
        grads=(0,))
    for gamma in (2, 1, .5):
        add("focal_loss", "gamma=%g ignore_index=%d" % (gamma, ignore), inputs,
            lambda t: focal(t[0], t[1], t.get(2), gamma, ignore), grads=(0,))
    add("cross_entropy", "ignore_index=%d label_smoothing=0.1" % ignore, inputs, lambda t: F.cross_entropy(
        t[0], t[1], t.get(2), ignore_index=ignore, label_smoothing=.1), grads=(0,))
    for smooth in (0, .1):
        soft = rng.dirichlet(np.ones(c), n).astype(np.float32)
        add("cross_entropy", "label_smoothing=%g" % smooth, inputs | {1: soft},
            lambda t: F.cross_entropy(t[0], t[1], t.get(2), label_smoothing=smooth), grads=(0,))

write("layers.bin")

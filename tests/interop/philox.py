"""Our counter-based random numbers (engine/base/philox.c), so that large inputs need no large files."""
import numpy as np


def philox(seed, stream, step, n):
    """Elements 0..n-1 of (seed, stream, step) as uint32."""
    index = np.arange((n + 3) // 4, dtype=np.uint64)
    mask = np.uint64(0xFFFFFFFF)
    c = [index & mask, np.uint64(stream) ^ (((index >> np.uint64(32)) * np.uint64(0x9E3779B9)) & mask),
         np.full_like(index, step & 0xFFFFFFFF), np.full_like(index, step >> 32)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & mask, (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1),
             p0 & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, 1).reshape(-1)[:n].astype(np.uint32)


def numbers(seed, stream, step, n):
    """Uniform in [-1, 1), float32."""
    u = (philox(seed, stream, step, n) >> np.uint32(8)).astype(np.float32) * np.float32(2.0 ** -24)
    return np.float32(2) * u - np.float32(1)

#!/usr/bin/env python3
"""Speed and memory against PyTorch 2, side by side: every program lives through the whole comparison of a network and
takes its turn in interleaved rounds, so that a busy moment of the machine hits all of them. Medians are compared.

  bench.py [--quick] [--json] [--threads N] [--rounds N] [--only NAME,NAME] [--no-compile] [--cpu]

Names: mlp, simplecnn, ..., and infer-simplecnn-1 and so on. --cpu: one thread, processor time of each
process instead of the clock, for a machine that others use too. $NETWRIGHT_BUILD: the build folder."""
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get('NETWRIGHT_BUILD', 'build')
PYTHON = os.path.join(os.environ.get('XDG_CACHE_HOME', os.path.expanduser('~/.cache')), 'netwright/peers/bin/python3')
# name: (network, batch, inference, steps a round, wanted ratio by instruction set)
CASES = {
    'mlp': ('mlp', 128, False, 20, {'avx512': 1.4, 'avx2': 1.3}),
    'simplecnn': ('simplecnn', 64, False, 10, {'avx512': 1.7, 'avx2': 2.0}),
    'lenet': ('lenet', 64, False, 20, {'avx512': 1.8, 'avx2': 1.7}),
    'simpleclassifier': ('simpleclassifier', 32, False, 2, {'avx512': 1.6, 'avx2': 1.7}),
    'resnet18': ('resnet18', 16, False, 1, {'avx512': 1.1, 'avx2': 1.4}),
    'infer-simplecnn-1': ('simplecnn', 1, True, 200, {'avx512': 2.5, 'avx2': 2.0}),
    'infer-simplecnn-64': ('simplecnn', 64, True, 20, {'avx512': 1.3, 'avx2': 1.5}),
    'infer-resnet18-1': ('resnet18', 1, True, 5, {'avx512': 1.3, 'avx2': 1.6}),
    'infer-resnet18-64': ('resnet18', 64, True, 1, {'avx512': 1.0, 'avx2': 1.4}),
}
TRAIN = ['default', 'tuned', 'tuned-cl', 'compile', 'compile-cl']
INFER = ['default', 'freeze', 'freeze-cl', 'compile', 'compile-cl']
MALLOC = {'MALLOC_MMAP_THRESHOLD_': '4000000000', 'MALLOC_TRIM_THRESHOLD_': '8000000000', 'MALLOC_TOP_PAD_': '268435456'}


class Program:
    """One side in one variant."""

    def __init__(self, name, command, environment):
        self.name, self.times = name, []
        clean = {k: v for k, v in os.environ.items() if k not in ('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE')}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env={**clean, **environment})

    def ask(self, line):
        try:
            self.process.stdin.write(line + '\n')
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ''
        return json.loads(answer) if answer.strip() else None

    def end(self):
        try:
            self.process.communicate('quit\n', timeout=20)
        except (subprocess.TimeoutExpired, BrokenPipeError, ValueError):
            self.process.kill()
            self.process.wait()


def option(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def programs_of(case, threads, compiled):
    net, batch, infer, _, _ = CASES[case]
    tail = (['--infer'] if infer else []) + (['--cpu'] if '--cpu' in sys.argv else []) + ['--threads', threads]
    ours = [os.path.join(BUILD, 'tests/bench/bench-net'), net, str(batch), '--serve'] + tail
    yield Program('ours', ours, {})
    for variant in INFER if infer else TRAIN:
        if variant.startswith('compile') and not compiled:
            continue
        if net == 'mlp' and variant.endswith('-cl'):
            continue
        environment = {'OMP_NUM_THREADS': threads, **({} if variant == 'default' else MALLOC)}
        yield Program(variant, [PYTHON, os.path.join(HERE, 'peer.py'), net, str(batch), variant] + tail, environment)


def compare(case, threads, compiled, rounds):
    steps = CASES[case][3]
    programs = []
    for program in programs_of(case, threads, compiled):  # one after the other: first steps must not disturb each other
        program.info = program.ask('info')
        if program.info is None or program.ask('run %d' % max(1, steps // 2)) is None:
            print('%s: %s does not run here and is left out' % (case, program.name), file=sys.stderr)
            program.end()
        else:
            programs.append(program)
    for _ in range(rounds):
        for program in programs:
            program.times += program.ask('run %d' % steps)
    for program in programs:
        program.info = program.ask('info')
        program.end()
        program.median = statistics.median(program.times)
    ours, peers = programs[0], programs[1:]
    if ours.name != 'ours' or not peers:
        raise SystemExit('%s: there is nothing to compare' % case)
    best = min(peers, key=lambda peer: peer.median)
    return {'name': case, 'unit': 'ms', 'ours': ours.median, 'peers': {p.name: p.median for p in peers},
            'ratio': best.median / ours.median, 'wanted': CASES[case][4].get(ours.info['isa']), 'best': best.name,
            'isa': ours.info['isa'], 'first_ms': {p.name: p.info['first_ms'] for p in programs},
            'rss_mb': {p.name: p.info['rss_mb'] for p in programs},
            'growth_mb': {p.name: p.info['rss_mb'] - p.info['bare_mb'] for p in programs},
            'smallest_rss_ratio': min(p.info['rss_mb'] for p in peers) / ours.info['rss_mb'],
            'torch': peers[0].info['version']}


def row(cells):
    print('| ' + ' | '.join(cells) + ' |', flush=True)


def show(result, head):
    variants = ['default', 'tuned', 'tuned-cl', 'freeze', 'freeze-cl', 'compile', 'compile-cl']
    if head:
        row(['CPU ms, median' if '--cpu' in sys.argv else 'ms, median', 'ours'] + variants + ['ratio to best', 'wanted', 'first step: ours / best torch',
                                                  'peak MB: ours / best torch', 'growth MB: ours / best torch'])
        row(['---'] * (len(variants) + 7))
    peers = result['peers']
    best = result['best']

    def number(value):
        return '%.3g' % value if value < 100 else '%.0f' % value
    row([result['name'], '**%s**' % number(result['ours'])] + [number(peers[v]) if v in peers else '–' for v in variants] +
        ['**%.2f**' % result['ratio'], '–' if result['wanted'] is None else '%.1f' % result['wanted'],
         '%s / %s' % (number(result['first_ms']['ours']), number(result['first_ms'][best])),
         '%.0f / %.0f' % (result['rss_mb']['ours'], result['rss_mb'][best]),
         '%.0f / %.0f' % (result['growth_mb']['ours'], result['growth_mb'][best])])


def main():
    quick = '--quick' in sys.argv
    if not os.path.exists(PYTHON):
        raise SystemExit('PyTorch is not installed: run %s once' % os.path.join(HERE, 'install-peers'))
    threads = '1' if '--cpu' in sys.argv else option('--threads', str(len(os.sched_getaffinity(0))))
    rounds = int(option('--rounds', '5' if quick else '9'))
    names = option('--only', 'simplecnn' if quick else ','.join(CASES)).split(',')
    for at, name in enumerate(names):
        result = compare(name, threads, not quick and '--no-compile' not in sys.argv, rounds)
        if at == 0 and '--json' not in sys.argv:
            cpu = [line.split(':')[1].strip() for line in open('/proc/cpuinfo') if line.startswith('model name')]
            print('%s, %s threads, %s; PyTorch %s\n' % (cpu[0] if cpu else '?', threads, result['isa'], result['torch']))
        if '--json' in sys.argv:
            print(json.dumps(result), flush=True)
        else:
            show(result, at == 0)


main()

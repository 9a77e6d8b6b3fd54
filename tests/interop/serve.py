#!/usr/bin/env python3
"""serve.py: runs the checks of this folder one after the other in one process, because importing torch takes seconds. A line
of standard input is a check's name and words, tabs between; the answer is a line "ok N" or "failed N" and N bytes: what
the check printed."""
import contextlib
import io
import os
import runpy
import sys
import traceback

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
answers = sys.stdout.buffer
for line in sys.stdin:
    name, *words = line.rstrip("\n").split("\t")
    printed, fine = io.StringIO(), True
    sys.argv = [os.path.join(here, name), *words]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        fine = not end.code
        if not fine:
            print(end.code, file=printed)
    except BaseException:
        traceback.print_exc(file=printed)
        fine = False
    text = printed.getvalue().encode()
    answers.write(b"%s %d\n" % (b"ok" if fine else b"failed", len(text)) + text)
    answers.flush()

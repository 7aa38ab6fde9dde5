#!/usr/bin/env python3
"""Change points of other tools on the same series, and the CPU time that they took.

Reads a JSON list of lists of numbers (null for none) from standard input, prints
{"tool": {"points": [[index, ...], ...], "seconds": ...}}. Needs `pip install apache-otava asv`.
"""

import json
import math
import sys
import time


def asv_points(values):
    # detect_regressions' own threshold: a step counts from 5 %.
    steps = detect_steps([math.nan if v is None else v for v in values])
    pairs = zip(steps, steps[1:])
    return [b[0] for a, b in pairs if abs(b[2] - a[2]) > 0.05 * abs(a[2])]


def otava_points(values):
    kept = [(i, v) for i, v in enumerate(values) if v is not None]
    if len(kept) < 3:
        return []
    points, _ = compute_change_points([v for _, v in kept], window_len=50, max_pvalue=0.001)
    return [kept[point.index][0] for point in points]


def timed(tool, series):
    begin = time.process_time()
    points = [tool(values) for values in series]
    return {"points": points, "seconds": time.process_time() - begin}


series = json.load(sys.stdin)
found = {}
try:
    from otava.analysis import compute_change_points

    found["apache-otava"] = timed(otava_points, series)
except ImportError as error:
    print(f"rivals: {error}", file=sys.stderr)
try:
    from asv.step_detect import detect_steps

    found["asv"] = timed(asv_points, series)
except ImportError as error:
    print(f"rivals: {error}", file=sys.stderr)
json.dump(found, sys.stdout)

"""Rates with their intervals, and what was measured on, of tests/power/power.py."""
import math


def wilson(hits, total):
    """Wilson's 95 % interval, as verify/selftest/rates.h has it."""
    if total == 0:
        return 0.0, 1.0
    rate, z2 = hits / total, 1.96 * 1.96
    centre = rate + z2 / (2 * total)
    half = 1.96 * math.sqrt(rate * (1 - rate) / total + z2 / (4 * total * total))
    low = 0.0 if hits == 0 else max(0.0, (centre - half) / (1 + z2 / total))
    high = 1.0 if hits == total else min(1.0, (centre + half) / (1 + z2 / total))
    return low, high


def percent(hits, total):
    low, high = wilson(hits, total)
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def made_on(part):
    program = part["program"]
    return f"On {program['cpu']}, program `{program['digest'][:12]}`."

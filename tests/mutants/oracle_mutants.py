#!/usr/bin/env python3
"""Breaks the judge on purpose and demands that its unit tests notice.

Each mutant replaces one piece of text in one source of the oracle, the
envelopes or the probes. The file alone is compiled again, linked in front of
the libraries with the objects of oracle_test, and run: a run that passes is a
survivor, and this script fails. A text that is no longer found, or that stands
there more than once, fails too: a mutant never disappears silently.
"""

import argparse
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

V = "verify/envelope.cc"
J = "verify/envelope_judge.cc"
M = "verify/envelope_model.cc"
P = "verify/probes.cc"
O = "verify/oracle/attention_forward.cc"
S = "verify/oracle/visibility.cc"

# name, source, text, replacement
MUTANTS = (
    # Comparers.
    ("comparison_flipped", J, "if (!bounds.allowed.Contains(x)) {",
     "if (bounds.allowed.Contains(x)) {"),
    ("nan_passes", J, "if (!bounds.allowed.Contains(x)) {",
     "if (x < bounds.allowed.lo || x > bounds.allowed.hi) {"),
    ("one_sided_below", J, "if (!bounds.allowed.Contains(x)) {",
     "if (!(x <= bounds.allowed.hi || (x != x && bounds.allowed.nan))) {"),
    ("one_sided_above", J, "if (!bounds.allowed.Contains(x)) {",
     "if (!(x >= bounds.allowed.lo || (x != x && bounds.allowed.nan))) {"),
    ("sign_ignored", J, "if (!bounds.allowed.Contains(x)) {",
     "if (!bounds.allowed.Contains(x) && !bounds.allowed.Contains(-x)) {"),
    ("outside_not_counted", J, "++result_.outside;", ""),
    ("first_row_only", J, "r < count; ++r) {", "r < 1 && r < count; ++r) {"),
    ("last_row_skipped", J, "r < count; ++r) {", "r + 1 < count; ++r) {"),
    ("first_channel_only", J, "for (int64_t c = 0; c < channels; ++c) {",
     "for (int64_t c = 0; c < 1; ++c) {"),
    ("sample_at_wrong_place", J, "rows != nullptr ? (*rows)[r] :",
     "rows != nullptr ? static_cast<int64_t>(r) :"),
    ("heads_swapped", J, "row / shape[2] % shape[1],",
     "shape[1] - 1 - row / shape[2] % shape[1],"),
    ("everything_unbounded", J, "bounds.allowed.Unbounded()",
     "!bounds.allowed.Unbounded()"),
    ("lse_never_outside", J,
     "envelope.Lse(truth, r, &shares));",
     "{{-HUGE_VAL, HUGE_VAL, true}, {}, 0, 0, 0});"),
    # Rounding of the ends.
    ("ends_not_rounded", V, "const double rounded = whole * unit;",
     "const double rounded = x;"),
    ("half_up", V, "std::nearbyint(steps)", "std::floor(steps + 0.5)"),
    ("through_f32", V, "const double steps = x / unit;",
     "const double steps = static_cast<float>(x) / unit;"),
    ("no_overflow", V, "return std::copysign(kInf, rounded);",
     "return std::copysign(Largest(lane), rounded);"),
    ("no_subnormals", V, "std::max(std::ilogb(x), -126)", "std::ilogb(x)"),
    ("nan_bound_is_empty", V, "if (!(lo <= hi)) return kAnything;", ""),
    ("faithful_is_nearest", V, "if (rounding == Rounding::kFaithful) {",
     "if (false) {"),
    ("truncation_away_from_zero", V,
     "down = lo < 0 ? Direction::kUp : Direction::kDown;",
     "down = Direction::kDown;"),
    # Envelopes.
    ("tolerance_doubled", V,
     "(before + divided + 2 * model_.tiny + model_.flush) * kRoundUp;",
     "2 * (before + divided + 2 * model_.tiny + model_.flush);"),
    ("tolerance_ignored", V,
     "(before + divided + 2 * model_.tiny + model_.flush) * kRoundUp;",
     "kInf;"),
    ("tolerance_zero", V,
     "(before + divided + 2 * model_.tiny + model_.flush) * kRoundUp;", "0;"),
    ("tolerance_absolute", V,
     "(before + divided + 2 * model_.tiny + model_.flush) * kRoundUp;",
     "1e-2;"),
    ("weights_term_missing", V, "(from_weights + from_numerator +",
     "(from_numerator +"),
    ("numerator_term_missing", V, "(from_weights + from_numerator +",
     "(from_weights +"),
    ("division_term_missing", V,
     "const double divided = (size + before) * model_.division;",
     "const double divided = 0;"),
    ("nan_row_unjudged", V,
     "return profile_.nan == NanPolicy::kUnspecified;", "return true;"),
    ("empty_row_unjudged", V,
     "return profile_.empty_row == EmptyRow::kMeanVisited ||",
     "return profile_.empty_row != EmptyRow::kMeanVisited ||"),
    ("likely_is_allowed", V, "likely = std::min(error,",
     "likely = std::max(2 * error,"),
    ("lse_too_wide", V, "(sum + rounding + fixed + function + model_.flush)",
     "(1 + sum + rounding + fixed + function + model_.flush)"),
    ("lse_too_narrow", V, "(sum + rounding + fixed + function + model_.flush)",
     "0.0 * (sum + rounding + fixed + function + model_.flush)"),
    # What the profile says.
    ("p_ignored", M, "m_.numerator_weight = u;", "m_.numerator_weight = 0;"),
    ("p_squared", M, "m_.numerator_weight = u;",
     "m_.numerator_weight = u * u;"),
    ("tanh_ignored", M, "p_.tanh_rel + kU);", "kU);"),
    ("exp_ignored", M, "const double exp = p_.exp_rel + kU * 1.5;",
     "const double exp = kU;"),
    ("dot_ignored", M,
     "Add(kProduct, Cause::kAccQk, Gamma(steps.count, steps.unit));", ""),
    ("state_ignored", M, "Gamma(rescales + 1, state)", "0"),
    ("gamma_unguarded", M, "return x < 0.5 ? x / (1 - x) : kInf;",
     "return x / (1 - x);"),
    ("score_type_ignored", M, "Add(kScorePart, Cause::kScore, rounded);", ""),
    # Probes.
    ("probe_sum_of_all", P,
     "prefix[static_cast<size_t>(run.begin) * width + c]", "0"),
    ("probe_slack_huge", P, "low = 0x1p-21 +", "low = 1 +"),
    ("probe_split_for_all", P,
     "if (profile.normalise == Normalise::kEager || profile.splits != 1) {",
     "{"),
    ("probe_always_applies", P, "return \"the profile's sums are not in f32\";",
     'return "";'),
    ("probe_small_cap_applies", P,
     'return rest < 0x1p-20 ? ""', 'return rest < 1e300 ? ""'),
    # The oracle.
    ("mask_inverted", S, "if (dense(db, dh, i, j) != 0)",
     "if (dense(db, dh, i, j) == 0)"),
    ("segments_ignored", S, "if (!problem_.segments) return keys;",
     "return keys;"),
    ("valid_keys_ignored", S, "Range(0, inputs_.ValidKv(problem_, b))",
     "Range(0, problem_.kv_len)"),
    ("causal_off_by_one", S, "return Range(0, position + 1);",
     "return Range(0, position);"),
    ("chunk_early", S, "Range(ChunkStart(position, mask.chunk),",
     "Range(ChunkStart(position + 1, mask.chunk),"),
    ("sink_not_added", O, "sums->weight += p;", ""),
    ("sink_not_in_phi", O,
     "truth->phi_sum[place * dv + c] += phi * std::fabs(o[c]);", ""),
    ("kv_head_modulo", O, "flat % problem.q_heads / problem.group();",
     "flat % problem.q_heads % problem.kv_heads;"),
    ("all_minus_inf_is_empty", O, "(row.visible > 0 && row.max == -kInf);",
     "false;"),
    ("special_values_ignored", O, "if (std::isfinite(v[c])) continue;",
     "continue;"),
    ("rescales_ignored", O, "m.constant += row.rescales * m.rescale;", ""),
)


def mutate(args, commands, mutant):
    """Returns None if the mutant was killed, else why it was not."""
    name, source, text, replacement = mutant
    path = os.path.join(args.root, source)
    with open(path, encoding="utf-8") as file:
        code = file.read()
    found = code.count(text)
    if found != 1:
        return f"{name}: the text stands {found} times in {source}"
    work = os.path.join(args.build, "oracle_mutants", name)
    os.makedirs(work, exist_ok=True)
    broken = os.path.join(work, "broken.cc")
    with open(broken, "w", encoding="utf-8") as file:
        file.write(code.replace(text, replacement))
    command = shlex.split(commands[path])
    if "ccache" in command[0]:
        command = command[1:]
    command = [broken if os.path.realpath(word) == path else word
               for word in command]
    command[command.index("-o") + 1] = broken + ".o"
    # The mutant leaves unused names behind.
    command += ["-w", "-O1"]
    compiled = subprocess.run(command, cwd=args.build, capture_output=True,
                              text=True, check=False)
    if compiled.returncode != 0:
        return f"{name}: does not compile: {compiled.stderr[:400]}"
    program = os.path.join(work, "test")
    link = [args.compiler, *args.objects, broken + ".o", *args.libraries,
            "-fopenmp", "-lpthread", "-o", program]
    linked = subprocess.run(link, capture_output=True, text=True, check=False)
    if linked.returncode != 0:
        return f"{name}: does not link: {linked.stderr[:400]}"
    environment = dict(os.environ, GTEST_FAIL_FAST="1", GTEST_BRIEF="1")
    try:
        ran = subprocess.run([program], cwd=args.root, env=environment,
                             capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        ran = None
    for leftover in (broken + ".o", program):
        os.remove(leftover)
    if ran is not None and ran.returncode == 0:
        return f"{name}: survived"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--objects", required=True, nargs="+")
    parser.add_argument("--libraries", required=True, nargs="+")
    parser.add_argument("--only", help="one mutant")
    args = parser.parse_args()
    args.root = os.path.realpath(args.root)
    args.objects = [x for word in args.objects for x in word.split(";")]
    args.libraries = [x for word in args.libraries for x in word.split(";")]
    with open(os.path.join(args.build, "compile_commands.json"),
              encoding="utf-8") as file:
        commands = {os.path.realpath(entry["file"]): entry["command"]
                    for entry in json.load(file)}
    chosen = [m for m in MUTANTS if args.only in (None, m[0])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda m: mutate(args, commands, m), chosen))
    alive = [answer for answer in answers if answer]
    for answer in alive:
        print(answer)
    print(f"{len(chosen) - len(alive)} of {len(chosen)} oracle mutants killed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())

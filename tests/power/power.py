#!/usr/bin/env python3
"""Writes docs/power.md, the judge measured, from data/power.json.

  tests/power/power.py collect RECEIPT...   adds results of runs to data/power.json
  tests/power/power.py page [--check]       writes the page; --check: is it that page?

A RECEIPT is the JSON of `lockstep selftest`, of `lockstep-power` (dials with --curves,
statistics, naming or identify) or of tests/power/causes_catalogue.py. Counts of correct kernels add
up over runs of one program, told by its digest, whose seeds differ; a second run
with one seed is refused. Bugs that `naming` tried add up over runs of one program,
too: --only takes a part of them. Rows of `identify`, of which --op and --lengths take a part,
each name their program. Other results replace those that were there.
"""
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from power_identify import asked_by, asked_with, identify_text
from power_rates import made_on, percent, wilson
from power_rows import folded, unfolded

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "data" / "power.json"
PAGE = ROOT / "docs" / "power.md"
RULES = ["allclose", "nmse", "baseline3x", "cosine", "max_ulp"]


def key_of(run):
    return (run["kind"], run["program"]["digest"], run["seed"],
            tuple(op["op"] for op in run.get("zoo", [])))


def alarms_of(result):
    return [f"{alarm['variant']} on `{alarm['case']}`" for alarm in result["alarms"]]


def reduced(result):
    """What the page needs of a result: a list of (part, contents)."""
    kind = result["kind"]
    program = {name: result["program"][name] for name in ("digest", "cpu")}
    if kind == "selftest_statistics":
        names = ("seed", "kernels", "cases", "rows", "tests", "alarmed", "stated_rate",
                 "seconds")
        return [("runs", {"kind": "statistics", "program": program,
                          "alarms_at": alarms_of(result),
                          **{name: result[name] for name in names}})]
    if kind == "selftest_naming":
        names = ("bug", "keys", "lse", "asked", "rank", "first", "proved", "seconds", "case")
        return [("naming", {"program": program,
                            "bugs": [{name: bug[name] for name in names}
                                     for bug in result["bugs"]]})]
    if kind == "selftest_identify":
        return [("identify", asked_by(result, program))]
    if kind == "selftest_dials":
        return [("curves", {"program": program, "rows": result["curves"]})]
    if kind == "causes":
        return [("causes_" + result["of"],
                 {"program": program, "found": result["found"],
                  "not_shown": result["not_shown"]})]
    parts = [("runs", {"kind": "zoo", "program": program, "seed": result["seed"],
                       "seconds": result["zoo_seconds"], "zoo": result["zoo"],
                       "alarms_at": alarms_of(result)})]
    if result["kills"]:
        rows = [{name: kill[name] for name in
                 ("mutant", "family", "tiers", "rules", "cases", "seconds")}
                for kill in result["kills"]]
        parts.append(("kills", {"program": program, "rows": rows, "rules_rejecting_correct":
                                result["rules_rejecting_correct"]}))
    return parts


def place_of(bug):
    return bug["keys"], not bug["lse"], not bug["asked"]


def with_bugs_of(before, naming):
    """Both, where one program tried them; a bug that is in both is the later one's."""
    if not before or before["program"]["digest"] != naming["program"]["digest"]:
        return naming
    bugs = {(place_of(bug), bug["bug"]): bug for bug in before["bugs"] + naming["bugs"]}
    return {**naming, "bugs": [bugs[key] for key in sorted(bugs)]}


def collect(data, results):
    for result in results:
        for part, contents in reduced(result):
            if part == "naming":
                contents = with_bugs_of(data.get(part), contents)
            if part == "identify":
                contents = asked_with(data.get(part), contents)
            if part != "runs":
                data[part] = contents
                continue
            runs = data.setdefault("runs", [])
            if key_of(contents) in map(key_of, runs):
                raise ValueError(f"a run of {contents['kind']} with seed {contents['seed']} "
                                 "by this program is there already: it adds nothing")
            runs.append(contents)
    return data


def family_of(kill):
    name, family = kill["mutant"].split(".")[0], kill["family"]
    return family if name == "plan" else f"{name}: {family}"


def kills_text(part):
    families = {}
    for kill in part["rows"]:
        families.setdefault(family_of(kill), []).append(kill)
    text = ("## Known bugs\n\n"
            "The tiers that prove judged each bug of the catalogue ([mutants.md](mutants.md)) on its\n"
            "smallest case and variations of that case. The interval is Wilson's at 95 %. Cases and\n"
            "milliseconds count up to the first proof.\n\n"
            "| bugs | killed | interval | cases, median | most | ms, median | most |\n"
            "|---|---|---|---|---|---|---|\n")
    everything = sorted(families.items()) + [("all", part["rows"])]
    for family, rows in everything:
        killed = [row for row in rows if row["tiers"]]
        cases = [row["cases"] for row in killed] or [0]
        seconds = [row["seconds"] for row in killed] or [0]
        text += (f"| {family} | {len(killed)} of {len(rows)} | "
                 f"{percent(len(killed), len(rows))} | {statistics.median(cases):g} | "
                 f"{max(cases)} | {1000 * statistics.median(seconds):.2f} | {1000 * max(seconds):.1f} |\n")
    survivors = [row["mutant"] for row in part["rows"] if not row["tiers"]]
    return text + "\nSurvivors: " + (", ".join(survivors) or "none") + f". {made_on(part)}\n"


def rules_text(part):
    rows = [row for row in part["rows"] if row["mutant"].startswith("attn.")]
    text = ("## Other rules on the same cases and the same bugs\n\n"
            "These are the bugs of attention in a bf16 flash kernel, on the ordinary cases of\n"
            "`data/cases/selftest.cases`: random data, no probes. *Envelope* is what Lockstep "
            "proves on\nthese cases alone, and *Lockstep* is what it proves with probes, sequences "
            "and bits. If a rule\nalso rejects a correct kernel, its rejection of a wrong one "
            "proves nothing.\n\n"
            "| rule | finds | interval | a correct flash kernel |\n|---|---|---|---|\n")
    for rule in RULES:
        hits = sum(rule in row["rules"] for row in rows)
        wrong = rule in part["rules_rejecting_correct"]
        text += (f"| {rule} | {hits} of {len(rows)} | {percent(hits, len(rows))} | "
                 f"{'rejected' if wrong else 'accepted'} |\n")
    for name, hits in (("envelope", sum("ordinary" in row["tiers"] for row in rows)),
                       ("Lockstep", sum(bool(row["tiers"]) for row in rows))):
        text += f"| {name} | {hits} of {len(rows)} | {percent(hits, len(rows))} | accepted |\n"
    return text


def curve_cell(point):
    hits, total = point["found"], point["cases"]
    if total == 0:
        return ""
    low, high = wilson(hits, total)
    own = "" if point["found_on_own_inputs"] == hits else "*"
    return f"{100 * hits / total:.0f}{own} ({100 * low:.0f}-{100 * high:.0f})"


def curves_text(part):
    text = ("## How severe a bug must be\n\n"
            "The table counts the cases in which at least one setting of the dial changes a bit of the\n"
            "answer. A cell is the percentage of these that are proved wrong at its setting, with "
            "Wilson's\n95 % interval. `*` says that some are proved only on a probe's inputs. "
            "The bugs are those of\nattention in a bf16 flash kernel, on the ordinary cases with "
            "new data each time. A larger\ncount (of keys, rescales and so on) is a worse bug, "
            "and so are fewer bits of precision.\n")
    scales = {}
    for curve in part["rows"]:
        scales.setdefault(tuple(p["setting"] for p in curve["points"]), []).append(curve)
    for scale, curves in scales.items():
        text += ("\n| bug | dial | cases | " + " | ".join(map(str, scale)) + " |\n" +
                 "|---" * (len(scale) + 3) + "|\n")
        for curve in curves:
            cells = [curve_cell(point) for point in curve["points"]]
            text += (f"| {curve['mutant']} | {curve['dial']} | {curve['points'][0]['cases']} | "
                     + " | ".join(cells) + " |\n")
    return text + f"\n{made_on(part)}\n"


def by_digest(runs):
    groups = {}
    for run in runs:
        groups.setdefault(run["program"]["digest"], []).append(run)
    return groups.values()


def alarm_row(runs, cases, alarms):
    program = runs[0]["program"]
    return (f"| `{program['digest'][:12]}` | {len(runs)} | {max(cases):,} | {sum(cases):,} | "
            f"{alarms} | {wilson(alarms, sum(cases))[1]:.1e} | "
            f"{sum(run['seconds'] for run in runs) / 60:.0f} | {program['cpu']} |\n")


def alarms_at(runs):
    """The first alarms of each program: later programs may have been mended."""
    text = ""
    for run in runs:
        for alarm in run["alarms_at"]:
            text += f"- program `{run['program']['digest'][:12]}`: {alarm}\n"
    return "\nAlarms, which later programs may not have:\n\n" + text if text else ""


HEAD = ("| program | runs | cases, largest run | all | alarms | rate at most | minutes | CPU |\n"
        "|---|---|---|---|---|---|---|---|\n")


def alarms_text(runs):
    zoo = [run for run in runs if run["kind"] == "zoo"]
    nulls = [run for run in runs if run["kind"] == "statistics"]
    text = ("## False alarms\n\nCorrect kernels were judged, each under a true profile. Runs of "
            "one program with\ndifferent seeds add up. The rate is the upper end of Wilson's 95 % "
            "interval. The first table\nis about tiers that prove: one alarm would be a bug of "
            "the judge.\n\n" + HEAD)
    for group in by_digest(zoo):
        cases = [sum(op["cases"] for op in run["zoo"]) for run in group]
        alarms = sum(op["proof_false_alarms"] for run in group for op in run["zoo"])
        text += alarm_row(group, cases, alarms)
    ops = {}
    for run in zoo:
        for op in run["zoo"]:
            row = ops.setdefault(op["op"], [0, 0, 0])
            row[0] = max(row[0], op["variants"])
            row[1] += op["cases"]
            row[2] += op["proof_false_alarms"]
    text += "\n| op | correct kernels | cases | alarms |\n|---|---|---|---|\n"
    for name, (variants, cases, alarms) in [*ops.items(),
                                            ("all", map(sum, zip(*ops.values())))]:
        text += f"| {name} | {variants} | {cases:,} | {alarms} |\n"
    text += alarms_at(zoo)
    if not nulls:
        return text
    text += ("\nThe statistics of errors have a stated rate of false alarms, "
             f"{nulls[0]['stated_rate']:g} per case:\n\n" + HEAD)
    for group in by_digest(nulls):
        text += alarm_row(group, [run["cases"] for run in group],
                          sum(run["alarmed"] for run in group))
    return text + alarms_at(nulls)


def calibration(found):
    """Rows of the table: how often causes stated at a share of the error are right."""
    text = "| stated with | causes | right | interval |\n|---|---|---|---|\n"
    for name, low, high in (("98 % of the error and more: reproduced", 0.98, 2.0),
                            ("90 to 98 %", 0.90, 0.98), ("60 to 90 %", 0.60, 0.90)):
        rows = [row for row in found if low <= row["score"] < high]
        right = sum(row["rank"] == 1 for row in rows)
        text += f"| {name} | {len(rows)} | {right} | {percent(right, len(rows))} |\n"
    return text


def causes_text(part, title, words):
    found = part["found"]
    first = sum(row["rank"] == 1 for row in found)
    three = sum(1 <= row["rank"] <= 3 for row in found)
    text = (f"## {title}\n\n{words}\n\n| | | interval |\n|---|---|---|\n"
            f"| named first | {first} of {len(found)} | {percent(first, len(found))} |\n"
            f"| among the first three | {three} of {len(found)} | "
            f"{percent(three, len(found))} |\n")
    if "one_of_two" in found[0]:
        one = sum(row["one_of_two"] for row in found)
        text += (f"| one of the two is in the first | {one} of {len(found)} | "
                 f"{percent(one, len(found))} |\n")
    text += "\nHow often the first cause is right, by the share of the error that it explains:\n\n" + calibration(found)
    sure = [row for row in found if row.get("proved", row["score"] >= 0.98)]
    right = sum(row["rank"] == 1 for row in sure)
    return text + (f"\nOf the causes stated as certain {100 * right / max(len(sure), 1):.1f} % "
                   f"were right. Not shown by any case: {len(part['not_shown'])}. "
                   f"{made_on(part)}\n")


def naming_row(place, bugs):
    keys, no_lse, exported = place
    first = sum(bug["rank"] == 1 for bug in bugs)
    wrong = sum(bug["proved"] and bug["rank"] != 1 for bug in bugs)
    seconds = [bug["seconds"] for bug in bugs]
    return (f"| {keys} | {'o' if no_lse else 'o, lse'} | "
            f"{'answers from files' if exported else 'asked'} | {len(bugs)} | {first} | "
            f"{percent(first, len(bugs))} | {sum(bug['proved'] for bug in bugs)} | {wrong} | "
            f"{statistics.median(seconds):.2f} | {max(seconds):.2f} |\n")


def naming_text(part):
    places, shown = {}, [bug for bug in part["bugs"] if bug["case"]]
    for bug in shown:
        places.setdefault(place_of(bug), []).append(bug)
    text = ("## The bug that a failing verdict names\n\n"
            "Each bug of attention_forward is planted into a kernel whose arithmetic and tiles differ "
            "from\nthose of the replay. It is judged on the first of some cases of 128 and of 4096 "
            "keys on which\nit fails (`lockstep-power naming`). The kernel either can be asked "
            "for smaller cases, or\nconsists of answers to exported calls. Seconds are CPU time in "
            "addition to the verdict.\n\n"
            "| keys | outputs | the kernel | bugs | named first | interval | stated as certain | "
            "of them wrong | s, median | most |\n|---|---|---|---|---|---|---|---|---|---|\n")
    for place in sorted(places):
        text += naming_row(place, places[place])
    missed = [bug for bug in shown if bug["rank"] != 1]
    if missed:
        text += "\n| not named first | keys | outputs | the kernel | first is |\n|---|---|---|---|---|\n"
    for bug in missed:
        text += (f"| {bug['bug']} | {bug['keys']} | {'o, lse' if bug['lse'] else 'o'} | "
                 f"{'asked' if bug['asked'] else 'answers from files'} | "
                 f"{bug['first'] or 'none'} |\n")
    hidden = {(bug["bug"], bug["keys"]) for bug in part["bugs"]} - {
        (bug["bug"], bug["keys"]) for bug in shown}
    for keys in sorted({keys for _, keys in hidden}):
        names = sorted(bug for bug, of in hidden if of == keys)
        text += f"\nNo case of {keys} keys shows these:\n\n"
        text += "".join(f"- `{name}`\n" for name in names)
    return text + f"\n{made_on(part)}\n"


SINGLE = ("Every bug of the catalogue is planted into a kernel whose arithmetic and tiles differ from\n"
          "those of the replay, on cases that were not made for it\n"
          "(`tests/power/causes_catalogue.py`). Bugs that give the same answers on every similar case\n"
          "count as one.")
PAIRS = ("Two bugs are drawn from the catalogue and planted into one kernel with other arithmetic "
         "and\ntiles (`--pairs`). Only the pair counts as right, not one of its bugs. If one bug "
         "alone\nreproduces the answer of both, the case shows no pair, and another case is taken.")


def page_of(data):
    parts = ["# How good the judge is\n\n`tests/power/power.py page` makes this page from `data/power.json`, "
             "which `tests/power/power.py collect`\nmakes from the output of programs. A test compares "
             "the page with the data. Times were measured\nunder load. [lengths.md](lengths.md) says "
             "which bugs are proved at which length.\n"]
    if "kills" in data:
        parts += [kills_text(data["kills"]), rules_text(data["kills"])]
    if "curves" in data:
        parts.append(curves_text(data["curves"]))
    if "runs" in data:
        parts.append(alarms_text(data["runs"]))
    if "naming" in data:
        parts.append(naming_text(data["naming"]))
    if "identify" in data:
        parts.append(identify_text(data["identify"]))
    if "causes_bugs" in data:
        parts.append(causes_text(data["causes_bugs"], "Causes", SINGLE))
    if "causes_pairs" in data:
        parts.append(causes_text(data["causes_pairs"], "Causes of two bugs at once", PAIRS))
    return "\n".join(parts)


def read(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def stored():
    """The parts of data/power.json."""
    return unfolded(read(DATA)) if DATA.exists() else {}


def text_of(data):
    """The data as JSON, a line for each row of a table, and for each bug."""
    data = folded(data)
    line = lambda value: json.dumps(value, sort_keys=True)
    table = lambda rows: "[\n" + ",\n".join("  " + line(row) for row in rows) + "]"
    rows = lambda value: isinstance(value, list) and all(isinstance(row, dict) for row in value)
    cell = lambda value: table(value) if rows(value) else line(value)

    def part(value):
        if isinstance(value, list):
            return table(value)
        return "{" + ",\n ".join(f"{line(k)}: {cell(v)}" for k, v in sorted(value.items())) + "}"

    return "{\n" + ",\n".join(f"{line(k)}: {part(v)}" for k, v in sorted(data.items())) + "}\n"


def main(words):
    if words[:1] == ["collect"] and len(words) > 1:
        data = collect(stored(), map(read, words[1:]))
        DATA.write_text(text_of(data), encoding="utf-8")
    elif words == ["page"]:
        PAGE.write_text(page_of(stored()), encoding="utf-8")
    elif words == ["page", "--check"]:
        if PAGE.read_text(encoding="utf-8") != page_of(stored()):
            sys.exit("docs/power.md is not what data/power.json gives: run "
                     "tests/power/power.py page")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ValueError as error:
        sys.exit(f"power.py: {error}")

"""The section of docs/power.md on profiles that the judge learns."""
from power_rates import percent


def asked_by(result, program):
    """The tables of one run; every row names the program that measured it."""
    named = lambda rows: [{**row, "program": program["digest"]} for row in rows]
    return {"cpu": program["cpu"], "zoo": named(result["zoo"]), "bugs": named(result["bugs"])}


def asked_with(before, asked):
    """Joins both; where both have a row, the later one stays. A run takes hours and covers a
    part of the ops and lengths, so each row names its own program."""
    if not before:
        return asked
    zoo = {row["op"]: row for row in before["zoo"] + asked["zoo"]}
    bugs = {(row["op"], row["keys"], row["convention"], row["family"]): row
            for row in before["bugs"] + asked["bugs"]}
    return {**asked, "zoo": [zoo[key] for key in sorted(zoo)],
            "bugs": [bugs[key] for key in sorted(bugs)]}


def asked_zoo_text(zoo):
    """A row a field of each op."""
    text = ("| op | kernels | seen fields | equal | interval | stricter than the kernel's own | "
            "s, most | program |\n|---|---|---|---|---|---|---|---|\n")
    for row in zoo:
        text += (f"| {row['op']} | {row['kernels']} | {row['seen']} | {row['equal']} | "
                 f"{percent(row['equal'], row['seen'])} | {len(row['stricter'])} | "
                 f"{row['longest_seconds']:.2f} | `{row['program'][:12]}` |\n")
    for row in zoo:
        for line in row["stricter"]:
            text += f"\nStricter: {line}.\n"
    text += ("\n| op | field | seen | equal | reported | cannot tell |\n"
             "|---|---|---|---|---|---|\n")
    for row in zoo:
        for field in row["fields"]:
            text += (f"| {row['op']} | `{field['field']}` | {field['seen']} | {field['equal']} | "
                     f"{field['reported']} | {field['cannot_tell']} |\n")
    return text


def asked_bugs_text(bugs):
    """What the families of an op come to at each length, then a row a family."""
    totals = {}
    for row in bugs:
        total = totals.setdefault((row["op"], row["keys"], row["convention"]),
                                  {**row, "own": 0, "kept": 0, "families": 0, "programs": {}})
        total["own"] += row["own"]
        total["kept"] += row["kept"]
        total["families"] += row["own"] > 0
        total["programs"][f"`{row['program'][:12]}`"] = True
    text = ("| op | keys | breaks | families | bugs | fail by auto | interval | programs |\n"
            "|---|---|---|---|---|---|---|---|\n")
    for row in totals.values():
        text += (f"| {row['op']} | {row['keys'] or 'their own'} | {breaks(row)} | "
                 f"{row['families']} | {row['own']} | {row['kept']} | "
                 f"{percent(row['kept'], row['own'])} | {', '.join(row['programs'])} |\n")
    text += ("\n| op | breaks | family | keys | bugs | fail by auto | interval |\n"
             "|---|---|---|---|---|---|---|\n")
    for row in bugs:
        text += (f"| {row['op']} | {breaks(row)} | {row['family']} | "
                 f"{row['keys'] or 'their own'} | {row['own']} | {row['kept']} | "
                 f"{percent(row['kept'], row['own'])} |\n")
    lost = [f"{spec} ({row['keys'] or 'own'})" for row in bugs for spec in row["lost"]]
    laws = [f"{spec} ({row['keys'] or 'own'})" for row in bugs for spec in row.get("by_laws", [])]
    text += "\nDetected only by the laws of a whole verdict: " + (", ".join(laws) or "none") + ".\n"
    text += "\nLost: " + (", ".join(lost) or "none") + ".\n"
    return text


def breaks(row):
    return "a convention" if row["convention"] else "arithmetic"


def identify_text(part):
    return ("## A profile that the judge learns\n\n"
            "`lockstep identify` was run on every correct kernel of the zoo: the first tables say which "
            "fields\nit saw, and whether they equal the kernel's own. Then come known bugs that an "
            "envelope or a probe\ndetects under the right profile: the tables say how many of them "
            "also fail under the profile\nthat was identified from the wrong kernel (`lockstep-power "
            "identify`). Bugs of conventions,\nsuch as a scale, a cap or a mask, are "
            "counted separately. A bug counts once for each kernel\nthat it is planted into.\n\n"
            + asked_zoo_text(part["zoo"]) + "\n" + asked_bugs_text(part["bugs"])
            + f"\nOn {part['cpu']}.\n")

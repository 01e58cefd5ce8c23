"""The section of docs/power.md on profiles that the judge learns."""
from power_rates import made_on, percent


def asked_with(before, asked):
    """Both, where one program measured them; a row that is in both is the later one's."""
    if not before or before["program"]["digest"] != asked["program"]["digest"]:
        return asked
    zoo = {row["op"]: row for row in before["zoo"] + asked["zoo"]}
    bugs = {(row["op"], row["convention"], row["family"], row["keys"]): row
            for row in before["bugs"] + asked["bugs"]}
    return {**asked, "zoo": [zoo[key] for key in sorted(zoo)],
            "bugs": [bugs[key] for key in sorted(bugs)]}


def asked_zoo_text(zoo):
    """A row a field of each op."""
    text = ("| op | kernels | seen fields | equal | interval | stricter than the kernel's own | "
            "s, most |\n|---|---|---|---|---|---|---|\n")
    for row in zoo:
        text += (f"| {row['op']} | {row['kernels']} | {row['seen']} | {row['equal']} | "
                 f"{percent(row['equal'], row['seen'])} | {len(row['stricter'])} | "
                 f"{row['longest_seconds']:.2f} |\n")
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
    """A row a family, conventions apart, and what all of them come to."""
    text = ("| op | breaks | family | keys | bugs | fail by auto | interval |\n"
            "|---|---|---|---|---|---|---|\n")
    totals = {}
    for row in bugs:
        total = totals.setdefault((row["op"], row["convention"], row["keys"]),
                                  {**row, "family": "all", "own": 0, "kept": 0})
        total["own"] += row["own"]
        total["kept"] += row["kept"]
    for row in [*bugs, *totals.values()]:
        text += (f"| {row['op']} | {'a convention' if row['convention'] else 'arithmetic'} | "
                 f"{row['family']} | {row['keys'] or 'their own'} | {row['own']} | {row['kept']} | "
                 f"{percent(row['kept'], row['own'])} |\n")
    lost = [f"{spec} ({row['keys'] or 'own'})" for row in bugs for spec in row["lost"]]
    return text + "\nLost: " + (", ".join(lost) or "none") + ".\n"


def identify_text(part):
    return ("## A profile that the judge learns\n\n"
            "`lockstep identify` before every correct kernel of the zoo: the fields that it sees, and "
            "whether\nthey are the kernel's own. Then known bugs: those that an envelope or a probe "
            "of the right\nprofile fails, and how many of them fail by the profile that was "
            "identified of the wrong kernel\n(`lockstep selftest --identify`). Bugs of conventions, "
            "such as a scale, a cap or a mask, are apart.\n\n"
            + asked_zoo_text(part["zoo"]) + "\n" + asked_bugs_text(part["bugs"])
            + f"\n{made_on(part)}\n")

"""How data/power.json keeps what docs/power.md shows: a bug is one row of the file, and so
is a family of bugs that met a learned profile."""


def _without(row, *names):
    return {name: value for name, value in row.items() if name not in names}


def folded(data):
    """The parts of the data, with one row for each bug and each family."""
    parts = {name: dict(part) if isinstance(part, dict) else part
             for name, part in data.items()}
    bugs, families = {}, {}
    of = lambda name: bugs.setdefault(name, {"bug": name})
    for kill in parts.get("kills", {}).pop("rows", []):
        of(kill["mutant"])["kill"] = _without(kill, "mutant")
    for bug in parts.get("naming", {}).pop("bugs", []):
        of(bug["bug"]).setdefault("named", []).append(_without(bug, "bug"))
    for cause in parts.get("causes_bugs", {}).pop("found", []):
        of(cause["bug"])["cause"] = _without(cause, "bug")
    if "identify" in parts:
        for row in parts["identify"]["bugs"]:
            key = {name: row[name] for name in ("op", "convention", "family")}
            families.setdefault(tuple(key.values()), {**key, "lengths": []})[
                "lengths"].append(_without(row, *key))
        parts["identify"]["bugs"] = list(families.values())
    return {**parts, "bugs": list(bugs.values())} if bugs else parts


def unfolded(stored):
    """What was folded: the parts of the data, each with its own rows."""
    parts = _without(stored, "bugs")
    bugs = stored.get("bugs", [])
    if "kills" in parts:
        parts["kills"]["rows"] = [{"mutant": bug["bug"], **bug["kill"]}
                                  for bug in bugs if "kill" in bug]
    if "naming" in parts:
        rows = [{"bug": bug["bug"], **place} for bug in bugs for place in bug.get("named", [])]
        parts["naming"]["bugs"] = sorted(rows, key=lambda row: (
            row["keys"], not row["lse"], not row["asked"], row["bug"]))
    if "causes_bugs" in parts:
        parts["causes_bugs"]["found"] = [{"bug": bug["bug"], **bug["cause"]}
                                         for bug in bugs if "cause" in bug]
    if "identify" in parts:
        rows = [{**_without(family, "lengths"), **row}
                for family in parts["identify"]["bugs"] for row in family["lengths"]]
        parts["identify"]["bugs"] = sorted(rows, key=lambda row: (
            row["op"], row["keys"], row["convention"], row["family"]))
    return parts

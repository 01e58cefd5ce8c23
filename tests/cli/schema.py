"""The part of JSON Schema that docs/schemas/ uses; unknown keywords are
errors, so that a schema cannot ask for what is not checked."""

import re

ANNOTATIONS = {"$schema", "$defs", "title", "description"}


def is_type(value, name):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "integer": number and isinstance(value, int),
        "number": number,
    }[name]


def problems(value, rule, root=None, where="$"):
    """What is wrong with `value`, as a list of sentences."""
    root = root if root is not None else rule
    found = []

    def check(ok, text):
        if not ok:
            found.append(f"{where}: {text}")

    for key, want in rule.items():
        if key in ANNOTATIONS:
            continue
        if key == "$ref":
            target = root
            for part in want.removeprefix("#/").split("/"):
                target = target[part]
            found += problems(value, target, root, where)
        elif key == "type":
            check(is_type(value, want), f"is no {want}: {value!r}")
        elif key == "const":
            check(value == want and type(value) is type(want),
                  f"is {value!r}, not {want!r}")
        elif key == "enum":
            check(value in want, f"{value!r} is none of {want}")
        elif key == "pattern":
            check(not isinstance(value, str) or re.search(want, value),
                  f"{value!r} does not match {want}")
        elif key == "minimum":
            check(not is_type(value, "number") or value >= want,
                  f"{value!r} is below {want}")
        elif key == "required":
            for name in want:
                check(isinstance(value, dict) and name in value,
                      f"lacks {name}")
        elif key == "properties":
            for name, inner in want.items():
                if isinstance(value, dict) and name in value:
                    found += problems(value[name], inner, root,
                                      f"{where}.{name}")
        elif key == "additionalProperties":
            for name, inner in value.items() if isinstance(value, dict) else ():
                if name in rule.get("properties", {}):
                    continue
                if want is False:
                    check(False, f"has an unknown {name}")
                else:
                    found += problems(inner, want, root, f"{where}.{name}")
        elif key == "items":
            if isinstance(value, list):
                for n, item in enumerate(value):
                    found += problems(item, want, root, f"{where}[{n}]")
        elif key == "oneOf":
            fits = sum(not problems(value, inner, root, where)
                       for inner in want)
            check(fits == 1, f"fits {fits} of {len(want)} alternatives")
        else:
            found.append(f"{where}: unknown keyword {key}")
    return found

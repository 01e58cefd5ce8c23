"""What the program is told of a kernel that check looks at.

    python3 -m lockstep.looked FILE.py:FUNCTION OUT [KEY=VALUE]...

OUT gets lines NAME VALUE; KEY=VALUE are keys of a case line that --is states. The kernel's module
is imported here, and in hosts, and nowhere else.
"""
import contextlib
import os
import sys

from lockstep import reading
from lockstep.errors import LockstepError, UsageError
from lockstep.kernels import load, quoted
from lockstep.look import Look
from lockstep.look_scan import looked_scan
from lockstep.measure import Unreadable
from lockstep.opening import frameworks_of
from lockstep.reading import Reading
from lockstep.scans import is_scan
from lockstep.strangers import parameters_of

_PLAIN = ("q_seg=none kv_seg=none valid_q=sq valid_kv=skv sinklogit=none page=none alias=none "
          "layout=bhsd kvlane=none qlane=none shard=none p=default order=default split=default")


def where_of(look, found):
    """The condition that every case meets which the kernel is asked, as fuzz --where takes it."""
    keys = found.keys() | _told_keys(look)
    if "scale" not in keys:
        keys["scale"] = "default|0.3" if "scale" in look.tells and look.stated is None else "default"
    words = [f"{key}={value}" for key, value in keys.items()]
    if not look.any_length:
        words.append("sq=" + "|".join(map(str, look.lengths)))
    if not (look.wider and look.taller):
        words.append("skv=sq")
    if not look.any_length and look.wider:
        words.append("skv=" + "|".join(map(str, look.lengths)))
    if not look.any_channels:
        words.append("d=" + "|".join(map(str, look.channels)))
    words += [] if look.groups else ["hkv=hq"]
    words += [] if look.values else ["dv=d"]
    words += ["fill=normal:1"] if look.finite else []
    plain = _PLAIN
    if "segments" in look.tells:
        words = [word for word in words if not word.startswith("skv=")] + ["skv=sq"]
        plain = plain.replace("q_seg=none kv_seg=none", "kv_seg=q_seg")
    return " ".join(words) + " " + plain


def _told_keys(look):
    """Keys with all values that parameters can tell, where --is states none."""
    if look.stated is not None:
        return {}
    keys, masks = {}, []
    if "causal" in look.tells:
        masks += ["full", "causal"]
    if "window" in look.tells:
        pair = look.tells["window"][1] == "pair"
        masks += ["causal&window:5,0", "causal&window:40,0"] + (["window:7,3"] if pair else [])
    if masks:
        keys["mask"] = "|".join(masks)
    if "softcap" in look.tells:
        keys["cap"] = "none|50|5"
    return keys


def _told_text(look):
    """The parameters that cases give their values, and what a number for a window means."""
    means = {"keys": " (the query's own key and W - 1 before it)",
             "before": " (the query's own key and W before it)"}
    names = [name + ("=W" + means[form] if role == "window" and form in means else "")
             for role, (name, form, _) in look.tells.items()]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def gradients_of(look, target):
    """Its gradients by autograd, as --candidate takes them; "" where there are none."""
    if look.found.framework == "numpy" or look.lane != "f32" or not look.has_gradients():
        return ""
    return spec_of(look, target, "attention_backward")


def spec_of(look, target, op=""):
    """The kernel as --candidate takes it."""
    found, fixed = look.found, set()
    keys = look.reading.keys()
    for role, word in (("causal", "causal"), ("window", "window")):
        if word in keys["mask"].replace("&", " ").replace(":", " ").split():
            fixed.add(role)
    special = look.reading.mask is None or look.reading.mask.chunk or look.reading.mask.prefix or \
        look.reading.mask.sink
    fixed |= {"masks"} if special else set()
    fixed |= {"softcap"} if keys["cap"] != "none" else set()
    fixed |= {"scale"} if "scale" in keys else set()
    fixed |= {"offset"} if keys["align"] == "br" else set()
    fixed |= {"groups"} if look.groups else set()
    fixed |= {"value_dim"} if look.values else set()
    fixed -= set(look.tells)
    facts = {"op": op, "framework": found.framework, "layout": found.stranger.layout,
             "features": "+".join(sorted(fixed)),
             "tells": "+".join(":".join([role, *told]).rstrip(":")
                               for role, told in look.tells.items()),
             "wants": "segments" if "segments" in look.tells else "",
             "returns": "+".join(found.stranger.returns), "lanes": "+".join(found.lanes),
             "lacks": "" if look.lse or op else "lse",
             "alignment": "64" if found.framework == "torch" else ""}
    words = [f"{key}={value}" for key, value in facts.items()
             if value and (key, value) not in (("framework", "numpy"), ("returns", "o"))]
    return "py:" + ",".join(map(quoted, [target, *words]))


def place_of_function(function, framework):
    plain = getattr(function, "func", function)
    plain = getattr(plain, "__func__", getattr(type(plain), "forward", plain))
    code = getattr(plain, "__code__", None)
    file = os.path.relpath(code.co_filename) if code else ""
    file = code.co_filename if file.startswith("..") else file
    at = f"{file}:{code.co_firstlineno}, " if code else ""
    title = {"numpy": "NumPy", "jax": "JAX"}.get(framework, framework)
    return f"{at}{title}" + ("" if framework == "numpy" else " on the CPU")


def looked(target, words):
    """What the program gets, as a dict."""
    function = load(target)
    if hasattr(function, "__lockstep__") or "call" in parameters_of(function):
        framework = frameworks_of(function)[0]
        guessed = framework if not hasattr(function, "__lockstep__") and framework != "numpy" else ""
        return {"declared": "py:" + quoted(target) + (f",framework={guessed}" if guessed else "")}
    if is_scan(function):
        return looked_scan(target, function, words, place_of_function)
    if "op" in words:
        raise UsageError("--is: its parameters are those of attention; want 'causal', 'full', ...")
    look, reach = Look(function, words), 0
    result = {"name": target.rpartition(":")[2],
              "place": place_of_function(look.found.stranger.function, look.found.framework),
              "lanes": look.found.lanes, "unseen": look.unseen,
              "differs": "", "trouble": "", "unreadable": "", "told": _told_text(look)}
    try:
        look.reading = look.read()
    except Unreadable as why:
        look.reading, result["unreadable"] = look.stated or Reading(), str(why)
    asked = look.stated or look.reading
    if look.stated is not None and not result["unreadable"]:
        equal = not (look.wider or look.taller)
        result["differs"] = reading.difference(asked, look.reading, look.lane, equal)
        look.reading, measured = asked, look.reading
        reach = _reach(measured.mask)
        result["computes"] = measured.sentence()
    else:
        result["computes"] = look.reading.sentence()
    if "segments" in look.tells:
        result["computes"] += f", segments of {look.tells['segments'][0]}= apart"
    result["trouble"] = look.trouble
    result |= {"returns": "o and lse" if look.lse else "o", "lse": look.lse or "",
               "beside": look.beside, "spec": spec_of(look, target),
               "gradients": gradients_of(look, target), "is": asked.words(),
               "where": where_of(look, asked), "longest": look.longest,
               "fields": look.fields, "yours": look.yours,
               "reach": max(_reach(look.reading.mask), reach),
               "limits": _limits_text(look)}
    return result


def _reach(mask):
    """From how many keys on the mask's bound acts; 0: it has none."""
    return max(mask.left or 0, mask.chunk or 0, mask.prefix) if mask else 0


def _limits_text(look):
    """What it does not take, in words."""
    found = [] if look.groups else ["fewer key heads than query heads"]
    found += [] if look.wider or look.taller else ["queries and keys of different number"]
    found += [] if look.values else ["values of another width"]
    return found


def main(words):
    if len(words) < 2:
        print("lockstep.looked: want FILE.py:FUNCTION OUT [KEY=VALUE]...", file=sys.stderr)
        return 2
    os.dup2(2, 1)  # what a module prints is no part of the screen
    target, out, *keys = words
    try:
        result = looked(target, dict(word.partition("=")[::2] for word in keys))
    except LockstepError as error:
        result = {"error": str(error)}
    except (Exception, SystemExit) as error:  # pylint: disable=broad-except
        result = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
    with contextlib.suppress(OSError), open(out, "w", encoding="utf-8") as file:
        for name, value in result.items():
            for one in value if isinstance(value, list) else [value]:
                print(name, " ".join(str(one).split()), file=file)
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)

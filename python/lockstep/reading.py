"""What a kernel of attention computes, in words and in keys of a case line."""
import dataclasses
import math

from lockstep import measure
from lockstep.measure import Mask

ROOT = "root"  # the scale 1/sqrt(d)
_LN2 = math.log(2)


@dataclasses.dataclass
class Reading:
    """Mask, alignment ("tl", "br", or None where no shape shows it), softcap and scale."""
    mask: Mask | None = Mask()  # None: one that only a case line says, `text`
    align: str | None = None
    cap: float | None = None
    scale: float | str = ROOT
    text: str = ""

    def keys(self):
        """Keys of a case line, with their values as text."""
        keys = {"mask": self.mask.key() if self.mask else self.text, "align": self.align or "tl",
                "cap": "none" if self.cap is None else number(self.cap)}
        if self.scale != ROOT:
            keys["scale"] = number(self.scale)
        return keys

    def words(self):
        """As --is takes it."""
        words = [_mask_word(self.mask)] if self.mask else ["mask=" + self.text]
        words += ["align=br"] if self.align == "br" else []
        words += [f"softcap={number(self.cap)}"] if self.cap is not None else []
        words += [f"scale={number(self.scale)}"] if self.scale != ROOT else []
        return " ".join(words)

    def sentence(self):
        parts = [_mask_text(self.mask) if self.mask else "mask " + self.text]
        if self.align and self.keys()["mask"] != "full":
            parts.append("the last query at the last key" if self.align == "br"
                         else "query i at key i")
        parts.append("no softcap" if self.cap is None else f"softcap {number(self.cap)}")
        parts.append("scale " + ("1/sqrt(d)" if self.scale == ROOT else number(self.scale)))
        return ", ".join(parts)


def number(x):
    """The shortest text of a number."""
    return str(int(x)) if float(x).is_integer() and abs(x) < 1e9 else repr(float(x))


def _mask_word(mask):
    if mask.chunk is not None or mask.prefix or mask.sink:
        return f"mask={mask.key()}"
    if mask.left is None and mask.right in (None, 0):
        return mask.key()
    if mask.right == 0:
        return f"causal window={mask.left + 1}"
    sides = ("inf" if side is None else str(side) for side in (mask.left, mask.right))
    return "window=" + ",".join(sides)


def _mask_text(mask):
    if mask.chunk is not None:
        return f"causal in chunks of {mask.chunk} keys"
    if mask.prefix:
        return f"causal, and every query sees the first {mask.prefix} keys"
    if mask.sink:
        return (f"causal, window {mask.left + 1} keys (the query and {mask.left} before it) and the "
                f"first {mask.sink} keys")
    if mask.right == 0 and mask.left is None:
        return "causal"
    if mask.right == 0:
        return f"causal, window {mask.left + 1} keys (the query and {mask.left} before it)"
    if mask.left is None and mask.right is None:
        return "every query sees every key"
    sides = [f"{side} keys {where}" for side, where in ((mask.left, "before"), (mask.right, "behind"))
             if side is not None]
    return "window of " + " and ".join(sides) + " the query"


def stated(words):
    """A Reading of {key: value} as a case line has them; what is not there is at its default."""
    text = words.get("mask", "full")
    cap, scale = words.get("cap", "none"), words.get("scale")
    return Reading(_mask_of_key(text), words.get("align", "tl"), None if cap == "none" else
                   float(cap), ROOT if scale is None else float(scale), text)


def _mask_of_key(text):
    """The Mask of a key, or None where it says more."""
    mask = Mask()
    for term in text.split("&"):
        kind, _, rest = term.partition(":")
        if kind == "causal":
            mask = dataclasses.replace(mask, right=0)
        elif kind == "window" and "," in rest:
            left, right = (None if side == "inf" else int(side) for side in rest.split(","))
            mask = Mask(left, right if mask.right is None else mask.right)
        elif kind in ("chunked", "prefix") and rest.isdigit():
            own = {"chunk" if kind == "chunked" else "prefix": int(rest)}
            mask = Mask(right=0, **own)
        elif kind != "full":
            return None
    return mask


def base_text(factor, lane, d=None):
    """", as exp2 without log2(e) makes them" where the factor is one of the bases, or the root of
    the number of channels."""
    if d and measure.close(factor, d**-0.5, lane):
        return ", as 1/d makes them"
    if measure.close(factor, _LN2, lane):
        return ", as exp2 without log2(e) makes them"
    return ", as exp(log2(e) x) makes them" if measure.close(factor, 1 / _LN2, lane) else ""


def difference(asked, found, lane, equal_only):
    """The sentence that says how what was found differs from what was asked; "": it does not."""
    parts = [] if asked.mask is None or found.mask is None else _mask_difference(asked, found)
    if not parts and not equal_only and asked.align and found.align not in (None, asked.align):
        parts.append("the mask is aligned at the bottom right, the last query at the last key, where "
                     "query i at key i is stated (align=br states it)" if found.align == "br" else
                     "the mask is aligned at the top left, query i at key i, where the last query at "
                     "the last key is stated")
    if asked.cap is None and found.cap is not None:
        parts.append(f"scores are capped at {number(found.cap)} where no softcap is stated")
    elif asked.cap is not None and found.cap is None:
        parts.append(f"no softcap is applied where softcap={number(asked.cap)} is stated")
    elif asked.cap is not None and not measure.close(found.cap, asked.cap, lane):
        parts.append(f"the softcap is {number(found.cap)} where {number(asked.cap)} is stated")
    return "; ".join(parts)


def scale_difference(asked, factor, d, lane):
    """The same of the factor of small scores, at that d; "": it is as asked."""
    want = d**-0.5 if asked.scale == ROOT else asked.scale
    if measure.close(factor, want, lane):
        return ""
    name = "1/sqrt(d)" if asked.scale == ROOT else number(asked.scale)
    return (f"scores are {factor / want:.4g} times those of the scale {name}"
            + base_text(factor / want, lane, d if asked.scale == ROOT else None))


def _mask_difference(asked, found):
    a, b = asked.mask, found.mask
    if a == b:
        return []
    if None not in (a.left, b.left) and dataclasses.replace(a, left=b.left) == b:
        more = b.left - a.left
        side = (f"{b.left + 1} keys where window={a.left + 1} says {a.left + 1}" if a.right == 0
                else f"{b.left} keys before it where {a.left} are stated")
        return [f"each query sees {_count(more)} to the left: {side}"]
    if None not in (a.right, b.right) and dataclasses.replace(a, right=b.right) == b:
        return [f"each query sees {_count(b.right - a.right)} to the right: {b.right} keys behind it "
                f"where {a.right} are stated"]
    return [f"the mask is: {_mask_text(b)}; stated is: {_mask_text(a)}"]


def _count(more):
    number_text = "one key" if abs(more) == 1 else f"{abs(more)} keys"
    return number_text + (" too many" if more > 0 else " too few")

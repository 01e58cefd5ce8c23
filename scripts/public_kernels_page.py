"""Writes docs/public-kernels.md from what scripts/judge_public_kernels.py saw."""
import importlib.metadata
import pathlib
import platform
import textwrap

import public_kernels_claims
from public_kernels_table import DEFECTS, KERNELS

HEAD = """# Public kernels before the judge

`scripts/judge-public-kernels.sh` writes this page. It installs the versions below and takes hours for all of its
cases, most of the time for compiled or interpreted kernels. These are the results of its last run, on
{cpu} ({units}). Shorter runs (`--cases N`) judge fewer cases.
*Lines* come from `data/cases/foreign-attention-f32.cases`, `foreign-attention-bf16.cases`, `foreign-attention-f16.cases`
and `foreign-scan.cases`. For functions that make tables of masks they come from `block_plan.cases`. A few more lines are
in `scripts/public_kernels_table.py`. *Drawn* cases come from `lockstep fuzz`. A case is skipped if the kernel lacks a
feature of it (softcaps, sinks, the lane). It is untrusted if nothing proved that a wrong kernel would fail. The adapters
are in `python/examples`, each with its profile.

| kernel | library | lines: pass, fail, untrusted, skipped | drawn: pass, fail, untrusted, skipped |
|---|---|---|---|
"""


def version(library):
    if library == "mamba-ssm":
        return "mamba-ssm 2.3.2.post1"
    return f"{library} {importlib.metadata.version(library)}" if library else "this repository"


def cpu():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def units():
    """What decides the path that a library takes."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return ", ".join(name for name, flag in (("AVX2", " avx2 "), ("AVX-512", " avx512f "),
                                             ("AMX", " amx_tile ")) if flag in flags)


def counts(part):
    if not part:
        return "-"
    c = part["counts"]
    wrong = c["fail"] + c["error"] + c["suspicious"]
    return f"{c['pass']}, {wrong}, {c['untrusted']}, {c['skipped']}"


def findings_of(result):
    """All that is no pass, untrusted verdicts aside, once a case."""
    for part in ("corpus", "drawn"):
        seen = set()
        for finding in (result[part] or {"findings": []})["findings"]:
            if finding["verdict"] != "untrusted" and finding["case"] not in seen:
                seen.add(finding["case"])
                yield finding


def fenced(text, language):
    return f"```{language}\n{text.rstrip()}\n```\n"


def section(defect, shown, found):
    words = [f"### {defect.title}\n"]
    if found:
        kernel, finding = found[0]
        words.append(f"Found in {len(found)} cases, by `{finding['signature']}` in `{kernel}`:\n")
        words.append(fenced(finding["case"] + "\n" + finding["message"][:300], "text"))
    words.append("Without Lockstep" + ("" if shown.get("shows") else ", not seen on this CPU")
                 + f" (`{defect.script}`):\n")
    words.append(fenced(pathlib.Path(defect.script).read_text(), "python"))
    if shown.get("text"):
        words.append(fenced("\n".join(shown["text"]), "text"))
    words.append(f"Known: {defect.public}.\n" if defect.public else
                 "No public report was found.\n")
    return "\n".join(words)


def judged(result):
    """Cases of a kernel that it computed."""
    return sum(part["counts"]["cases"] - part["counts"]["skipped"]
               for part in (result["corpus"], result["drawn"]) if part)


def alarms(results, unexplained):
    """How many cases were judged, a family of kernels each, and how many alarms are no
    defect."""
    families = {}
    for name, result in results.items():
        family = name.removesuffix("_f32").removesuffix("_bf16")
        families[family] = families.get(family, 0) + judged(result)
    counts = ", ".join(f"{family} {count}" for family, count in families.items())
    return (f"Numbers of cases that were computed and judged: {counts}. Of their alarms, the "
            f"defects below do not explain {len(unexplained)}.\n")


def write_page(results, shown):
    """Returns the findings that no defect explains."""
    page, unexplained, explained = [HEAD.format(cpu=cpu(), units=units())], [], {d: [] for d in DEFECTS}
    for kernel in KERNELS:
        if kernel.name not in results:
            page.append(f"| `{kernel.name}` | {version(kernel.library)} | not in this run | |\n")
            continue
        result = results[kernel.name]
        page.append(f"| `{kernel.name}` | {version(kernel.library)} | "
                    f"{counts(result['corpus'])} | {counts(result['drawn'])} |\n")
        for finding in findings_of(result):
            known = [d for d in DEFECTS if d.explains(kernel.name, finding)]
            if known:
                explained[known[0]].append((kernel.name, finding))
            else:
                unexplained.append((kernel.name, finding))
    page.append("\n" + textwrap.fill(alarms(results, unexplained), 100) + "\n")
    page.append("\n## Defects and conventions\n\n")
    for defect in DEFECTS:
        page.append(section(defect, shown.get(defect.script, {}), explained[defect]) + "\n")
    if unexplained:
        page.append("## Not explained\n\n")
    for kernel, finding in unexplained:
        page.append(f"`{kernel}`:\n\n" + fenced(finding["case"] + "\n"
                                               + finding["message"][:300], "text") + "\n")
    path = pathlib.Path("docs/public-kernels.md")
    claims = public_kernels_claims.written(path.read_text()) if path.exists() else ""
    path.write_text("".join(page))
    if claims:
        public_kernels_claims.put(claims)
    return [f"{kernel}: {finding['case']}" for kernel, finding in unexplained]

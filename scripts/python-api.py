#!/usr/bin/env python3
"""Writes docs/python-api.md from the docstrings of python/lockstep; --check says
whether the page is what they say, exit 1 where it is not. Imports nothing of it."""
import ast
import difflib
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "lockstep"
PAGE = ROOT / "docs" / "python-api.md"
HEAD = """# Reference of the Python package

`scripts/python-api.py` makes this page from the docstrings. [python.md](python.md) gives an
overview, and [tutorial-python.md](tutorial-python.md) leads from installing to a shrunk bug.
"""
# Sections: names as a user writes them behind `lockstep.`, and their modules.
SECTIONS = [
    ("Judging", [("check", "checked"), ("verify", "judge"), ("fuzz", "judge"), ("invariance", "claims"),
                 ("identify", "identified"),
                 ("bench", "bench_kernel"),
                 ("ray.campaign", "ray"), ("parametrize", "pytest_plugin")]),
    ("Kernels", [("kernel", "kernels"), ("autograd_kernel", "autograd"),
                 ("call.Call", "call")]),
    ("Reports", [("Checked", "checked"), ("Report", "report"), ("Finding", "report"),
                 ("report.CaseVerdict", "report"), ("InvarianceReport", "claims"),
                 ("Claim", "claims"), ("Identified", "identified"),
                 ("FieldEvidence", "identified")]),
    ("Cases", [("Case", "case"), ("cases", "case"), ("ids", "document_ids")]),
    ("Exact operators", [("attention_forward", "operators"),
                         ("attention_backward", "operators"),
                         ("attention_merge", "operators"),
                         ("mamba3_scan", "operators"),
                         ("mamba3_scan_backward", "operators"),
                         ("mamba3_step", "operators"), ("ssd_scan", "operators"),
                         ("block_plan", "operators"), ("tables.Tables", "tables"),
                         ("to_block_mask", "tables")]),
    ("Errors", [(name, "errors") for name in (
        "LockstepError", "UsageError", "Failed", "Skipped", "Unsupported")]
     + [("ray.Torn", "ray")]),
]


def signature(name, node):
    """`name(...)`, in lines that a page has room for."""
    arguments = ast.unparse(node.args)
    parts = [part for part in arguments.split(", ") if part != "self"]
    text = f"{name}({', '.join(parts)})"
    return textwrap.fill(text, 96, subsequent_indent=" " * (len(name) + 1),
                         break_long_words=False, break_on_hyphens=False)


def public_parts(node):
    """Methods and properties of a class that have a docstring."""
    return [part for part in node.body if isinstance(part, ast.FunctionDef)
            and not part.name.startswith("_") and ast.get_docstring(part)]


def fields_of(node):
    return [f"{part.target.id}: {ast.unparse(part.annotation)}" for part in node.body
            if isinstance(part, ast.AnnAssign)]


def entry(name, node):
    """One name of the package, as lines of the page."""
    full = f"lockstep.{name}"
    doc = ast.get_docstring(node)
    if not doc:
        sys.exit(f"python-api.py: {full} has no docstring")
    lines = [f"### {full}", ""]
    if isinstance(node, ast.FunctionDef):
        return lines + ["```py", signature(full, node), "```", "", "```", doc, "```", ""]
    start = next((p for p in node.body if isinstance(p, ast.FunctionDef)
                  and p.name == "__init__"), None)
    if start is not None and not node.bases:
        lines += ["```py", signature(full, start), "```", ""]
    lines += ["```", doc, *(f"  {field}" for field in fields_of(node)), "```", ""]
    for part in public_parts(node):
        is_property = any(ast.unparse(d) == "property" for d in part.decorator_list)
        shown = f".{part.name}" if is_property else signature(f".{part.name}", part)
        told = " ".join(ast.get_docstring(part).split())
        lines += textwrap.wrap(f"- `{' '.join(shown.split())}`: {told}", 96,
                               subsequent_indent="  ", break_on_hyphens=False)
    return lines + [""] if lines[-1] else lines


def page():
    lines = [HEAD]
    for title, names in SECTIONS:
        lines += [f"## {title}", ""]
        for name, module in names:
            tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
            found = [node for node in tree.body
                     if getattr(node, "name", None) == name.split(".")[-1]]
            if not found:
                sys.exit(f"python-api.py: {module}.py has no {name}")
            lines += entry(name, found[0])
    return "\n".join(lines).rstrip() + "\n"


def unlisted():
    """Names of the package that no section has."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    homes = next(node.value for node in tree.body if isinstance(node, ast.Assign)
                 and node.targets[0].id == "_HOMES")
    listed = {name for _, names in SECTIONS for name, _ in names}
    return sorted(set(ast.literal_eval(homes)) - listed)


def main():
    if unlisted():
        sys.exit("python-api.py: no section has " + ", ".join(unlisted()))
    made = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    found = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    for line in difflib.unified_diff(found.splitlines(), made.splitlines(),
                                     "docs/python-api.md", "as the docstrings say",
                                     lineterm=""):
        print(line)
    if found != made:
        print("docs/python-api.md is old: run scripts/python-api.py")
    return int(found != made)


if __name__ == "__main__":
    sys.exit(main())

"""What docs/python.md shows: its programs print it, and the wheel is what auditwheel
says of it."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ["LOCKSTEP_SOURCE"])
BLOCK = re.compile(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", re.S)


def matches(shown, printed):
    """Whether it was printed, anything for `...`."""
    return re.fullmatch(re.escape(shown).replace(r"\.\.\.", ".*"), printed, re.S)


def run_blocks(blocks, folder, name):
    script = folder / name
    script.write_text(f"import sys; sys.path.insert(0, {str(SOURCE / 'python/examples')!r})\n"
                      + "".join(code for code, _ in blocks))
    done = subprocess.run([sys.executable, script.name], capture_output=True, text=True,
                          cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    assert matches("".join(text for _, text in blocks), done.stdout), done.stdout


def test_the_page_prints_what_it_shows(tmp_path):
    """Every ```python block of docs/python.md, in order, as one script."""
    blocks = BLOCK.findall((SOURCE / "docs/python.md").read_text())
    assert len(blocks) >= 4
    run_blocks(blocks, tmp_path, "page.py")


def words_of(text):
    """Without the interpreter's version and line breaks."""
    return " ".join(re.sub(r"\bcp3\d+\b", "cp3", text).split())


def test_the_wheel_is_what_auditwheel_says():
    wheel = os.environ.get("LOCKSTEP_WHEEL")
    tool = shutil.which("auditwheel", path=os.pathsep.join(
        [os.path.dirname(sys.executable), os.environ["PATH"]]))
    if not wheel or not tool:
        pytest.skip("there is no wheel at hand" if not wheel else "auditwheel is not there")
    if "manylinux" not in wheel:
        pytest.skip("the page shows a wheel of a release (scripts/wheels.sh)")
    page = (SOURCE / "docs/python.md").read_text()
    shown = re.search(r"auditwheel show [^\n]*\n```\n```text\n(.*?)```", page, re.S).group(1)
    done = subprocess.run([tool, "show", wheel], capture_output=True, text=True, check=True)
    assert matches(words_of(shown), words_of(done.stdout)), done.stdout
    # The test can fail: nothing else has the same words.
    assert not matches(words_of(shown), words_of(done.stdout.replace("manylinux_2_27", "manylinux_2_29")))


def test_the_lines_of_the_readme(tmp_path):
    """As they stand, and with a key too many to the right."""
    (code, _), = BLOCK.findall((SOURCE / "README.md").read_text())
    for kernel, passes in ((code, True), (code.replace("j <= i,", "j <= i + 1,"), False)):
        script = tmp_path / "mine.py"
        script.write_text(kernel)
        done = subprocess.run([sys.executable, script], capture_output=True, text=True,
                              check=False)
        assert (done.returncode == 0) == passes, done.stderr
        assert passes or "lockstep.errors.Failed" in done.stderr, done.stderr

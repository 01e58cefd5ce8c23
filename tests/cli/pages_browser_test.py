#!/usr/bin/env python3
"""Pages in a real browser: nothing is wider than the screen, narrow or wide,
light or dark. Skipped with a word where there is no Chromium."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import program
from program import run

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTHS = (400, 1600)
LONG = ("attention_forward hq=4 hkv=2 sq=150 skv=200 d=80 lane=bf16 "
        "mask=causal&window:90,0 q_seg=runs:100,50 kv_seg=runs:120,80")

# The page stands in a frame of that width: a window of a browser without a
# screen has a least one. What scrolls by itself may be as wide as it likes.
OUTER = """<!DOCTYPE html><body><iframe id="f" width="{width}" height="900"
srcdoc="{page}"></iframe><script>
document.getElementById("f").onload = event => {{
  const page = event.target.contentDocument, view = event.target.contentWindow;
  for (const one of page.querySelectorAll("details")) one.open = true;
  const wide = [...page.body.querySelectorAll("*")].filter(one =>
    one.getBoundingClientRect().right > view.innerWidth + 1 &&
    !one.closest("div.wide, .zoom > div")).map(one => one.outerHTML.slice(0, 80));
  const tiny = [...page.querySelectorAll("svg[role=img]")].filter(one =>
    one.getBoundingClientRect().width < 60).length;
  const zoom = page.getElementById("z4"), plan = page.querySelector(".zoom svg");
  const once = plan ? plan.getBoundingClientRect().width : 0;
  if (zoom) zoom.checked = true;
  document.documentElement.setAttribute("data-probe", JSON.stringify({{
    width: view.innerWidth, scrolls: page.documentElement.scrollWidth,
    wide: wide.slice(0, 5), tiny: tiny,
    height: page.body.getBoundingClientRect().height,
    paper: view.getComputedStyle(page.body).backgroundColor,
    letters: Math.min(...[...page.querySelectorAll("svg[role=img] text")].map(
      one => one.getBoundingClientRect().height)),
    zoomed: once ? plan.getBoundingClientRect().width / once : 0,
    text: page.body.innerText.length}}));
}};
</script></body>"""


def browser():
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    return None


def look(folder, page, width, *options):
    """What the browser says of the page at that width."""
    path = os.path.join(folder, "outer.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(OUTER.format(width=width, page=html.escape(page)))
    done = subprocess.run(
        [browser(), "--headless", "--no-sandbox", "--disable-gpu",
         "--hide-scrollbars", "--window-size=1700,1000",
         f"--user-data-dir={folder}/profile", "--virtual-time-budget=5000", *options,
         "--dump-dom", "file://" + path],
        capture_output=True, text=True, timeout=300, check=False)
    probe = re.search(r'data-probe="([^"]*)"', done.stdout)
    assert probe, (done.stdout[-500:], done.stderr[-2000:])
    return json.loads(html.unescape(probe.group(1)))


class Browser(program.TestCase):

    def page(self, *words, code=0):
        path = self.path("page.html")
        done = run(*words, "--html", path)
        self.assertEqual(done.code, code, done.out + done.err)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def assertFits(self, page):
        for width in WIDTHS:
            seen = look(self.folder, page, width)
            self.assertEqual(seen["width"], width)
            self.assertEqual(seen["wide"], [], width)
            self.assertLessEqual(seen["scrolls"], width)
            self.assertEqual(seen["tiny"], 0)
            self.assertGreater(seen["text"], 300)
        return seen

    def test_a_failing_run(self):
        page = self.page("verify", LONG, program.SMALL + " lane=bf16",
                         "--candidate", "mutant:attn.drop_edge_key,base=flash",
                         "--profile", "flash-bf16", code=1)
        self.assertFits(page)

    def test_a_plan_can_be_zoomed(self):
        page = self.page("plan", LONG, "--tile", "4x4")
        seen = self.assertFits(page)
        self.assertGreater(seen["zoomed"], 3.9)

    def test_the_selftest(self):
        self.assertFits(self.page("selftest", "--op", "ssd_scan", "--budget",
                                  "200cases"))

    def test_a_sweep_can_be_read_on_a_narrow_screen(self):
        page = self.page("bench", "attention_forward sq=96 skv=96 d=16", "--sweep", "tile",
                         "--sweep", "threads", "--budget", "1s")
        self.assertFits(page)
        for width in WIDTHS:
            self.assertGreater(look(self.folder, page, width)["letters"], 9)

    def test_dark_is_dark(self):
        page = self.page("verify", program.SMALL)
        dark = look(self.folder, page, 400,
                    "--blink-settings=preferredColorScheme=0")["paper"]
        light = look(self.folder, page, 400,
                     "--blink-settings=preferredColorScheme=1")["paper"]
        self.assertEqual({"dark": dark, "light": light},
                         {"dark": "rgb(20, 23, 28)", "light": "rgb(255, 255, 255)"})

    def test_a_page_that_is_too_wide_is_seen(self):
        wide = "<!DOCTYPE html><body><p>x</p><div style='width: 900px'>x</div></body>"
        self.assertTrue(look(self.folder, wide, 400)["wide"])
        self.assertEqual(look(self.folder, wide, 1600)["wide"], [])


if __name__ == "__main__":
    if browser() is None:
        print("skipped: none of", ", ".join(BROWSERS), "is installed")
        sys.exit(77)
    unittest.main()

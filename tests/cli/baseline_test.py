#!/usr/bin/env python3
"""Code that is compiled for more than the baseline processor is nobody else's: each
copy that WithFma makes is a local symbol of the program (contract/with_fma.h), which
no linker takes in place of code for all processors."""

import shutil
import subprocess
import unittest

import program


class BaselineTest(program.TestCase):
    @unittest.skipUnless(shutil.which("nm"), "nm is not there")
    def test_copies_for_fma_are_local(self):
        listing = subprocess.run(["nm", program.PROGRAM], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        kinds = [line.split()[-2] for line in listing.splitlines()
                 if "10RunWithFma" in line]
        if not kinds:
            self.skipTest("the program has no symbols, or none is inlined apart")
        self.assertEqual(set(kinds), {"t"})


if __name__ == "__main__":
    unittest.main()

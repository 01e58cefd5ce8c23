"""Which tests a mutant meets first: those that likely notice it and cost little.

Most mutants fail a test that takes milliseconds, while the dearest tests of a program
take most of its time: where every mutant met the tests in the order of their program,
two thirds of the time went into tests that do not notice. What is learnt here changes
the order alone: who passes all parts runs the whole program before it counts as alive.
"""

import json

# Starting a program, in seconds: of two dear tests the one that takes none is not free.
START = 0.02
# The cheap tests, which run together, take this share of the program's time.
CHEAP = 1 / 16


def times(path):
    """{test: seconds} as GoogleTest wrote them."""
    with open(path, encoding="utf-8") as file:
        suites = json.load(file)["testsuites"]
    return {f"{suite['name']}.{test['name']}": float(test["time"].rstrip("s"))
            for suite in suites for test in suite["testsuite"]}


class Suspects:
    """The parts of a program's tests: the cheap ones together, each dear one alone."""

    def __init__(self, seconds):
        left = CHEAP * sum(seconds.values())
        cheap = []
        self.seconds = {}  # of a part: the names of its tests
        for name in sorted(seconds, key=seconds.get):
            left -= seconds[name]
            if left >= 0:
                cheap.append(name)
            else:
                self.seconds[(name,)] = seconds[name]
        if cheap:
            self.seconds[tuple(cheap)] = sum(seconds[name] for name in cheap)
        self.kills = {}  # (source, part): how many mutants of the source failed it

    def parts(self, source):
        """The parts, those first that killed most in a second: in this source above
        all, else anywhere."""
        def cost(part):
            anywhere = sum(n for (_, other), n in self.kills.items() if other == part)
            here = self.kills.get((source, part), 0)
            return (START + self.seconds[part]) / (0.1 + anywhere + 10 * here)
        return sorted(self.seconds, key=cost)

    def killed(self, source, part):
        self.kills[source, part] = self.kills.get((source, part), 0) + 1

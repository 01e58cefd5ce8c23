#!/usr/bin/env python3
"""Forbids what would make bits depend on the machine, and what the style card bans.

Every rule names the files it governs and the few that are excepted, each with its
reason. Comments and string literals do not count.
"""

import dataclasses
import os
import re

import sources
from sources import Finding

MAX_LINES = 400
# First line of a longer file: a comment with these words and the reason.
LONG_REASON = "Longer than 400 lines:"

_LIBM = ("exp|exp2|exp10|expm1|log|log2|log10|log1p|logb|pow|sin|cos|tan|sincos|"
         "asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|erf|erfc|cbrt|"
         "hypot|tgamma|lgamma")


@dataclasses.dataclass(frozen=True)
class Rule:
    pattern: str
    message: str
    where: tuple
    # {path prefix: reason}
    except_in: dict = dataclasses.field(default_factory=dict)


ARITHMETIC = ("reference/", "optimized/")
JUDGED = ("reference/", "optimized/", "verify/", "fuzz/")
EVERYWHERE = JUDGED + ("bench/", "tests/")

RULES = (
    Rule(rf"(?<![\w.>:])(?:std\s*::\s*|::\s*|__builtin_)?(?:{_LIBM})[fl]?\s*\(",
         "libm call: its bits differ between machines (N14)", JUDGED,
         {"verify/statistics": "probabilities that are printed, never bits"}),
    Rule(r"\b(?:hn|hwy\s*::\s*N_\w+|hwy)\s*::\s*(?:Call)?(?:Exp2?|Expm1|Log|Log2|"
         r"Log10|Log1p|Tanh|Sinh?|Cosh?|SinCos|A?Tanh?|Asinh?|Acosh?|Atan2|Hypot|"
         r"Cbrt)\s*\(",
         "mathematics of the SIMD library: not bit-stable (N14)",
         ("optimized/", "bench/")),
    Rule(r"#\s*include\s*[<\"]hwy/contrib/", "Highway contrib (N14)", EVERYWHERE),
    Rule(r"\b(?:ReduceSum|SumOfLanes|SumsOf\d\w*|SumOfMulQuadAccumulate|"
         r"ReorderWidenMulAccumulate|RearrangeToOddPlusEven|WidenMulPairwiseAdd|"
         r"WidenMulAccumulate|SatWidenMulPairwiseAdd)\s*\(",
         "order of the sum depends on the target (N3)",
         ("optimized/", "bench/"),
         {"optimized/simd/packed_dot-inl.h": "the proven helper of N5"}),
    Rule(r"\b(?:ReorderDemote2To|OrderedDemote2To|BF16FromF32)\s*\(|"
         r"\bConvertScalarTo\s*<\s*(?:hwy\s*::\s*)?bfloat16_t|"
         r"\bDemoteTo\s*\(\s*d?bf\w*\s*,",
         "conversion to bf16 of the library: rounding and subnormals differ "
         "between targets (N2)", EVERYWHERE),
    Rule(r"\bhn\s*::\s*(?:ApproximateReciprocal(?:Sqrt)?)\s*\(",
         "approximation whose bits differ between targets (N14)", EVERYWHERE),
    Rule(r"\bstd\s*::\s*(?:reduce|transform_reduce|inner_product|execution)\b",
         "unordered or hidden sum (N3)", JUDGED),
    Rule(r"#\s*pragma\s+omp[^\n]*\breduction\s*\(",
         "OpenMP reduction: order depends on the threads (N16)", EVERYWHERE),
    Rule(r"#\s*pragma\s+(?:STDC\s+FP_CONTRACT|clang\s+fp|GCC\s+optimize|"
         r"float_control)|__attribute__\s*\(\(\s*(?:__)?optimize",
         "arithmetic flags live in cmake/LockstepTargets.cmake (N4)", EVERYWHERE),
    Rule(r"#\s*(?:el)?if\w*\b[^\n]*\bHWY_TARGET\b",
         "target switch outside optimized/simd/", EVERYWHERE,
         {"optimized/simd/": "the one place for them"}),
    Rule(r"#\s*pragma\s+once\b", "use an include guard", EVERYWHERE),
    Rule(r"\bthrow\b", "no exceptions of our own", JUDGED),
    Rule(r"(?<![\w:])(?:std\s*::\s*)?(?:exit|_Exit|quick_exit)\s*\(",
         "no exit below a main", JUDGED,
         {"verify/main.cc": "a main", "fuzz/main": "a main",
          "verify/cli/watch": "ends a run inside a case"}),
    Rule(r"\bstd\s*::\s*(?:cout|cerr|clog)\b|"
         r"(?<![\w.>])(?:std\s*::\s*)?(?:printf|puts|putchar)\s*\(",
         "no printing below a main", ("reference/", "optimized/", "verify/"),
         {"verify/main.cc": "a main", "verify/cli/": "the verbs of the main"}),
    Rule(r"\b(?:secure_)?getenv\s*\(",
         "bits depend on no variable of the environment", ARITHMETIC,
         {"optimized/attention_tuning.cc": "tiles, which change no bit"}),
    Rule(r"\b(?:__builtin_ia32_ldmxcsr|_mm_setcsr|_MM_SET_\w+|fesetenv|fesetround)\s*\(",
         "modes of the processor: FlushScope alone sets one (N20)", ARITHMETIC,
         {"optimized/simd/flush_scope.h": "FlushScope"}),
    Rule(r"\busing\s+namespace\s+std\b", "using namespace std", EVERYWHERE),
    Rule(r"\bstd\s*::\s*(?:mt19937(?:_64)?|\w+_distribution)\b",
         "random numbers come from the counter-based generator",
         JUDGED + ("bench/",)),
    Rule(r"(?<![\w.>])s?rand\s*\(|\bstd\s*::\s*random_device\b",
         "random numbers must be reproducible", EVERYWHERE,
         {"verify/run/fresh_data.cc": "a gate's draw, which its receipt says"}),
)
# Looked for in comments too.
TEXT_RULES = (
    (re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b"),
     "finish it or open an issue: no markers in the tree"),
)


def governs(rule, path):
    return (path.startswith(rule.where) and
            not any(path.startswith(prefix) for prefix in rule.except_in))


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_rules(path, text):
    code = sources.code_only(text)
    for rule in RULES:
        if governs(rule, path):
            for match in re.finditer(rule.pattern, code):
                yield Finding(path, line_of(code, match.start()), rule.message)


def check_text(path, text):
    for pattern, message in TEXT_RULES:
        for match in pattern.finditer(text):
            yield Finding(path, line_of(text, match.start()), message)
    lines = text.splitlines()
    if len(lines) > MAX_LINES and LONG_REASON not in "".join(lines[:2]):
        yield Finding(path, 1, f"{len(lines)} lines: split the file, or say why in "
                               f"the first line ('{LONG_REASON} ...')")


def check(root):
    found = []
    for path in sources.files(root, (".h", ".cc", ".inc", ".py", ".sh")):
        if path.startswith(".ci/check_forbidden"):
            continue  # Its planted defects are what it looks for.
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        found.extend(check_text(path, text))
        if path.split("/")[0] in sources.ROOMS and not path.endswith(
                (".py", ".sh")):
            found.extend(check_rules(path, text))
    return found


CLEAN = {
    "reference/a.cc": "// std::exp(x) in a comment\n"
                      "float F(float x) { return Exp(x) + std::fma(x, x, x); }\n"
                      'const char* k = "std::exp(x)";\n'
                      "float x = object.log(y); float z = Blog(y);\n",
    "optimized/simd/flush_scope.h": "_MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);\n",
    "optimized/attention_tuning.cc": 'std::getenv("LOCKSTEP_TUNING");\n',
    "optimized/simd/packed_dot-inl.h": "hn::ReorderWidenMulAccumulate(d, a, b);\n",
    "optimized/simd/t.h": "#if HWY_TARGET == HWY_AVX2\n#endif\n",
    "optimized/k.cc": "#if defined(A) == defined(HWY_TARGET_TOGGLE)\n#endif\n"
                      "hn::Mul(a, b); Log2(d, x);\n",
    "tests/long.cc": "// Longer than 400 lines: one table.\n" + "int;\n" * 500,
    "verify/main.cc": 'int main() { printf("x"); exit(1); }\n',
}
PLANTED = [
    ("reference/x.cc", "y = std::exp(x);", "libm"),
    ("reference/x.cc", "y = tanhf(x);", "libm"),
    ("optimized/x.cc", "y = __builtin_exp2f (x);", "libm"),
    ("verify/oracle/x.cc", "y = ::log(x);", "libm"),
    ("optimized/x-inl.h", "v = hn::Exp(d, x);", "SIMD library"),
    ("optimized/x-inl.h", "#include \"hwy/contrib/math/math-inl.h\"", "contrib"),
    ("optimized/x-inl.h", "s = hn::ReduceSum(d, v);", "order of the sum"),
    ("optimized/x-inl.h", "s = SumOfLanes(d, v);", "order of the sum"),
    ("optimized/simd/other-inl.h",
     "hn::ReorderWidenMulAccumulate(df, a, b, s0, s1);", "order of the sum"),
    ("optimized/x-inl.h", "hn::ReorderDemote2To(dbf, a, b);", "bf16"),
    ("optimized/x-inl.h", "hn::DemoteTo(dbf16, a);", "bf16"),
    ("optimized/x-inl.h", "hn::ApproximateReciprocal(v);", "approximation"),
    ("verify/x.cc", "std::reduce(a, b);", "sum"),
    ("optimized/x.cc", "#pragma omp parallel for reduction(+ : s)", "OpenMP"),
    ("optimized/x.cc", "#pragma STDC FP_CONTRACT ON", "flags"),
    ("optimized/x.cc", "#if HWY_TARGET == HWY_AVX2\n#endif", "target switch"),
    ("verify/x.h", "#pragma once", "include guard"),
    ("verify/x.cc", "throw std::runtime_error(s);", "exceptions"),
    ("reference/x.cc", "std::exit(2);", "exit"),
    ("verify/x.cc", "std::printf(s);", "printing"),
    ("optimized/x.cc", "std::cerr << 1;", "printing"),
    ("optimized/x-inl.h", 'if (getenv("FTZ")) F();', "environment"),
    ("reference/x.cc", 'std::getenv("A");', "environment"),
    ("optimized/x-inl.h", "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 64);",
     "modes"),
    ("tests/x.cc", "std::random_device g;", "random"),
    ("verify/x.cc", "std::mt19937 g;", "random"),
    ("bench/x.cc", "// TODO: later", "markers"),
    ("reference/x.cc", "int;\n" * 401, "split the file"),
]

if __name__ == "__main__":
    sources.main(check, CLEAN, PLANTED)

// Fails when the compiler, its flags or the start-up code break the numerics
// contract: N1 (subnormals, signed zeros, NaN), N2 (conditional truncation), N4
// (contraction) and the order of sums (reassociation).
// tests/canary/CMakeLists.txt builds it once with the project's flags, which
// must pass, and again with planted defects, each of which must be named here.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>

// Kernels are compiled with a target attribute, so the probes that a wider
// target could change are compiled so as well.
#define CANARY_FMA __attribute__((noinline, target("avx2,fma")))
#define CANARY_BASE __attribute__((noinline))

namespace {

constexpr int kCount = 64;

// Not known at compile time, so that nothing is folded away.
volatile float one = 1.0f;
volatile float zero = 0.0f;
volatile bool yes = true;

int failures = 0;

void Expect(bool ok, const char* what) {
  if (ok) return;
  std::printf("canary died: %s\n", what);
  ++failures;
}

uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }

typedef float Vector __attribute__((vector_size(32)));

CANARY_BASE float MultiplyAdd(float a, float b, float c) { return a * b + c; }
CANARY_FMA float MultiplyAddFma(float a, float b, float c) { return a * b + c; }

CANARY_FMA float MultiplyAddStatementsFma(float a, float b, float c) {
  const float product = a * b;
  return c + product;
}

CANARY_FMA void MultiplyAddVectorFma(const Vector* a, const Vector* b,
                                     Vector* c) {
  *c = *a * *b + *c;
}

CANARY_FMA double MultiplyAddDoubleFma(double a, double b, double c) {
  return a * b + c;
}

void CheckContraction(bool cpu_has_fma) {
  // a * a = 1 + 2^-11 + 2^-24 exactly; its last term is lost by rounding to f32
  // and survives in a fused operation.
  const float a = one + 0x1p-12f;
  const float c = -(one + 0x1p-11f);
  Expect(MultiplyAdd(a, a, c) == 0.0f, "contracted (baseline)");
  Expect(std::fma(a, a, c) == 0x1p-24f, "std::fma is not fused");
  if (!cpu_has_fma) return;
  Expect(MultiplyAddFma(a, a, c) == 0.0f, "contracted");
  Expect(MultiplyAddStatementsFma(a, a, c) == 0.0f,
         "contracted across statements");
  const Vector va = {a, a, a, a, a, a, a, a};
  Vector vc = {c, c, c, c, c, c, c, c};
  MultiplyAddVectorFma(&va, &va, &vc);
  Expect(vc[0] == 0.0f && vc[7] == 0.0f, "contracted (vector)");
  const double d = 1.0 + 0x1p-27 * static_cast<double>(one);
  Expect(MultiplyAddDoubleFma(d, d, -(1.0 + 0x1p-26)) == 0.0,
         "contracted (binary64)");
}

CANARY_BASE float Sum(const float* x, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum = sum + x[i];
  return sum;
}

CANARY_FMA float DotFma(const float* x, const float* y, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum = std::fma(x[i], y[i], sum);
  return sum;
}

CANARY_BASE float AddThenSubtract(float x, float y) { return (x + y) - y; }
CANARY_BASE float AddZero(float x) { return x + 0.0f; }
CANARY_BASE bool IsNan(float x) { return x != x; }

CANARY_BASE void DivideAll(float* x, int n, float by) {
  for (int i = 0; i < n; ++i) x[i] = x[i] / by;
}

void CheckAlgebra(bool cpu_has_fma) {
  // 2^24 + 1 is a tie that rounds back to 2^24: in ascending order the ones are
  // all lost, in any other order some of them survive.
  float x[kCount];
  float ones[kCount];
  for (int i = 0; i < kCount; ++i) x[i] = ones[i] = one;
  x[0] = 0x1p24f * one;
  Expect(Sum(x, kCount) == 0x1p24f, "reassociated (sum)");
  if (cpu_has_fma) {
    Expect(DotFma(x, ones, kCount) == 0x1p24f, "reassociated (dot)");
  }
  Expect(AddThenSubtract(one, 0x1p24f) == 0.0f, "reassociated (x + y - y)");
  Expect(Bits(AddZero(-zero)) == 0, "x + 0 taken for x, so -0 survives");
  Expect(IsNan(zero / zero), "NaN assumed away");
  float thirds[kCount];
  for (int i = 0; i < kCount; ++i) thirds[i] = static_cast<float>(i);
  DivideAll(thirds, kCount, 49.0f * one);
  bool exact = true;
  for (int i = 0; i < kCount; ++i) {
    // The quotient of two small integers, rounded once from binary64, is the
    // correctly rounded one (no double rounding below 2^24).
    exact = exact && thirds[i] == static_cast<float>(i / 49.0);
  }
  Expect(exact, "division replaced by multiplication");
}

CANARY_BASE float Half(float x) { return x * 0.5f; }

void CheckEnvironment() {
  volatile float smallest_normal = 0x1p-126f;
  const float half = Half(smallest_normal);
  Expect(Bits(half) == 0x00400000u, "flushed a subnormal result (FTZ)");
  volatile float subnormal = std::bit_cast<float>(0x00400000u);
  const float twice = subnormal + subnormal;
  Expect(Bits(twice) == 0x00800000u, "read a subnormal as zero (DAZ)");
  Expect(one + 0x1p-24f == 1.0f && one + 0x1.8p-23f == 1.0f + 0x1p-22f,
         "does not round to nearest even");
}

CANARY_BASE float TruncateIf(float x, bool condition) {
  if (condition) x = std::bit_cast<float>(Bits(x) & 0xffff0000u);
  return x;
}

CANARY_BASE float SumTruncatedIf(const float* x, int n, bool condition) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) {
    float term = x[i];
    if (condition) term = std::bit_cast<float>(Bits(term) & 0xffff0000u);
    sum = sum + term;
  }
  return sum;
}

void CheckConditionalTruncation() {
  const float x = one + 0x1p-20f;
  Expect(TruncateIf(x, yes) == 1.0f, "conditional truncation dropped");
  float terms[kCount];
  for (float& term : terms) term = x;
  Expect(SumTruncatedIf(terms, kCount, yes) == static_cast<float>(kCount),
         "conditional truncation dropped (in a loop)");
}

}  // namespace

int main() {
  const bool cpu_has_fma =
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  CheckContraction(cpu_has_fma);
  CheckAlgebra(cpu_has_fma);
  CheckEnvironment();
  CheckConditionalTruncation();
  if (!cpu_has_fma) std::printf("no FMA on this CPU: those probes not run\n");
  std::printf("canary: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

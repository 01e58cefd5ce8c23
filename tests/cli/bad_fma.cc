// Preloaded by verdicts_test.py: a C library whose fma rounds twice.
extern "C" double fma(double a, double b, double c) noexcept {
  return a * b + c;
}

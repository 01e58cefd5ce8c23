#include "verify/oracle/lane_check.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <vector>

#include "verify/oracle/elementary.h"
#include "verify/oracle/kernels.h"
#include "verify/oracle/lanes.h"
#include "verify/oracle/targets.h"

namespace lockstep::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Zeros, halves to either even neighbour, the last half below 2^52, the ends of
// the subnormal and the normal range, neighbours of 1; behind them
// more halves and the ends of the exponential's range.
constexpr std::array kEdges = {
    0.0, -0.0, 1.0, -1.5, 0x1.0000000000001p0, 0x1p-1074,
    -0x0.fffffffffffffp-1022, 0x1p-1022, 0x1.fffffffffffffp1023,
    -0x1.fffffffffffffp1023, kInfinity, -kInfinity, kNaN, 0.5,
    // Not in triples.
    2.5, 0x1.fffffffffffffp-2, -0x1.fffffffffffffp51, 0x1p52, -kNaN,
    -0x1.fffffffffffffp-1, -kLeastExp, kLeastExp};
constexpr size_t kTripleEdges = 14;

enum class Domain : uint8_t { kOne, kTwo, kThree, kExponents };

struct Twin {
  const char* name;
  Domain domain;
  double (*primitive)(double a, double b, double c);
};

// In the order of Primitive. The elementary functions' twins are their scalar
// instances, which the tests hold against long double.
constexpr std::array<Twin, kPrimitives> kTwins = {{
    {"a + b", Domain::kTwo, [](double a, double b, double) { return a + b; }},
    {"a - b", Domain::kTwo, [](double a, double b, double) { return a - b; }},
    {"a * b", Domain::kTwo, [](double a, double b, double) { return a * b; }},
    {"a / b", Domain::kTwo, [](double a, double b, double) { return a / b; }},
    {"a * b + c", Domain::kThree,
     [](double a, double b, double c) { return a * b + c; }},
    {"fma", Domain::kThree,
     [](double a, double b, double c) { return std::fma(a, b, c); }},
    {"abs", Domain::kOne,
     [](double a, double, double) { return std::fabs(a); }},
    {"round", Domain::kOne,
     [](double a, double, double) { return std::nearbyint(a); }},
    {"a < b", Domain::kTwo,
     [](double a, double b, double) { return a < b ? 1.0 : 0.0; }},
    {"select", Domain::kThree,
     [](double a, double b, double c) { return a < b ? b : c; }},
    {"max", Domain::kTwo,
     [](double a, double b, double) { return b < a ? a : b; }},
    {"min", Domain::kTwo,
     [](double a, double b, double) { return a < b ? a : b; }},
    {"power of two", Domain::kExponents,
     [](double a, double, double) {
       return std::ldexp(1, static_cast<int>(a));
     }},
    {"exp", Domain::kOne,
     [](double a, double, double) { return Exp(ScalarLane(a)).value; }},
    {"exp - 1", Domain::kOne,
     [](double a, double, double) { return ExpMinusOne(ScalarLane(a)).value; }},
    {"tanh", Domain::kOne,
     [](double a, double, double) {
       return TanhWithSlope(ScalarLane(a)).tanh.value;
     }},
    {"slope of tanh", Domain::kOne,
     [](double a, double, double) {
       return TanhWithSlope(ScalarLane(a)).slope.value;
     }},
}};

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Words {
 public:
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  // Either sign, any significand, exponent in [low, high] of normal numbers.
  double Real(int low, int high) {
    const uint64_t word = Next();
    const auto count = static_cast<uint64_t>(int64_t{high} - low + 1);
    const auto field =
        static_cast<uint64_t>(low + 1023) + ((word >> 1 & 0x7ff) * count >> 11);
    return std::bit_cast<double>(word << 63 | field << 52 | word >> 12);
  }

 private:
  uint64_t state_ = 0;
};

struct Operands {
  std::vector<double> a, b, c;

  void Add(double x, double y, double z) {
    a.push_back(x);
    b.push_back(y);
    c.push_back(z);
  }
  // A multiple of kPanel, as the loops want it.
  void Pad() {
    while (a.size() % kPanel != 0) Add(1, 1, 1);
  }
};

// 256 lanes of each kind: any bits at all; ordinary numbers; products that
// meet a subnormal c; halves; a * b + c that is nothing but the rounding error
// of a * b, where an fma of two roundings gives 0; sums that are halfway
// between two doubles; arguments of exp.
void AddRandom(Operands* x) {
  Words words;
  for (int n = 0; n < 256; ++n) {
    x->Add(std::bit_cast<double>(words.Next()),
           std::bit_cast<double>(words.Next()),
           std::bit_cast<double>(words.Next()));
    x->Add(words.Real(-8, 8), words.Real(-8, 8), words.Real(-8, 8));
    x->Add(words.Real(-560, -490), words.Real(-560, -490),
           words.Real(-1022, -1000) * 0x1p-30);
    const double whole = std::nearbyint(words.Real(0, 20));
    x->Add(whole + 0.5, whole - 0.5, -whole);
    const double a = words.Real(-3, 3), b = words.Real(-3, 3);
    x->Add(a, b, -(a * b));
    x->Add(words.Real(52, 52), std::nearbyint(words.Real(1, 6)) + 0.5, 0.5);
    x->Add(words.Real(-40, 9), words.Real(4, 9), words.Real(-4, 4));
  }
}

bool Same(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) ||
         std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
}

std::string Hex(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", x);
  return text;
}

constexpr char kBroken[] =
    "): this build or machine does not keep IEEE binary64, so no error bound "
    "holds";

void AddEdges(Domain domain, Operands* x) {
  if (domain == Domain::kThree) {
    const std::span edges(kEdges.data(), kTripleEdges);
    for (const double a : edges) {
      for (const double b : edges) {
        for (const double c : edges) x->Add(a, b, c);
      }
    }
    return;
  }
  for (const double a : kEdges) {
    for (const double b : kEdges) {
      x->Add(a, b, 0);
      if (domain == Domain::kOne) break;
    }
  }
}

// What every primitive is tried on, and what is right.
class Expectations {
 public:
  Expectations() {
    Operands random;
    AddRandom(&random);
    for (const Domain domain : {Domain::kOne, Domain::kTwo, Domain::kThree}) {
      Operands& x = operands_[static_cast<size_t>(domain)];
      x = random;
      AddEdges(domain, &x);
    }
    Operands& exponents = operands_[static_cast<size_t>(Domain::kExponents)];
    for (int n = -1022; n <= 1023; ++n) exponents.Add(n, 0, 0);
    for (Operands& x : operands_) x.Pad();
    for (size_t p = 0; p < kPrimitives; ++p) {
      const Operands& x = Of(p);
      for (size_t i = 0; i < x.a.size(); ++i) {
        want_[p].push_back(kTwins[p].primitive(x.a[i], x.b[i], x.c[i]));
      }
    }
  }

  Status Check(const std::string& target, const LaneLoops& loops) const {
    for (size_t p = 0; p < kPrimitives; ++p) {
      const Operands& x = Of(p);
      std::vector<double> out(x.a.size());
      loops[p]({x.a.data(), x.b.data(), x.c.data(), out.data(), out.size()});
      for (size_t i = 0; i < out.size(); ++i) {
        if (Same(out[i], want_[p][i])) continue;
        return Status::Error("the oracle's '" + std::string(kTwins[p].name) +
                             "' on " + target + " gives " + Hex(out[i]) +
                             " where " + Hex(want_[p][i]) + " is right (a " +
                             Hex(x.a[i]) + ", b " + Hex(x.b[i]) + ", c " +
                             Hex(x.c[i]) + kBroken);
      }
    }
    return {};
  }

 private:
  const Operands& Of(size_t p) const {
    return operands_[static_cast<size_t>(kTwins[p].domain)];
  }

  std::array<Operands, 4> operands_;  // by Domain
  std::array<std::vector<double>, kPrimitives> want_;
};

// (1 + 2^-30)(1 - 2^-30) - 1: the twin itself must round once.
Status CheckTwin() {
  volatile double above = 0x1.00000004p0, below = 0x1.fffffff8p-1;
  if (std::fma(above, below, -1.0) == -0x1p-60) return {};
  return Status::Error("std::fma rounds twice (C library" +
                       std::string(kBroken));
}

}  // namespace

Status CheckLanes(const std::string& target, const LaneLoops& loops) {
  const Status twin = CheckTwin();
  return twin.ok() ? Expectations().Check(target, loops) : twin;
}

Status CheckTargets() {
  const Status twin = CheckTwin();
  if (!twin.ok()) return twin;
  const Expectations expected;
  for (const Target target : SupportedTargets()) {
    const Status status =
        expected.Check(TargetName(target), KernelsOf(target).lanes);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace lockstep::oracle

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/case.h"
#include "verify/case/fill.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/case/mamba3_scan/probe.h"
#include "verify/case/text.h"

namespace lockstep::verify {
namespace {

using Runs = Mamba3ScanProblem::Runs;

// Elements between neighbouring rows: enough for every alignment.
constexpr int64_t kMaxPad = 4096;

Status CheckCu(const Mamba3ScanCase& c) {
  const auto& cu = c.cu;
  const auto refuse = [](const std::string& what) {
    return Status::Error("cu: " + what);
  };
  if (cu.size() < 2) return refuse("want 0 and the end of every run");
  for (size_t i = 1; i < cu.size(); ++i) {
    if (cu[i] >= cu[i - 1]) continue;
    return refuse("descends from " + std::to_string(cu[i - 1]) + " to " +
                  std::to_string(cu[i]) + " at entry " + std::to_string(i));
  }
  if (cu.front() == 0 && cu.back() == c.problem.length) return {};
  return refuse("covers tokens " + std::to_string(cu.front()) + ".." +
                std::to_string(cu.back()) + "; want 0.." +
                std::to_string(c.problem.length));
}

Status CheckSeg(const Mamba3ScanCase& c) {
  if (c.seg.kind == Segments::Kind::kFile) {
    return Status::Error("seg: a scan's segments come from no file");
  }
  const auto rows = static_cast<int64_t>(c.seg.rows.size());
  if (rows != 1 && rows != c.problem.batch) {
    return Status::Error("seg has " + std::to_string(rows) +
                         " rows; want 1 or one per row (" +
                         std::to_string(c.problem.batch) + ")");
  }
  for (const auto& row : c.seg.rows) {
    int64_t sum = 0;
    for (const SegmentRun& run : row) {
      if (__builtin_add_overflow(sum, run.length, &sum)) sum = INT64_MAX;
    }
    if (sum == c.problem.length) continue;
    return Status::Error("seg: the lengths sum to " + std::to_string(sum) +
                         ", t is " + std::to_string(c.problem.length));
  }
  return {};
}

Status CheckRuns(const Case& c) {
  const Mamba3ScanCase& scan = c.Get<Mamba3ScanCase>();
  const bool segments = scan.seg.kind != Segments::Kind::kNone;
  if (segments && !scan.cu.empty()) {
    return Status::Error("seg and cu: runs are given in one way only");
  }
  if (c.Has<Mamba3StepCase>() && (segments || !scan.cu.empty())) {
    return Status::Error("mamba3_step decodes whole rows: no seg, no cu");
  }
  if (segments) return CheckSeg(scan);
  return scan.cu.empty() ? Status() : CheckCu(scan);
}

// All four parts, or none; theta is nothing without angles.
Status CheckCarry(const Mamba3ScanCase& c) {
  const auto has = [&](char part) {
    return c.carry.find(part) != c.carry.npos;
  };
  const bool theta = has('t') || (!c.carry.empty() && c.problem.angles == 0);
  if (c.carry.empty() || (theta && has('h') && has('k') && has('v'))) return {};
  const auto word = [](bool given) { return given ? "given" : "missing"; };
  return Status::Error(std::string("carry is partial: theta ") + word(theta) +
                       ", h " + word(has('h')) + ", k " + word(has('k')) +
                       ", v " + word(has('v')) + "; want all or none");
}

// Smallest and largest value that a term can draw.
std::pair<double, double> Range(const FillTerm& term) {
  const double a = term.a.value;
  switch (term.kind) {
    case FillKind::kConst:
      return {a, a};
    case FillKind::kUniform:
    case FillKind::kInt:
      return {a, term.b.value};
    default:
      return {-a, a};
  }
}

Status CheckSource(const char* key, const std::optional<FillTerm>& term,
                   double sign, const char* want) {
  if (!term) return {};
  const Status status = ValidateFillTerm(*term);
  if (!status.ok())
    return Status::Error(std::string(key) + ": " + status.message());
  const auto [low, high] = Range(*term);
  // Of the signed least value: >= 0 holds for no NaN.
  const bool sound = sign == 0 || (std::isfinite(low) && std::isfinite(high) &&
                                   std::min(sign * low, sign * high) >= 0);
  if (sound) return {};
  return Status::Error(std::string(key) + "=" + FormatFillTerm(*term) +
                       ": want " + want);
}

Status CheckFill(const Mamba3ScanCase& c) {
  for (const FillTerm& term : c.fill) {
    RETURN_IF_ERROR(ValidateFillTerm(term));
    switch (term.kind) {
      case FillKind::kFile:
      case FillKind::kPoison:
      case FillKind::kSpread:
      case FillKind::kCaps:
      case FillKind::kDrift:
      case FillKind::kLow:
      case FillKind::kPeak:
        return Status::Error("fill " + FormatFillTerm(term) +
                             ": not for a scan");
      default:
        break;
    }
  }
  return {};
}

// A probe's inputs prove something only as they are, and for this problem.
Status CheckProbe(const Mamba3ScanCase& c) {
  const std::optional<ProbeKind> probe = ProbeOf(c);
  if (!probe) return {};
  const std::string name = std::string("fill probe:") + ProbeName(*probe);
  if (c.fill.size() > 1 || c.poison) {
    return Status::Error(name + " stands alone, without poison");
  }
  if (c.a || c.dt || (c.tau && !AlwaysSure(c)) || c.rate) {
    return Status::Error(
        name + " brings a, dt, tau and rate; only tau=const:inf stays");
  }
  const std::string why = WhyNotScanProbe(*probe, ToProblem(c));
  return why.empty() ? Status() : Status::Error(name + ": " + why);
}

Status CheckSources(const Mamba3ScanCase& c) {
  Status status = CheckSource("a", c.a, -1, "finite values <= 0");
  if (status.ok()) status = CheckSource("dt", c.dt, 1, "finite values >= 0");
  if (status.ok()) status = CheckSource("tau", c.tau, 0, "");
  if (status.ok()) status = CheckSource("rate", c.rate, 0, "");
  if (status.ok()) status = CheckFill(c);
  return status.ok() ? CheckProbe(c) : status;
}

Status CheckPlaces(const Mamba3ScanCase& c) {
  if (c.pad > kMaxPad) {
    return Status::Error("pad=" + std::to_string(c.pad) +
                         " is out of range; want 0.." +
                         std::to_string(kMaxPad));
  }
  const int64_t runs = CountRuns(c);
  if (c.poison && *c.poison >= runs) {
    return Status::Error("poison=" + std::to_string(*c.poison) +
                         ": there is no such run; the case has " +
                         std::to_string(runs));
  }
  return {};
}

int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
int64_t Plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace

Mamba3ScanProblem ToProblem(const Mamba3ScanCase& c) {
  Mamba3ScanProblem p = c.problem;
  p.runs = !c.cu.empty()                         ? Runs::kCuSeqlens
           : c.seg.kind != Segments::Kind::kNone ? Runs::kSegments
                                                 : Runs::kRows;
  p.carry_in = !c.carry.empty();
  p.norm_epsilon.reset();
  if (c.norm) p.norm_epsilon = c.norm->value;
  return p;
}

std::optional<ProbeKind> ProbeOf(const Mamba3ScanCase& c) {
  return ProbeIn(c.fill);
}

std::string WhyNotMamba3ScanProbe(ProbeKind probe, const Case& c) {
  return WhyNotScanProbe(probe, ToProblem(c.Get<Mamba3ScanCase>()));
}

bool AlwaysSure(const Mamba3ScanCase& c) {
  if (c.ssd) return true;
  return c.tau && c.tau->kind == FillKind::kConst &&
         c.tau->a.value == std::numeric_limits<double>::infinity();
}

int64_t CountRuns(const Mamba3ScanCase& c) {
  if (!c.cu.empty()) return static_cast<int64_t>(c.cu.size()) - 1;
  if (c.seg.kind == Segments::Kind::kNone) return c.problem.batch;
  int64_t runs = 0;
  for (int64_t b = 0; b < c.problem.batch; ++b) {
    const size_t row = c.seg.rows.size() == 1 ? 0 : static_cast<size_t>(b);
    runs += static_cast<int64_t>(c.seg.rows[row].size());
  }
  return runs;
}

Status ValidateMamba3Scan(const Case& c) {
  const Mamba3ScanCase& scan = c.Get<Mamba3ScanCase>();
  // Extents first: everything after relies on their limits.
  Status status = Validate(ToProblem(scan));
  if (status.ok()) status = CheckRuns(c);
  if (status.ok()) status = CheckCarry(scan);
  if (status.ok()) status = CheckSources(scan);
  return status.ok() ? CheckPlaces(scan) : status;
}

int64_t Mamba3ScanBytes(const Case& c) {
  const Mamba3ScanCase& scan = c.Get<Mamba3ScanCase>();
  const Mamba3ScanProblem& p = scan.problem;
  const auto lane = static_cast<int64_t>(LaneBytes(p.lane));
  const int64_t tokens = Times(p.batch, p.length);
  const auto token_bytes = [&](int64_t heads, int64_t ranks, int64_t channels) {
    return Times(Times(tokens, heads * ranks), lane * (channels + scan.pad));
  };
  const int64_t last = p.ranks * p.state_dim + p.head_dim + p.angles;
  const int64_t states =
      Times(Times(CountRuns(scan), p.heads),
            p.head_dim * p.state_dim + (scan.ssd ? 0 : last));
  const int64_t weights =
      Times(p.heads, p.ranks * (2 * p.state_dim + 3 * p.head_dim) + 1);
  int64_t bytes =
      Plus(Times(states, scan.carry.empty() ? 4 : 8), Times(weights, 4));
  const int64_t parts[] = {
      Times(token_bytes(p.groups, p.ranks, p.state_dim), 2),
      Times(token_bytes(p.heads, 1, p.head_dim), p.gate ? 2 : 1),
      token_bytes(p.heads, p.output_ranks(), p.head_dim),
      token_bytes(p.heads, 1, p.angles),
      Times(Times(tokens, p.heads + scan.pad), 12),
      Times(tokens, 4)};
  for (const int64_t part : parts) bytes = Plus(bytes, part);
  return bytes;
}

bool Mamba3ScanNamesFiles(const Case&) { return false; }

}  // namespace lockstep::verify

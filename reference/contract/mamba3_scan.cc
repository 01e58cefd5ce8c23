#include "reference/contract/mamba3_scan.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "reference/contract/checks.h"
#include "reference/contract/mamba3_checks.h"
#include "reference/contract/mamba3_step.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {
namespace {

using checks::AngleShape;
using checks::CheckCarry;
using checks::CheckExtent;
using checks::CheckLaneTensor;
using checks::CheckNoOverlap;
using checks::CheckOptional;
using checks::CheckTensor;
using checks::CheckTensorSize;
using checks::FirstError;
using checks::QShape;
using checks::Shape;
using checks::Text;
using checks::TimeShape;
using checks::VShape;
using checks::YShape;
using Problem = Mamba3ScanProblem;
using Inputs = Mamba3ScanInputs;
using Outputs = Mamba3ScanOutputs;

Status CheckExtents(const Problem& p) {
  return FirstError({CheckExtent("b", p.batch, kMaxHeads),
                     CheckExtent("t", p.length, kMaxLength),
                     CheckExtent("h", p.heads, kMaxHeads),
                     CheckExtent("g", p.groups, kMaxHeads),
                     CheckExtent("r", p.ranks, kMaxHeads),
                     CheckExtent("n", p.state_dim, kMaxChannels),
                     CheckExtent("p", p.head_dim, kMaxChannels),
                     CheckExtent("s", p.angles, kMaxChannels, 0)});
}

Status CheckRelations(const Problem& p) {
  if (p.heads % p.groups != 0) {
    return Status::Error("h=" + Text(p.heads) +
                         " is not a multiple of g=" + Text(p.groups));
  }
  if (p.angles > p.state_dim / 2) {
    return Status::Error("s=" + Text(p.angles) + " angles turn " +
                         Text(2 * p.angles) +
                         " coordinates; n=" + Text(p.state_dim) +
                         " allows at most s=" + Text(p.state_dim / 2));
  }
  if (p.mimo() && p.angles > 0 && p.state_dim % 2 != 0) {
    return Status::Error("n=" + Text(p.state_dim) +
                         " is odd; mimo pairs coordinates i and i + n/2");
  }
  if (!p.mimo() && p.ranks != 1) {
    return Status::Error("r=" + Text(p.ranks) + " needs mimo; siso has r=1");
  }
  if (!p.mimo() && p.reduce) {
    return Status::Error("reduce needs mimo; siso has one rank");
  }
  if (p.runs == Problem::Runs::kCuSeqlens && p.batch != 1) {
    return Status::Error("b=" + Text(p.batch) +
                         " with cu_seqlens; packed sequences have b=1");
  }
  return Status();
}

Status CheckEpsilon(const Problem& p) {
  if (!p.norm_epsilon) return Status();
  const auto epsilon = static_cast<float>(*p.norm_epsilon);
  if (std::isfinite(epsilon) && epsilon > 0.0f) return Status();
  return Status::Error("norm epsilon " + Text(*p.norm_epsilon) +
                       " is not usable; want finite and > 0 in f32");
}

Status CheckActivations(const Problem& p, const Inputs& in) {
  Status status = FirstError({
      CheckLaneTensor("q", in.q, QShape(p), p.lane),
      CheckLaneTensor("k", in.k, QShape(p), p.lane),
      CheckLaneTensor("v", in.v, VShape(p), p.lane),
      CheckTensor("a", in.a, TimeShape(p)),
      CheckTensor("dt", in.dt, TimeShape(p)),
      CheckLaneTensor("tau", in.tau, TimeShape(p), p.lane),
  });
  if (status.ok() && p.angles > 0) {
    status = CheckLaneTensor("vartheta", in.vartheta, AngleShape(p), p.lane);
  }
  if (status.ok() && p.gate) {
    status = CheckLaneTensor("z", in.z, VShape(p), p.lane);
  }
  return status;
}

Status CheckWeights(const Problem& p, const Inputs& in) {
  const Shape<3> state{p.heads, p.ranks, p.state_dim};
  const Shape<3> ranks{p.heads, p.ranks, p.head_dim};
  return FirstError({
      CheckOptional("vartheta", in.vartheta, p.angles > 0, AngleShape(p),
                    "angles (s=0)"),
      CheckOptional("z", in.z, p.gate, VShape(p), "gate"),
      CheckOptional("bq", in.bq, p.bias, state, "bias"),
      CheckOptional("bk", in.bk, p.bias, state, "bias"),
      CheckOptional("d", in.d, p.skip, Shape<1>{p.heads}, "skip"),
      CheckOptional("psi", in.psi, p.mimo(), ranks, "mimo"),
      CheckOptional("zeta", in.zeta, p.mimo() && p.gate, ranks,
                    "mimo and gate"),
      CheckOptional("phi", in.phi, p.reduce, ranks, "reduce"),
      CheckOptional("norm_weight", in.norm_weight, p.norm_epsilon.has_value(),
                    Shape<2>{p.heads, p.head_dim}, "norm epsilon"),
  });
}

Status CheckCuSeqlens(const Problem& p, const Inputs& in) {
  const auto& cu = in.cu_seqlens;
  if (cu.size() < 2) {
    return Status::Error("cu_seqlens has " + Text(cu.size()) +
                         " entries; want 0, the end of every run");
  }
  if (cu.front() != 0 || cu.back() != p.length) {
    return Status::Error("cu_seqlens covers tokens " + Text(cu.front()) + ".." +
                         Text(cu.back()) + "; want 0.." + Text(p.length));
  }
  for (size_t i = 1; i < cu.size(); ++i) {
    if (cu[i] >= cu[i - 1]) continue;
    return Status::Error("cu_seqlens descends from " + Text(cu[i - 1]) +
                         " to " + Text(cu[i]) + " at entry " + Text(i));
  }
  return Status();
}

Status CheckRuns(const Problem& p, const Inputs& in) {
  const bool segments = p.runs == Problem::Runs::kSegments;
  const bool cu_seqlens = p.runs == Problem::Runs::kCuSeqlens;
  if (!cu_seqlens && !in.cu_seqlens.empty()) {
    return Status::Error("cu_seqlens given without runs by cu_seqlens");
  }
  if (cu_seqlens) {
    const Status status = CheckCuSeqlens(p, in);
    if (!status.ok()) return status;
  }
  return CheckOptional("segments", in.segments, segments,
                       Shape<2>{p.batch, p.length}, "runs by segments");
}

Status CheckGivenCarry(const Problem& p, const Inputs& in) {
  const Status status = CheckCarry("carry", p, CountRuns(p, in), in.carry);
  if (!status.ok() || in.carry.given() == p.carry_in) return status;
  return Status::Error(p.carry_in ? "carry is missing"
                                  : "carry given without carry_in");
}

// Every element finite and, times sign, >= 0.
Status CheckSign(const char* name, const TensorView<const float, 3>& x,
                 float sign, const char* want) {
  for (int64_t b = 0; b < x.shape[0]; ++b) {
    for (int64_t h = 0; h < x.shape[1]; ++h) {
      for (int64_t t = 0; t < x.shape[2]; ++t) {
        if (std::isfinite(x(b, h, t)) && x(b, h, t) * sign >= 0.0f) continue;
        return Status::Error(std::string(name) + "[b=" + Text(b) +
                             ",h=" + Text(h) + ",t=" + Text(t) + "]=" +
                             Text(x(b, h, t)) + "; want finite and " + want);
      }
    }
  }
  return Status();
}

}  // namespace

int64_t CountRuns(const Problem& problem, const Inputs& inputs) {
  if (problem.runs == Problem::Runs::kCuSeqlens) {
    return static_cast<int64_t>(inputs.cu_seqlens.size()) - 1;
  }
  int64_t runs = problem.batch;
  if (problem.runs == Problem::Runs::kRows) return runs;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t t = 1; t < problem.length; ++t) {
      runs += inputs.segments(b, t) != inputs.segments(b, t - 1) ? 1 : 0;
    }
  }
  return runs;
}

Status Validate(const Problem& p) {
  Status status = CheckExtents(p);
  if (!status.ok()) return status;
  status = FirstError({CheckRelations(p), CheckEpsilon(p)});
  if (!status.ok()) return status;
  return FirstError({
      CheckTensorSize("q", QShape(p)),
      CheckTensorSize("v", VShape(p)),
      CheckTensorSize("y", YShape(p)),
      CheckTensorSize("vartheta", AngleShape(p)),
      CheckTensorSize("state",
                      Shape<4>{p.batch, p.heads, p.head_dim, p.state_dim}),
      CheckTensorSize("bias", Shape<3>{p.heads, p.ranks, p.state_dim}),
      CheckTensorSize("psi", Shape<3>{p.heads, p.ranks, p.head_dim}),
  });
}

Status checks::CheckScanInputs(const Problem& p, const Inputs& in) {
  Status status = Validate(p);
  if (!status.ok()) return status;
  status = FirstError({CheckActivations(p, in), CheckWeights(p, in)});
  if (!status.ok()) return status;
  status = CheckRuns(p, in);
  if (!status.ok()) return status;
  status = CheckGivenCarry(p, in);
  if (!status.ok()) return status;
  status = CheckSign("a", in.a, -1.0f, "<= 0");
  return status.ok() ? CheckSign("dt", in.dt, 1.0f, ">= 0") : status;
}

Status Validate(const Problem& p, const Inputs& in, const Outputs& out) {
  const Status status = checks::CheckScanInputs(p, in);
  if (!status.ok()) return status;
  return FirstError({
      CheckCarry("exported carry", p, CountRuns(p, in), out.carry),
      checks::CheckCarryOverlap("exported carry", out.carry),
      CheckLaneTensor("y", out.y, YShape(p), p.lane),
      CheckNoOverlap("y", out.y.shape, out.y.strides),
  });
}

Status ValidateStep(const Mamba3ScanProblem& p, const Mamba3ScanInputs& in,
                    const Mamba3ScanOutputs& out) {
  if (p.length != 1) {
    return Status::Error("t=" + Text(p.length) +
                         " is no step; want one token of every row");
  }
  if (p.runs != Mamba3ScanProblem::Runs::kRows) {
    return Status::Error(
        "a step has a run in every row; want no segments and no cu_seqlens");
  }
  if (!p.carry_in || !out.carry.given()) {
    return Status::Error(std::string("a step leads from carry to carry; the ") +
                         (p.carry_in ? "exported" : "initial") +
                         " carry is missing");
  }
  return Validate(p, in, out);
}

}  // namespace lockstep

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <utility>

#include "reference/contract/checks.h"
#include "verify/base/sparse/element_ranges.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/alias.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/line.h"
#include "verify/case/attention_forward/lists.h"
#include "verify/case/attention_forward/pages.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/case/attention_forward/probe_fill.h"
#include "verify/case/attention_forward/scales.h"
#include "verify/case/attention_forward/varlen.h"
#include "verify/case/attention_forward/views.h"
#include "verify/case/case.h"
#include "verify/case/fill.h"
#include "verify/case/keys.h"
#include "verify/case/text.h"

namespace lockstep::verify {
namespace {

// Mask nodes over all heads of a problem; ToProblem copies a tree per head.
constexpr int64_t kMaxMaskNodes = int64_t{1} << 20;

int64_t CountNodes(const MaskExpr& mask) {
  int64_t nodes = 1;
  for (const MaskExpr& child : mask.children) nodes += CountNodes(child);
  return nodes;
}

Status CheckHeadMasks(const AttentionForwardCase& c) {
  if (c.head_mask.empty()) return {};
  const auto refuse = [&c](int64_t head) {
    return Status::Error(
        "mask.h" + std::to_string(head) +
        ": there is no such head; hq=" + std::to_string(c.q_heads));
  };
  if (c.head_mask.rbegin()->first >= c.q_heads) {
    return refuse(c.head_mask.rbegin()->first);
  }
  int64_t nodes = CountNodes(c.mask) * std::min(c.q_heads, kMaxHeads);
  for (const auto& [head, mask] : c.head_mask) nodes += CountNodes(mask);
  if (nodes <= kMaxMaskNodes) return {};
  return Status::Error("mask: " + std::to_string(nodes) +
                       " terms over all heads; the most is " +
                       std::to_string(kMaxMaskNodes));
}

// B * Hq * Sq is below 2^46 here: q itself has passed the contract.
Status CheckDenseSize(const AttentionForwardCase& c,
                      const DenseSource& source) {
  const auto [rows, columns] = ExtentsOf(c, source);
  int64_t bytes = c.batch * c.q_heads * rows;
  if (!__builtin_mul_overflow(bytes, columns, &bytes) &&
      bytes <= kMaxTensorBytes) {
    return {};
  }
  return Status::Error("mask: a dense mask of " + std::to_string(c.batch) +
                       "x" + std::to_string(c.q_heads) + "x" +
                       std::to_string(rows) + "x" + std::to_string(columns) +
                       " is larger than " + std::to_string(kMaxTensorBytes) +
                       " bytes");
}

Status CheckDense(const AttentionForwardCase& c) {
  RETURN_IF_ERROR(CheckLists(c));
  for (const DenseSource& source : c.dense) {
    RETURN_IF_ERROR(CheckDenseSize(c, source));
    if (source.listed()) continue;
    if (source.from_file()) continue;
    const double density = source.density.value;
    if (!(0 <= density && density <= 1)) {
      return Status::Error("mask: density " + FormatNumber(source.density) +
                           " is not between 0 and 1");
    }
    if (source.kind != DenseSource::Kind::kBlocks) continue;
    for (const int64_t block : {source.block_q, source.block_k}) {
      if (block >= 1 && block <= kMaxLength) continue;
      return Status::Error("mask: block size " + std::to_string(block) +
                           " is out of range; want 1.." +
                           std::to_string(kMaxLength));
    }
  }
  return {};
}

int64_t CountFiles(const AttentionForwardCase& c) {
  return std::count_if(c.fill.begin(), c.fill.end(), [](const FillTerm& t) {
    return t.kind == FillKind::kFile;
  });
}

Status CheckSegmentRows(const char* name, const char* extent_name,
                        const Segments& segments, int64_t batch,
                        int64_t extent) {
  const auto rows = static_cast<int64_t>(segments.rows.size());
  if (rows != 1 && rows != batch) {
    return Status::Error(std::string(name) + " has " + std::to_string(rows) +
                         " rows; want 1 or one per batch row (" +
                         std::to_string(batch) + ")");
  }
  for (const auto& row : segments.rows) {
    int64_t sum = 0;
    for (const SegmentRun& run : row) {
      // Saturated: a sum too large is wrong whatever it is.
      if (__builtin_add_overflow(sum, run.length, &sum)) sum = INT64_MAX;
    }
    if (sum == extent) continue;
    return Status::Error(std::string(name) + ": the lengths sum to " +
                         std::to_string(sum) + ", " + extent_name + " is " +
                         std::to_string(extent));
  }
  return {};
}

Status CheckSegments(const AttentionForwardCase& c) {
  using Kind = Segments::Kind;
  if ((c.q_seg.kind == Kind::kNone) != (c.kv_seg.kind == Kind::kNone)) {
    return Status::Error("q_seg and kv_seg go together; " +
                         std::string(c.q_seg.kind == Kind::kNone
                                         ? "q_seg is missing"
                                         : "kv_seg is missing"));
  }
  const auto from_fill = [](const Segments& segments) {
    return segments.kind == Kind::kFile && segments.path.empty();
  };
  if ((from_fill(c.q_seg) || from_fill(c.kv_seg)) && CountFiles(c) != 1) {
    return Status::Error(
        "segments from a file need its name, as q_seg=file:PATH, or one file: "
        "term in fill, found " +
        std::to_string(CountFiles(c)));
  }
  if (c.q_seg.kind == Kind::kRuns) {
    RETURN_IF_ERROR(CheckSegmentRows("q_seg", "sq", c.q_seg, c.batch, c.q_len));
  }
  if (c.kv_seg.kind != Kind::kRuns) return {};
  return CheckSegmentRows("kv_seg", "skv", c.kv_seg, c.batch, c.kv_len);
}

Status CheckFill(const AttentionForwardCase& c) {
  for (const FillTerm& term : c.fill) {
    RETURN_IF_ERROR(ValidateFillTerm(term));
  }
  for (const FillTerm& term : c.fill) {
    if (term.kind != FillKind::kCaps || c.softcap) continue;
    return Status::Error("fill " + FormatFillTerm(term) +
                         ": counts in caps; the case has no cap=");
  }
  if (CountFiles(c) > 1) {
    return Status::Error("fill: at most one file: term, found " +
                         std::to_string(CountFiles(c)));
  }
  if (!c.sinklogit) return {};
  const Status status = ValidateFillTerm(*c.sinklogit);
  return status.ok() ? status : Status::Error("sinklogit: " + status.message());
}

// Dense tensors are for the estimate of memory.
Status CheckSpans(const StrideOverrides& given,
                  const AttentionForwardInputs& in,
                  const AttentionForwardOutputs& out) {
  const struct {
    const char* name;
    bool given;
    int64_t span;
  } spans[] = {
      {"q", given.q.has_value(), ElementSpan(in.q.shape, in.q.strides)},
      {"k", given.k.has_value(), ElementSpan(in.k.shape, in.k.strides)},
      {"v", given.v.has_value(), ElementSpan(in.v.shape, in.v.strides)},
      {"o", given.o.has_value(), ElementSpan(out.o.shape, out.o.strides)}};
  for (const auto& [name, stated, span] : spans) {
    if (!stated || span <= kMostReach / 4) continue;
    return Status::Error("strides: " + std::string(name) +
                         " reaches over more than " +
                         std::to_string(kMostReach) + " bytes");
  }
  return {};
}

// Elements of an input share memory along axes of stride 0 alone. Probes, laws
// and draws write them one by one, and where two have one place, a right kernel
// reads what was written last.
Status CheckElementsApart(const AttentionForwardInputs& in) {
  for (const auto& [name, view] :
       {std::pair("q", &in.q), std::pair("k", &in.k), std::pair("v", &in.v)}) {
    std::array<int64_t, 4> shape = view->shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (view->strides[axis] == 0) shape[axis] = 1;
    }
    const Status apart = checks::CheckNoOverlap(name, shape, view->strides);
    if (!apart.ok()) {
      return Status::Error("strides: " + apart.message() +
                           "; want other memory for each element, or strides "
                           "of 0");
    }
  }
  return {};
}

// The contract judges all but scales through views that lead nowhere.
Status CheckViews(const AttentionForwardCase& c,
                  const AttentionForwardProblem& problem) {
  static char nothing = 0;
  static float no_float = 0;
  static int32_t no_id = 0;
  static uint8_t no_byte = 0;
  AttentionForwardInputs in = InputShapes(c);
  AttentionForwardOutputs out = OutputShapes(c);
  RETURN_IF_ERROR(CheckSpans(c.strides, in, out));
  RETURN_IF_ERROR(CheckElementsApart(in));
  AttentionForwardProblem plain = problem;
  DropScales(&plain, &in);  // CheckScales knows them
  in.q.data = in.k.data = in.v.data = out.o.data = &nothing;
  out.lse.data = &no_float;
  if (problem.segments) in.q_seg.data = in.kv_seg.data = &no_id;
  if (problem.sink) in.sink.data = &no_float;
  for (auto& dense : in.dense_masks) dense.data = &no_byte;
  return Validate(plain, in, out);
}

int64_t AddSaturated(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace

Status ValidateAttentionForward(const Case& c) {
  const AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  Status status = CheckHeadMasks(a);
  if (!status.ok()) return status;
  const AttentionForwardProblem problem = ToProblem(a);
  // Extents first: everything after relies on their limits.
  status = Validate(problem);
  if (status.ok()) status = CheckScales(c);
  if (status.ok()) status = CheckDense(a);
  if (status.ok()) status = CheckSegments(a);
  if (status.ok()) status = CheckAlias(a);
  if (status.ok()) status = CheckFill(a);
  if (status.ok()) status = CheckProbe(a, problem);
  if (status.ok()) status = CheckHeadShards(c, a.q_heads, a.kv_heads);
  if (status.ok()) status = CheckViews(a, problem);
  if (status.ok()) status = CheckPages(a);
  if (status.ok()) status = CheckVarlen(c, a);
  return status;
}

AttentionForwardProblem ToProblem(const AttentionForwardCase& c) {
  AttentionForwardProblem p;
  p.batch = c.batch;
  p.q_heads = c.q_heads;
  p.kv_heads = c.kv_heads;
  p.q_len = c.q_len;
  p.kv_len = c.kv_len;
  p.head_dim = c.head_dim;
  p.value_dim = c.value_dim;
  p.v_in_k = c.v_in_k > 0;
  p.lane = c.lane;
  p.p_lane = c.p_lane;
  p.order = c.order;
  p.split = c.split;
  p.kv_lane = c.kv_lane;
  p.k_scales = c.k_scale.layout;
  p.v_scales = c.v_scale.layout;
  p.q_lane = c.q_lane;
  p.q_scales = c.q_scale.layout;
  p.scale = c.scale.value;
  if (c.softcap) p.softcap = c.softcap->value;
  p.align = c.align;
  p.masks = {c.mask};
  if (!c.head_mask.empty() && 1 <= c.q_heads && c.q_heads <= kMaxHeads) {
    p.masks.resize(static_cast<size_t>(c.q_heads), c.mask);
    for (const auto& [head, mask] : c.head_mask) {
      if (head < c.q_heads) p.masks[static_cast<size_t>(head)] = mask;
    }
  }
  p.segments = c.q_seg.kind != Segments::Kind::kNone;
  p.sink = c.sinklogit.has_value();
  return p;
}

std::optional<ProbeKind> ProbeOf(const AttentionForwardCase& c) {
  return ProbeIn(c.fill);
}

std::string WhyNotAttentionForwardProbe(ProbeKind probe, const Case& c) {
  return WhyNotProbe(probe, ToProblem(c.Get<AttentionForwardCase>()));
}

bool AttentionForwardNamesFiles(const Case& c) {
  const AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  const auto is_file = [](const auto& x) {
    return x.kind == std::remove_cvref_t<decltype(x)>::Kind::kFile;
  };
  return is_file(a.q_seg) || is_file(a.kv_seg) || a.page.from_file() ||
         std::any_of(a.dense.begin(), a.dense.end(),
                     [](const DenseSource& s) { return s.from_file(); }) ||
         CountFiles(a) > 0;
}

int64_t AttentionForwardBytes(const Case& c) {
  const AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  const AttentionForwardInputs in = InputShapes(a);
  const AttentionForwardOutputs out = OutputShapes(a);
  const auto taken = [&](const auto& view) {
    // The judge also holds what is in fp8 as f32.
    const size_t each = IsFp8(view.lane) ? 5 : LaneBytes(view.lane);
    const auto bytes = static_cast<int64_t>(each);
    return BytesIn(ElementRanges(view.shape, view.strides, bytes));
  };
  int64_t bytes = AddSaturated(taken(out.o), PoolBytes(a));
  bytes = AddSaturated(bytes, AddSaturated(VarlenBytes(a), 2 * ListBytes(a)));
  bytes = AddSaturated(bytes, AddSaturated(taken(in.q), taken(in.k)));
  if (a.v_in_k == 0) bytes = AddSaturated(bytes, taken(in.v));
  const int64_t rows = a.batch * a.q_heads * a.q_len;
  bytes = AddSaturated(bytes, 4 * rows);
  if (a.q_seg.kind != Segments::Kind::kNone) {
    bytes = AddSaturated(bytes, 4 * a.batch * (a.q_len + a.kv_len));
  }
  for (const auto& dense : in.dense_masks) {
    int64_t elements = 1;
    for (const int64_t extent : dense.shape) {
      if (__builtin_mul_overflow(elements, extent, &elements)) {
        return INT64_MAX;
      }
    }
    bytes = AddSaturated(bytes, elements);
  }
  return bytes;
}

}  // namespace lockstep::verify

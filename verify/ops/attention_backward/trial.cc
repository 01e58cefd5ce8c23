#include "verify/ops/attention_backward/trial.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "reference/attention_backward.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/row_view.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_backward.h"
#include "verify/inputs/attention_forward/lists.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

using Kind = BackwardRow::Kind;

// Places in Outputs().
enum : size_t { kDv, kDk, kDq, kDsink };

std::vector<uint32_t> BitsOfLine(const std::vector<float>& line, Lane lane) {
  std::vector<uint32_t> bits;
  for (const float x : line) {
    bits.push_back(BitsOf(lane, static_cast<double>(x)));
  }
  return bits;
}

// Positions where faults gather: both ends, the middle, edges of documents and
// of tiles.
std::vector<int64_t> TellingPositions(int64_t n,
                                      const TensorView<const int32_t, 2>* ids) {
  std::vector<int64_t> at = {n - 1, 0, n / 2, 1, n - 2};
  for (int64_t i = 1; ids != nullptr && i < n && at.size() < 24; ++i) {
    if ((*ids)(0, i) != (*ids)(0, i - 1)) at.insert(at.end(), {i - 1, i});
  }
  for (int64_t edge = 16; edge <= 1024; edge *= 2) {
    at.insert(at.end(), {edge, edge - 1});
  }
  std::erase_if(at, [n](int64_t i) { return i < 0 || i >= n; });
  return at;
}

// What a case asks for, and what a kernel hands back besides.
std::vector<OutputSpec> OutputsOf(const Case& c, const OwnForward& own) {
  const AttentionBackwardCase& p = c.Get<AttentionBackwardCase>();
  std::vector<OutputSpec> specs = AttentionBackwardTrial::Outputs(c);
  if (own.o) {
    specs.push_back({.name = "own_o",
                     .lane = p.lane,
                     .shape = {p.batch, p.q_heads, p.q_len, p.value_dim},
                     .axes = {"b", "h", "i", "c"}});
  }
  if (own.lse) {
    specs.push_back({.name = "own_lse",
                     .lane = Lane::kF32,
                     .shape = {p.batch, p.q_heads, p.q_len, 1},
                     .axes = {"b", "h", "i", nullptr},
                     .file_shape = {p.batch, p.q_heads, p.q_len}});
  }
  for (OutputSpec& spec : specs) {
    // Numbers of heads and of rows have no channels to be laid out with.
    if (spec.file_shape.empty()) {
      spec.strides = LayoutStrides(p.layout, spec.shape);
    }
  }
  return specs;
}

}  // namespace

size_t AttentionBackwardTrial::PlaceOfOwnO() const {
  const size_t gradients = data_.problem.forward.sink ? kDsink + 1 : kDsink;
  return data_.own.o ? gradients : outputs().size();
}

size_t AttentionBackwardTrial::PlaceOfOwnLse() const {
  return data_.own.lse ? outputs().size() - 1 : outputs().size();
}

AttentionBackwardOutputs AttentionBackwardTrial::Gradients(
    const OutputSet& outputs) const {
  const auto& t = outputs.tensors;
  AttentionBackwardOutputs views{t[kDq].view, t[kDk].view, t[kDv].view, {}};
  if (data_.problem.forward.sink) {
    const MutableLaneView& sink = t[kDsink].view;
    views.dsink = {
        static_cast<float*>(sink.data), {sink.shape[2]}, {sink.strides[2]}};
  }
  return views;
}

AttentionForwardOutputs AttentionBackwardTrial::Own(
    const OutputSet& outputs) const {
  const auto& t = outputs.tensors;
  AttentionForwardOutputs views;
  if (data_.own.o) views.o = t[PlaceOfOwnO()].view;
  if (data_.own.lse) views.lse = RowView(t[PlaceOfOwnLse()].view);
  return views;
}

void AttentionBackwardTrial::HandBackGiven(const OutputSet& outputs) const {
  const auto copy = [&](const LaneTensor& from, size_t t) {
    if (t == this->outputs().size()) return;
    ForElements(from.view.shape, [&](const At& at) {
      SetElement(outputs.tensors[t].view, at,
                 ElementBits(from.const_view(), at));
    });
  };
  copy(data_.o, PlaceOfOwnO());
  copy(data_.lse, PlaceOfOwnLse());
}

std::vector<OutputSpec> AttentionBackwardTrial::Outputs(const Case& c) {
  const AttentionBackwardCase& p = c.Get<AttentionBackwardCase>();
  const auto spec = [&](const char* name, std::array<int64_t, 4> shape,
                        std::array<const char*, 4> axes) {
    return OutputSpec{
        .name = name, .lane = p.grad_lane, .shape = shape, .axes = axes};
  };
  std::vector<OutputSpec> specs = {
      spec("dv", {p.batch, p.kv_heads, p.kv_len, p.value_dim},
           {"b", "h", "j", "c"}),
      spec("dk", {p.batch, p.kv_heads, p.kv_len, p.head_dim},
           {"b", "h", "j", "c"}),
      spec("dq", {p.batch, p.q_heads, p.q_len, p.head_dim},
           {"b", "h", "i", "c"})};
  if (p.sinklogit) {
    specs.push_back({.name = "dsink",
                     .lane = Lane::kF32,
                     .shape = {1, 1, p.q_heads, 1},
                     .axes = {nullptr, nullptr, "h", nullptr},
                     .file_shape = {p.q_heads}});
  }
  return specs;
}

Result<std::unique_ptr<Trial>> AttentionBackwardTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  ASSIGN_OR_RETURN(AttentionBackwardData data,
                   MaterialiseAttentionBackward(c, options));
  return std::unique_ptr<Trial>(
      std::make_unique<AttentionBackwardTrial>(c, std::move(data)));
}

AttentionBackwardTrial::AttentionBackwardTrial(const Case& request,
                                               AttentionBackwardData data)
    : WholeTrial(OutputsOf(request, data.own)),
      case_(request),
      data_(std::move(data)) {
  if (!data_.forward.varlen) return;
  ClearAbsentRows(&data_);
  for (int64_t line = 0; line < outputs()[kDq].lines(); ++line) {
    const auto at = LineIndex(outputs()[kDq], line, 0);
    if (HasQuery(at[0], at[2])) query_lines_.push_back(line);
  }
  for (int64_t line = 0; line < outputs()[kDv].lines(); ++line) {
    const auto at = LineIndex(outputs()[kDv], line, 0);
    if (HasKey(at[0], at[2])) key_lines_.push_back(line);
  }
}

KernelInputs AttentionBackwardTrial::Inputs() const {
  KernelInputs inputs = NameInputs(data_.problem, data_.inputs);
  AddLists(data_.forward, &inputs);
  return inputs;
}

KernelCall AttentionBackwardTrial::Call(int64_t,
                                        const OutputSet& outputs) const {
  return {Inputs(), NameOutputs(Gradients(outputs), Own(outputs))};
}

std::string AttentionBackwardTrial::AddWanted(const std::string& want,
                                              KernelInputs* inputs) const {
  if (want == kVarlenWant) {
    // A kernel for ragged batches gets cases without them unchanged.
    if (!data_.forward.varlen) return "";
    if (inputs->Find("cu_seqlens_q") != nullptr) return "";
    const Result<GradientTokens>& made = tokens();
    if (!made.ok()) return made.message();
    HandOverTokens(made.value(), inputs);
    return "";
  }
  if (want == "cu_seqlens" && data_.forward.varlen) return "";
  return AddAttentionWanted(data_.forward, want, inputs);
}

std::vector<Fact> AttentionBackwardTrial::Facts() const {
  const AttentionForwardProblem& p = data_.problem.forward;
  const AttentionForwardInputs& in = data_.inputs.forward;
  const auto present = [](bool b) { return b ? "present" : "absent"; };
  return {
      {"group", std::to_string(p.group()), true},
      {"segment_ids", present(p.segments)},
      {"valid_counts", present(!in.valid_q.empty() || !in.valid_kv.empty())},
      {"sink_logits", present(p.sink)},
      {"dense_masks", std::to_string(in.dense_masks.size()), true},
      {"dlse", present(data_.problem.dlse)},
  };
}

int64_t AttentionBackwardTrial::Sinks() const {
  const AttentionForwardProblem& p = data_.problem.forward;
  return p.sink ? p.q_heads : 0;
}

int64_t AttentionBackwardTrial::Queries() const {
  return data_.forward.varlen ? static_cast<int64_t>(query_lines_.size())
                              : outputs()[kDq].lines();
}

int64_t AttentionBackwardTrial::Keys() const {
  return data_.forward.varlen ? static_cast<int64_t>(key_lines_.size())
                              : outputs()[kDv].lines();
}

int64_t AttentionBackwardTrial::rows() const {
  return Sinks() + Queries() + Keys();
}

BackwardRow AttentionBackwardTrial::RowAt(int64_t row) const {
  if (row < Sinks()) return {Kind::kSink, 0, row, 0};
  row -= Sinks();
  const bool query = row < Queries();
  int64_t line = query ? row : row - Queries();
  if (data_.forward.varlen) {
    line = (query ? query_lines_ : key_lines_)[static_cast<size_t>(line)];
  }
  const auto at = LineIndex(outputs()[query ? kDq : kDv], line, 0);
  return {query ? Kind::kQuery : Kind::kKey, at[0], at[1], at[2]};
}

int64_t AttentionBackwardTrial::RowOf(const BackwardRow& row) const {
  if (row.kind == Kind::kSink) return row.head;
  const bool query = row.kind == Kind::kQuery;
  const auto& n = outputs()[query ? kDq : kDv].shape;
  int64_t line = (row.b * n[1] + row.head) * n[2] + row.position;
  if (data_.forward.varlen) {
    const std::vector<int64_t>& lines = query ? query_lines_ : key_lines_;
    line = std::lower_bound(lines.begin(), lines.end(), line) - lines.begin();
  }
  return Sinks() + (query ? 0 : Queries()) + line;
}

std::vector<int64_t> AttentionBackwardTrial::Lines(size_t output,
                                                   int64_t row) const {
  const Kind kind = RowAt(row).kind;
  const bool of_query = output == kDq || output >= PlaceOfOwnO();
  if (output == kDsink && !of_query) {
    return kind == Kind::kSink ? std::vector{row} : std::vector<int64_t>();
  }
  if (kind != (of_query ? Kind::kQuery : Kind::kKey)) return {};
  const int64_t line = row - Sinks() - (of_query ? 0 : Queries());
  if (!data_.forward.varlen) return {line};
  return {(of_query ? query_lines_ : key_lines_)[static_cast<size_t>(line)]};
}

void AttentionBackwardTrial::OwnBits(const AttentionBackwardInputs& inputs,
                                     const BackwardRow& query,
                                     RowBits* bits) const {
  if (data_.own.o) {
    auto& line = (*bits)[PlaceOfOwnO()];
    for (int64_t c = 0; c < inputs.o.shape[3]; ++c) {
      line.push_back(
          ElementBits(inputs.o, {query.b, query.head, query.position, c}));
    }
  }
  if (data_.own.lse) {
    const float lse = inputs.lse(query.b, query.head, query.position);
    (*bits)[PlaceOfOwnLse()] = {std::bit_cast<uint32_t>(lse)};
  }
}

void AttentionBackwardTrial::RowWith(const AttentionBackwardProblem& problem,
                                     const AttentionBackwardInputs& inputs,
                                     int64_t row, RowBits* bits) const {
  bits->assign(outputs().size(), {});
  const Lane lane = problem.grad_lane;
  const BackwardRow at = RowAt(row);
  switch (at.kind) {
    case Kind::kSink: {
      // A problem that leaves the sinks out has nothing to say of them.
      const float sum = problem.forward.sink ? reference::AttentionBackwardSink(
                                                   problem, inputs, at.head)
                                             : 0.0f;
      (*bits)[kDsink] = {std::bit_cast<uint32_t>(sum)};
      return;
    }
    case Kind::kQuery:
      (*bits)[kDq] =
          BitsOfLine(reference::AttentionBackwardQuery(problem, inputs, at.b,
                                                       at.head, at.position),
                     lane);
      OwnBits(inputs, at, bits);
      return;
    case Kind::kKey:
      break;
  }
  const reference::KeyGradients key = reference::AttentionBackwardKey(
      problem, inputs, at.b, at.head, at.position);
  (*bits)[kDk] = BitsOfLine(key.dk, lane);
  (*bits)[kDv] = BitsOfLine(key.dv, lane);
}

void AttentionBackwardTrial::ReferenceRow(int64_t row, RowBits* bits) const {
  RowWith(data_.problem, data_.inputs, row, bits);
}

int64_t AttentionBackwardTrial::RowCost() const {
  const AttentionForwardProblem& p = data_.problem.forward;
  const int64_t query = p.kv_len * (2 * p.head_dim + p.value_dim);
  const int64_t key = p.group() * p.q_len * (2 * p.head_dim + 3 * p.value_dim);
  const int64_t sink = p.sink ? p.batch * p.q_len * (p.value_dim + 1) : 0;
  return std::max({query, key, sink});
}

std::vector<int64_t> AttentionBackwardTrial::TellingRows() const {
  const AttentionForwardProblem& p = data_.problem.forward;
  const AttentionForwardInputs& in = data_.inputs.forward;
  const auto keys =
      TellingPositions(p.kv_len, p.segments ? &in.kv_seg : nullptr);
  const auto queries =
      TellingPositions(p.q_len, p.segments ? &in.q_seg : nullptr);
  std::vector<int64_t> rows;
  if (p.sink) rows.push_back(p.q_heads - 1);
  const int64_t last = p.batch - 1;
  const auto add = [&](const BackwardRow& row) {
    const bool there = row.kind == Kind::kKey ? HasKey(row.b, row.position)
                                              : HasQuery(row.b, row.position);
    if (there) rows.push_back(RowOf(row));
  };
  // With rows of many lengths, the ends of each row are included.
  for (int64_t b = 0; data_.forward.varlen && b < p.batch; ++b) {
    for (const int64_t from_end : {1, 2}) {
      const int64_t key = in.ValidKv(p, b) - from_end;
      const int64_t query = in.ValidQ(p, b) - from_end;
      if (key >= 0) add({Kind::kKey, b, p.kv_heads - 1, key});
      if (query >= 0) add({Kind::kQuery, b, p.q_heads - 1, query});
    }
    add({Kind::kKey, b, 0, 0});
    add({Kind::kQuery, b, 0, 0});
  }
  for (size_t n = 0; n < std::max(keys.size(), queries.size()); ++n) {
    if (n < keys.size()) {
      add({Kind::kKey, last, p.kv_heads - 1, keys[n]});
      add({Kind::kKey, 0, 0, keys[n]});
    }
    if (n < queries.size()) {
      add({Kind::kQuery, last, p.q_heads - 1, queries[n]});
      add({Kind::kQuery, 0, 0, queries[n]});
    }
  }
  return rows;
}

std::vector<int64_t> AttentionBackwardTrial::SegmentStarts(
    size_t output, const std::array<int64_t, 4>& at) const {
  const AttentionForwardInputs& inputs = data_.inputs.forward;
  const std::string axis = outputs()[output].axes[2];
  if (axis == "h") return {};
  return SegmentStartsOf(data_.problem.forward,
                         axis == "j" ? inputs.kv_seg : inputs.q_seg, at[0]);
}

}  // namespace lockstep::verify

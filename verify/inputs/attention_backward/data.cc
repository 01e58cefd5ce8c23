#include "verify/inputs/attention_backward/data.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "optimized/row_keys.h"
#include "reference/attention_forward.h"
#include "verify/base/digest.h"
#include "verify/base/row_view.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_backward.h"
#include "verify/inputs/attention_backward/probe.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/inputs/attention_forward_file.h"
#include "verify/inputs/fill.h"

namespace lockstep::verify {
namespace {

// Behind the streams of attention_forward's tensors.
constexpr uint32_t kStreamDo = 4;
constexpr uint32_t kStreamDlse = 5;
constexpr uint32_t kStreamO = 6;  // of its poison

// Multiply-adds of a forward pass above which the optimized one is called,
// which has the same bits.
constexpr int64_t kReferenceWork = int64_t{1} << 22;

using Shape = std::array<int64_t, 4>;

void ShowTensors(AttentionBackwardData* data) {
  AttentionBackwardInputs& in = data->inputs;
  in.forward = data->forward.inputs;
  in.o = data->o.const_view();
  in.d_o = data->d_o.const_view();
  in.lse = RowView(data->lse.const_view());
  if (data->problem.dlse) in.dlse = RowView(data->dlse.const_view());
}

bool OptimizedRuns(const AttentionForwardProblem& p,
                   const AttentionForwardInputs& in,
                   const AttentionForwardOutputs& out) {
  if (p.batch * p.q_heads * p.q_len <=
      kReferenceWork / (p.kv_len * (p.head_dim + p.value_dim))) {
    return false;
  }
  const Result<optimized::Plan> plan = optimized::MakePlan(p, {});
  return plan.ok() &&
         optimized::AttentionForward(p, in, plan.value(), out, nullptr).ok();
}

class GradientMaterialiser {
 public:
  GradientMaterialiser(const Case& c, const MaterialiseOptions& options)
      : case_(c),
        a_(c.Get<AttentionBackwardCase>()),
        options_(options),
        generator_(c.gen, c.seed) {}

  Result<AttentionBackwardData> Run() {
    ASSIGN_OR_RETURN(data_.forward,
                     Materialise(WithoutGradProbe(case_), options_));
    data_.problem = ToBackwardProblem(a_);
    data_.own = options_.own;
    Status status = AllocateAll();
    if (!status.ok()) return status;
    status = FillCotangents();
    if (!status.ok()) return status;
    ShowTensors(&data_);
    if (const auto probe = ProbeOf(a_)) {
      status = FillGradProbe(*probe, case_.seed, &data_);
    } else {
      status = RunForward(&data_);
    }
    if (!status.ok()) return status;
    PoisonUnseen();
    return std::move(data_);
  }

 private:
  Status Allocate(Lane lane, const Shape& shape, const Shape& strides,
                  LaneTensor* to) {
    ASSIGN_OR_RETURN(
        auto allocated,
        AllocateLaneTensor(lane, shape, strides, options_.alignment_shift));
    *to = std::move(allocated);
    return {};
  }

  Status AllocateAll() {
    const Shape o{a_.batch, a_.q_heads, a_.q_len, a_.value_dim};
    const Shape rows{a_.batch, a_.q_heads, a_.q_len, 1};
    const Shape dense = LayoutStrides(a_.layout, o);
    Status status =
        Allocate(a_.lane, o, a_.strides.o.value_or(dense), &data_.o);
    if (status.ok()) status = Allocate(a_.lane, o, dense, &data_.d_o);
    if (status.ok()) {
      status = Allocate(Lane::kF32, rows, DenseStrides(rows), &data_.lse);
    }
    if (!status.ok() || !a_.dlse) return status;
    return Allocate(Lane::kF32, rows, DenseStrides(rows), &data_.dlse);
  }

  Status FillCotangents() {
    FillPlan plan;
    plan.stream = kStreamDo;
    plan.terms = a_.d_o;
    // The plan points into the file.
    std::optional<SafetensorsFile> file;
    for (const FillTerm& term : a_.d_o) {
      if (term.kind != FillKind::kFile) continue;
      ASSIGN_OR_RETURN(auto opened,
                       OpenPinned(term.path, term.digest, options_));
      file = std::move(opened);
      RETURN_IF_ERROR(PlanFileTensor(*file, "do", data_.d_o.view.shape, &plan));
    }
    FillTensor(generator_, plan, data_.d_o.view);
    if (!a_.dlse) return {};
    const std::array<FillTerm, 1> terms = {*a_.dlse};
    plan.stream = kStreamDlse;
    plan.terms = terms;
    FillTensor(generator_, plan, data_.dlse.view);
    return {};
  }

  // Rows of o and do whose query sees no key.
  void PoisonUnseen() {
    const bool wanted =
        std::any_of(a_.fill.begin(), a_.fill.end(), [](const FillTerm& term) {
          return term.kind == FillKind::kPoison && (term.tensors & kFillQ) != 0;
        });
    if (!wanted) return;
    for (const QueryPlace& at : EmptyQueries(data_)) {
      PoisonRow(generator_, kStreamO, data_.o.view, at);
      PoisonRow(generator_, kStreamDo, data_.d_o.view, at);
    }
  }

  const Case& case_;
  const AttentionBackwardCase& a_;
  const MaterialiseOptions& options_;
  CounterGenerator generator_;
  AttentionBackwardData data_;
};

// A copy of one tensor's bytes; the first error stays.
void CopyTensor(const LaneTensor& from, LaneTensor* to, Status* status) {
  if (!status->ok() || from.buffer.data() == nullptr) return;
  auto buffer = from.buffer.Copy();
  if (!buffer.ok()) {
    *status = buffer.status();
    return;
  }
  to->buffer = std::move(buffer.value());
  to->view = from.view;
  to->view.data = to->buffer.data();
}

}  // namespace

std::string AttentionBackwardData::StorageDigest() const {
  return DigestText(forward.StorageDigest() + o.buffer.Digest() +
                    d_o.buffer.Digest() + lse.buffer.Digest() +
                    dlse.buffer.Digest());
}

std::vector<QueryPlace> EmptyQueries(const AttentionBackwardData& data) {
  const AttentionForwardProblem& p = data.problem.forward;
  std::vector<QueryPlace> empty;
  for (int64_t b = 0; b < p.batch; ++b) {
    optimized::RowKeys keys(p, data.inputs.forward, b, p.segments);
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        if (keys.Visible(h, i).empty()) empty.push_back({b, h, i});
      }
    }
  }
  return empty;
}

Status RunForward(AttentionBackwardData* data) {
  const AttentionForwardOutputs out = {data->o.view, RowView(data->lse.view)};
  const AttentionForwardProblem& p = data->problem.forward;
  if (OptimizedRuns(p, data->inputs.forward, out)) return {};
  return reference::AttentionForward(p, data->inputs.forward, out);
}

Result<AttentionBackwardData> MaterialiseAttentionBackward(
    const Case& c, const MaterialiseOptions& options) {
  // The views that Validate wants come with the tensors: it cannot fail here.
  return GradientMaterialiser(c, options).Run();
}

Result<AttentionBackwardData> Clone(const AttentionBackwardData& data) {
  AttentionBackwardData copy;
  ASSIGN_OR_RETURN(copy.forward, Clone(data.forward));
  copy.problem = data.problem;
  copy.own = data.own;
  Status status;
  CopyTensor(data.o, &copy.o, &status);
  CopyTensor(data.d_o, &copy.d_o, &status);
  CopyTensor(data.lse, &copy.lse, &status);
  CopyTensor(data.dlse, &copy.dlse, &status);
  if (!status.ok()) return status;
  ShowTensors(&copy);
  return copy;
}

Result<AttentionBackwardData> PickGradients(const AttentionBackwardData& from,
                                            const AttentionPick& pick,
                                            AttentionForwardCase* to) {
  AttentionBackwardData made;
  ASSIGN_OR_RETURN(made.forward, PickAttention(from.forward, pick, to));
  made.problem = from.problem;
  made.problem.forward = made.forward.problem;
  made.own = from.own;
  const struct {
    const LaneTensor* source;
    LaneTensor* made;
    Layout layout;
  } tensors[] = {{&from.o, &made.o, to->layout},
                 {&from.d_o, &made.d_o, to->layout},
                 {&from.lse, &made.lse, Layout::kBhsd},
                 {&from.dlse, &made.dlse, Layout::kBhsd}};
  for (const auto& [source, tensor, layout] : tensors) {
    if (source->buffer.data() == nullptr) continue;
    ASSIGN_OR_RETURN(LaneTensor picked, PickQueries(*source, pick, layout));
    *tensor = std::move(picked);
  }
  ShowTensors(&made);
  return made;
}

KernelInputs NameInputs(const AttentionBackwardProblem& problem,
                        const AttentionBackwardInputs& inputs) {
  KernelInputs named = NameInputs(problem.forward, inputs.forward);
  named.op = "attention_backward";
  std::erase_if(named.scalars, [](const auto& scalar) {
    return scalar.first == "order" || scalar.first == "split";
  });
  named.scalars.emplace_back("grad", std::string(LaneName(problem.grad_lane)));
  named.Add("o", inputs.o);
  named.Add("lse", ElementType::kF32, inputs.lse);
  named.Add("do", inputs.d_o);
  if (problem.dlse) named.Add("dlse", ElementType::kF32, inputs.dlse);
  return named;
}

std::vector<NamedOutput> NameOutputs(const AttentionBackwardOutputs& outputs,
                                     const AttentionForwardOutputs& own) {
  std::vector<NamedOutput> named;
  const auto add = [&](const char* name, const auto& x) {
    named.push_back(NameOutput(name, x));
  };
  add("dq", outputs.dq);
  add("dk", outputs.dk);
  add("dv", outputs.dv);
  if (outputs.dsink.data != nullptr) add("dsink", outputs.dsink);
  if (own.o.data != nullptr) add("own_o", own.o);
  if (own.lse.data != nullptr) add("own_lse", own.lse);
  return named;
}

}  // namespace lockstep::verify

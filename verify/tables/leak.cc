#include "verify/tables/leak.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::verify {
namespace {

using Shape = std::array<int64_t, 4>;

// A dense copy of a lane tensor, elements as their bits.
struct Copy {
  Lane lane = Lane::kF32;
  Shape shape{};
  std::vector<uint8_t> bytes;

  int64_t RowBytes() const {
    return shape[3] * static_cast<int64_t>(LaneBytes(lane));
  }
  uint8_t* Row(int64_t b, int64_t h, int64_t t) {
    const int64_t row = (b * shape[1] + h) * shape[2] + t;
    return bytes.data() + row * RowBytes();
  }
  LaneView View() const {
    return {bytes.data(), lane, shape, DenseStrides(shape)};
  }
};

Copy CopyOf(const LaneView& view) {
  Copy copy{view.lane, view.shape, {}};
  const auto bytes = static_cast<int64_t>(LaneBytes(view.lane));
  const auto* data = static_cast<const uint8_t*>(view.data);
  for (int64_t b = 0; b < view.shape[0]; ++b) {
    for (int64_t h = 0; h < view.shape[1]; ++h) {
      for (int64_t t = 0; t < view.shape[2]; ++t) {
        for (int64_t c = 0; c < view.shape[3]; ++c) {
          const int64_t at = b * view.strides[0] + h * view.strides[1] +
                             t * view.strides[2] + c * view.strides[3];
          copy.bytes.insert(copy.bytes.end(), data + at * bytes,
                            data + (at + 1) * bytes);
        }
      }
    }
  }
  return copy;
}

// Writes f32 bits, or their upper half, to every channel of a token.
void SetToken(Copy* copy, int64_t b, int64_t t, const auto& bits) {
  const auto bytes = static_cast<int64_t>(LaneBytes(copy->lane));
  for (int64_t h = 0; h < copy->shape[1]; ++h) {
    uint8_t* row = copy->Row(b, h, t);
    for (int64_t c = 0; c < copy->shape[3]; ++c) {
      const uint32_t value = bits(h, c) >> (copy->lane == Lane::kF32 ? 0 : 16);
      std::memcpy(row + c * bytes, &value, static_cast<size_t>(bytes));
    }
  }
}

void SwapTokens(Copy* copy, int64_t b, int64_t s, int64_t t) {
  for (int64_t h = 0; h < copy->shape[1]; ++h) {
    std::swap_ranges(copy->Row(b, h, s), copy->Row(b, h, s) + copy->RowBytes(),
                     copy->Row(b, h, t));
  }
}

struct Tensors {
  Copy q, k, v;
};

struct Document {
  int64_t row = 0;
  int64_t begin = 0;  // tokens, half open
  int64_t end = 0;
};

constexpr uint32_t kLargest = 0x7f7f0000u;  // finite in both lanes
constexpr uint32_t kNaN = 0x7fc00000u;

// Ordinary numbers unlike the ones before: 1 to 2, either sign.
uint32_t OtherNumber(int64_t token, int64_t h, int64_t c) {
  const auto mixed = static_cast<uint32_t>(token * 7919 + h * 104729 + c * 31);
  const uint32_t hash = mixed * 2654435761u;
  return 0x3f800000u | (hash & 0x807f0000u);
}

class LeakFinder {
 public:
  LeakFinder(const AttentionForwardProblem& problem,
             const AttentionForwardInputs& inputs,
             const AttentionKernel& kernel)
      : problem_(problem),
        inputs_(inputs),
        kernel_(kernel),
        tensors_{CopyOf(inputs.q), CopyOf(inputs.k), CopyOf(inputs.v)} {}

  Result<LeakReport> Run() {
    Status status = FindDocuments();
    if (status.ok()) status = RunKernel(tensors_, &base_);
    if (status.ok()) status = RunAlone();
    if (status.ok()) status = ChangeOthers("L2");
    if (status.ok()) status = ChangePadding();
    if (status.ok()) status = ChangeOthers("L4");
    if (status.ok()) status = SwapDocuments();
    if (!status.ok()) return status;
    report_.documents = static_cast<int64_t>(documents_.size());
    return report_;
  }

 private:
  struct Outputs {
    Copy o;
    std::vector<float> lse;
  };

  Status FindDocuments();
  Outputs Allocate(int64_t batch, int64_t length) const;
  Status RunKernel(const Tensors& tensors, Outputs* outputs) const;
  Status RunAlone();
  Status ChangeOthers(const std::string& test);
  Status ChangePadding();
  Status SwapDocuments();
  // Notes the first token whose outputs are not those of token t + `shift` of
  // batch row `row` in the first run.
  void Compare(const std::string& test, Outputs* found, int64_t found_row,
               const Document& tokens, int64_t shift, int64_t row);

  const AttentionForwardProblem& problem_;
  const AttentionForwardInputs& inputs_;
  const AttentionKernel& kernel_;
  const Tensors tensors_;
  std::vector<Document> documents_;
  std::set<std::pair<int64_t, int64_t>> padding_;  // (row, token)
  Outputs base_;
  LeakReport report_;
};

Status LeakFinder::FindDocuments() {
  for (int64_t b = 0; b < problem_.batch; ++b) {
    std::set<int32_t> seen;
    const int64_t valid =
        std::min(inputs_.ValidQ(problem_, b), inputs_.ValidKv(problem_, b));
    if (inputs_.Offset(problem_, b) != 0) {
      return Status::Error("leak tests: queries have to stand at their keys");
    }
    bool open = false;
    for (int64_t t = 0; t < problem_.q_len; ++t) {
      const int32_t id = inputs_.q_seg(b, t);
      const bool real = t < valid && id == inputs_.kv_seg(b, t);
      if (!real) padding_.insert({b, t});
      if (real && open && id == inputs_.q_seg(b, t - 1)) {
        documents_.back().end = t + 1;
      } else if (real) {
        documents_.push_back({b, t, t + 1});
        if (!seen.insert(id).second) {
          return Status::Error("leak tests: row " + std::to_string(b) +
                               ": id " + std::to_string(id) +
                               " comes back at token " + std::to_string(t));
        }
      }
      open = real;
    }
  }
  return Status();
}

LeakFinder::Outputs LeakFinder::Allocate(int64_t batch, int64_t length) const {
  Outputs outputs;
  outputs.o.lane = problem_.lane;
  outputs.o.shape = {batch, problem_.q_heads, length, problem_.value_dim};
  const int64_t rows = batch * problem_.q_heads * length;
  outputs.o.bytes.assign(static_cast<size_t>(rows * outputs.o.RowBytes()),
                         0xa5);
  outputs.lse.assign(static_cast<size_t>(rows), 0.0f);
  return outputs;
}

AttentionForwardOutputs ViewOf(Copy* o, std::vector<float>* lse) {
  const std::array<int64_t, 3> rows{o->shape[0], o->shape[1], o->shape[2]};
  return {{o->bytes.data(), o->lane, o->shape, DenseStrides(o->shape)},
          {lse->data(), rows, DenseStrides(rows)}};
}

Status LeakFinder::RunKernel(const Tensors& tensors, Outputs* outputs) const {
  AttentionForwardInputs inputs = inputs_;
  inputs.q = tensors.q.View();
  inputs.k = tensors.k.View();
  inputs.v = tensors.v.View();
  *outputs = Allocate(problem_.batch, problem_.q_len);
  return kernel_(problem_, inputs, ViewOf(&outputs->o, &outputs->lse));
}

void LeakFinder::Compare(const std::string& test, Outputs* found,
                         int64_t found_row, const Document& tokens,
                         int64_t shift, int64_t row) {
  const auto bytes = static_cast<size_t>(base_.o.RowBytes());
  for (int64_t h = 0; h < problem_.q_heads; ++h) {
    for (int64_t t = tokens.begin; t < tokens.end; ++t) {
      const auto lse = [&](const Outputs& o, int64_t b, int64_t at) {
        return &o.lse[static_cast<size_t>(
            (b * o.o.shape[1] + h) * o.o.shape[2] + at)];
      };
      const bool same =
          std::memcmp(found->o.Row(found_row, h, t),
                      base_.o.Row(row, h, t + shift), bytes) == 0 &&
          std::memcmp(lse(*found, found_row, t), lse(base_, row, t + shift),
                      sizeof(float)) == 0;
      if (same) continue;
      report_.leaks.push_back(
          {test, test + ": row " + std::to_string(row) + ", head " +
                     std::to_string(h) + ", token " +
                     std::to_string(t + shift) + " of the document from " +
                     std::to_string(tokens.begin + shift) + " to " +
                     std::to_string(tokens.end + shift) + " changed"});
      return;
    }
  }
}

// The tokens of a document, as a tensor of their own.
LaneView Slice(const LaneView& view, const Document& document) {
  LaneView slice = view;
  const int64_t at =
      document.row * view.strides[0] + document.begin * view.strides[2];
  slice.data = static_cast<const uint8_t*>(view.data) +
               at * static_cast<int64_t>(LaneBytes(view.lane));
  slice.shape[0] = 1;
  slice.shape[2] = document.end - document.begin;
  return slice;
}

Status LeakFinder::RunAlone() {
  for (const Document& document : documents_) {
    const int64_t length = document.end - document.begin;
    AttentionForwardProblem problem = problem_;
    problem.batch = 1;
    problem.q_len = problem.kv_len = length;
    AttentionForwardInputs inputs = inputs_;
    for (LaneView* view : {&inputs.q, &inputs.k, &inputs.v}) {
      *view = Slice(*view, document);
    }
    for (auto* ids : {&inputs.q_seg, &inputs.kv_seg}) {
      ids->data += ids->Offset(document.row, document.begin);
      ids->shape = {1, length};
    }
    inputs.valid_q.clear();
    inputs.valid_kv.clear();
    Outputs outputs = Allocate(1, length);
    const Status status =
        kernel_(problem, inputs, ViewOf(&outputs.o, &outputs.lse));
    if (!status.ok()) return status;
    ++report_.alone;
    Compare("L1", &outputs, 0, {0, 0, length}, document.begin, document.row);
  }
  return Status();
}

// Two documents differ in some bit of their numbers: changing those with the
// bit, then those without it, separates every pair in 2 log2(n) runs.
Status LeakFinder::ChangeOthers(const std::string& test) {
  for (size_t bit = 1; bit < documents_.size(); bit *= 2) {
    for (const bool changed : {false, true}) {
      Tensors tensors = tensors_;
      for (size_t n = 0; n < documents_.size(); ++n) {
        if (((n & bit) != 0) != changed) continue;
        const Document& d = documents_[n];
        for (int64_t t = d.begin; t < d.end; ++t) {
          if (test == "L4") {
            SetToken(&tensors.v, d.row, t,
                     [](int64_t, int64_t) { return kLargest; });
            continue;
          }
          for (Copy* copy : {&tensors.q, &tensors.k, &tensors.v}) {
            SetToken(copy, d.row, t, [t](int64_t h, int64_t c) {
              return OtherNumber(t, h, c);
            });
          }
        }
      }
      Outputs outputs;
      const Status status = RunKernel(tensors, &outputs);
      if (!status.ok()) return status;
      for (size_t n = 0; n < documents_.size(); ++n) {
        if (((n & bit) != 0) == changed) continue;
        const Document& d = documents_[n];
        Compare(test, &outputs, d.row, d, 0, d.row);
      }
    }
  }
  return Status();
}

Status LeakFinder::ChangePadding() {
  if (padding_.empty()) return Status();
  Tensors tensors = tensors_;
  for (const auto& [b, t] : padding_) {
    const uint32_t number = t % 2 == 0 ? kLargest : kNaN;
    for (Copy* copy : {&tensors.q, &tensors.k, &tensors.v}) {
      SetToken(copy, b, t, [=](int64_t, int64_t) { return number; });
    }
  }
  Outputs outputs;
  const Status status = RunKernel(tensors, &outputs);
  if (!status.ok()) return status;
  for (const Document& d : documents_) {
    Compare("L3", &outputs, d.row, d, 0, d.row);
  }
  return Status();
}

Status LeakFinder::SwapDocuments() {
  // Waiting for a partner of the same row and length.
  std::map<std::pair<int64_t, int64_t>, Document> waiting;
  std::vector<std::pair<Document, Document>> pairs;
  for (const Document& d : documents_) {
    const std::pair kind{d.row, d.end - d.begin};
    const auto partner = waiting.find(kind);
    if (partner == waiting.end()) {
      waiting.emplace(kind, d);
      continue;
    }
    pairs.emplace_back(partner->second, d);
    waiting.erase(partner);
  }
  Tensors tensors = tensors_;
  for (const auto& [a, b] : pairs) {
    for (int64_t t = 0; t < a.end - a.begin; ++t) {
      for (Copy* copy : {&tensors.q, &tensors.k, &tensors.v}) {
        SwapTokens(copy, a.row, a.begin + t, b.begin + t);
      }
    }
  }
  Outputs outputs;
  const Status status = RunKernel(tensors, &outputs);
  if (!status.ok()) return status;
  for (const auto& [a, b] : pairs) {
    Compare("L5", &outputs, a.row, a, b.begin - a.begin, a.row);
    Compare("L5", &outputs, a.row, b, a.begin - b.begin, a.row);
  }
  for (const auto& [kind, d] : waiting) {  // the others stay what they were
    Compare("L5", &outputs, d.row, d, 0, d.row);
  }
  report_.swapped = static_cast<int64_t>(pairs.size());
  return Status();
}

bool MovesWithDocument(const MaskExpr& mask) {
  switch (mask.kind) {
    case MaskExpr::Kind::kChunked:
    case MaskExpr::Kind::kPrefix:
    case MaskExpr::Kind::kDense:
      return false;
    default:
      return std::all_of(mask.children.begin(), mask.children.end(),
                         MovesWithDocument);
  }
}

}  // namespace

Result<LeakReport> FindLeaks(const AttentionForwardProblem& problem,
                             const AttentionForwardInputs& inputs,
                             const AttentionKernel& kernel) {
  if (!problem.segments || problem.q_len != problem.kv_len) {
    return Status::Error(
        "leak tests: want segment ids, and as many queries as keys");
  }
  if (!std::all_of(problem.masks.begin(), problem.masks.end(),
                   MovesWithDocument)) {
    return Status::Error(
        "leak tests: want masks of full, causal, window and sink terms: the "
        "others do not move with a document");
  }
  return LeakFinder(problem, inputs, kernel).Run();
}

}  // namespace lockstep::verify

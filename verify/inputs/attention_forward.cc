#include "verify/inputs/attention_forward.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "reference/mask.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/io/safetensors.h"
#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/pages.h"
#include "verify/case/attention_forward/views.h"
#include "verify/inputs/attention_forward/lists.h"
#include "verify/inputs/attention_forward/pages.h"
#include "verify/inputs/attention_forward_file.h"
#include "verify/inputs/attention_forward_probe.h"
#include "verify/inputs/fill.h"

namespace lockstep::verify {
namespace {

// Other numbers of the seed than the elements have.
constexpr uint64_t kPagesSalt = 0x9a6e5;

class AttentionMaterialiser {
 public:
  AttentionMaterialiser(const Case& c, const MaterialiseOptions& options)
      : attention_(c.Get<AttentionForwardCase>()),
        options_(options),
        seed_(c.seed),
        generator_(c.gen, c.seed) {}

  Result<AttentionForwardData> Run() {
    data_.problem = ToProblem(attention_);
    data_.inputs = InputShapes(attention_);
    Status status = OpenFile();
    if (status.ok()) status = MakeSegments();
    if (status.ok()) status = MakeSink();
    if (status.ok()) status = MakeScales();
    if (status.ok()) status = MakeDenseMasks();
    if (status.ok()) status = MakePages();
    if (status.ok()) status = MakeLaneTensors();
    if (!status.ok()) return status;
    if (DrawsKeys()) ShareKeys(&data_);
    PoisonUnseen();
    RETURN_IF_ERROR(CheckSharedKeys(data_));
    if (attention_.layout == Layout::kVarlen) {
      data_.varlen = {options_.alignment_shift};
    }
    return std::move(data_);
  }

 private:
  Status OpenFile() {
    for (const FillTerm& term : attention_.fill) {
      if (term.kind != FillKind::kFile) continue;
      ASSIGN_OR_RETURN(file_, OpenPinned(term.path, term.digest, options_));
    }
    return {};
  }

  Status Allocate(int64_t bytes, int64_t element_bytes, GuardedBuffer* buffer) {
    const int64_t shift =
        ((options_.alignment_shift * element_bytes) % 64 + 64) % 64;
    ASSIGN_OR_RETURN(auto allocated, GuardedBuffer::Allocate(bytes, shift));
    *buffer = std::move(allocated);
    return {};
  }

  Status MakeSegments() {
    if (!data_.problem.segments) return {};
    RETURN_IF_ERROR(MakeSegmentIds("q_seg", attention_.q_seg,
                                   &data_.inputs.q_seg, &data_.q_seg));
    return MakeSegmentIds("kv_seg", attention_.kv_seg, &data_.inputs.kv_seg,
                          &data_.kv_seg);
  }

  Status MakeSegmentIds(const char* name, const Segments& segments,
                        TensorView<const int32_t, 2>* view,
                        GuardedBuffer* buffer) {
    const auto [rows, extent] = view->shape;
    RETURN_IF_ERROR(Allocate(rows * extent * 4, 4, buffer));
    auto* ids = reinterpret_cast<int32_t*>(buffer->data());
    view->data = ids;
    if (segments.kind == Segments::Kind::kFile) {
      if (!segments.path.empty()) {
        ASSIGN_OR_RETURN(const auto file,
                         OpenPinned(segments.path, segments.digest, options_));
        return CopySegmentIds(file, name, {rows, extent}, ids);
      }
      ASSIGN_OR_RETURN(const auto tensor,
                       file_->Get(name, "I32", {rows, extent}));
      std::memcpy(ids, tensor.bytes.data(), tensor.bytes.size());
      return {};
    }
    for (int64_t b = 0; b < rows; ++b) {
      const size_t row = segments.rows.size() == 1 ? 0 : static_cast<size_t>(b);
      for (const SegmentRun& run : segments.rows[row]) {
        for (int64_t i = 0; i < run.length; ++i) *ids++ = run.id;
      }
    }
    return {};
  }

  Status MakeSink() {
    if (!attention_.sinklogit) return {};
    const int64_t heads = attention_.q_heads;
    RETURN_IF_ERROR(Allocate(heads * 4, 4, &data_.sink));
    auto* sink = reinterpret_cast<float*>(data_.sink.data());
    data_.inputs.sink.data = sink;
    // A probe of sinks brings its own: the case says only that there are some.
    const std::optional<ProbeKind> probe = ProbeOf(attention_);
    if (probe && ProbeSetsSinks(*probe)) {
      for (int64_t h = 0; h < heads; ++h) {
        sink[h] = ProbeSinkElement(*probe, data_.problem, h);
      }
      return {};
    }
    FillSink(generator_, *attention_.sinklogit,
             {sink, static_cast<size_t>(heads)});
    return {};
  }

  Status MakeScales() {
    RETURN_IF_ERROR(DrawScales(attention_.k_scale, kStreamKScale,
                               &data_.inputs.k_scale, &data_.k_scale));
    RETURN_IF_ERROR(DrawScales(attention_.v_scale, kStreamVScale,
                               &data_.inputs.v_scale, &data_.v_scale));
    return DrawScales(attention_.q_scale, kStreamQScale, &data_.inputs.q_scale,
                      &data_.q_scale);
  }

  Status DrawScales(const ScaleSpec& spec, uint32_t stream, KeyScaleView* view,
                    GuardedBuffer* buffer) {
    if (!spec.any()) return {};
    const int64_t count = view->shape[0] * view->shape[1] * view->shape[2];
    RETURN_IF_ERROR(Allocate(count * 4, 4, buffer));
    auto* scales = reinterpret_cast<float*>(buffer->data());
    view->data = scales;
    FillScales(generator_, spec, stream, {scales, static_cast<size_t>(count)});
    return {};
  }

  Status MakeDenseMasks() {
    data_.dense_masks.resize(attention_.dense.size());
    for (size_t i = 0; i < attention_.dense.size(); ++i) {
      const DenseSource& source = attention_.dense[i];
      if (source.listed()) {
        RETURN_IF_ERROR(MakeLists(source, i));
        continue;
      }
      RETURN_IF_ERROR(source.from_file() ? ReadDenseMask(source, i)
                                         : DrawDenseMask(source, i));
    }
    return {};
  }

  Status MakeLists(const DenseSource& source, size_t index) {
    const AttentionForwardProblem& p = data_.problem;
    KeyLists& lists = data_.lists.emplace();
    lists.dense = index;
    lists.entries = source.entries;
    if (source.from_file()) {
      ASSIGN_OR_RETURN(const auto file,
                       OpenPinned(source.path, source.digest, options_));
      ASSIGN_OR_RETURN(
          lists.given,
          FindLists(file, {p.batch, p.kv_heads, p.q_len, source.entries},
                    p.kv_len));
    } else {
      lists.given = DrawLists(generator_, source, p);
    }
    auto& view = data_.inputs.dense_masks[index];
    GuardedBuffer& buffer = data_.dense_masks[index];
    const auto bytes = static_cast<size_t>(view.shape[0] * view.strides[0]);
    RETURN_IF_ERROR(Allocate(static_cast<int64_t>(bytes), 1, &buffer));
    std::memset(buffer.data(), 0, bytes);
    MarkListed(p, lists, {buffer.data(), view.shape, view.strides});
    view.data = buffer.data();
    return {};
  }

  Status DrawDenseMask(const DenseSource& source, size_t index) {
    auto& view = data_.inputs.dense_masks[index];
    GuardedBuffer& buffer = data_.dense_masks[index];
    int64_t bytes = 1;
    for (const int64_t extent : view.shape) bytes *= extent;
    RETURN_IF_ERROR(Allocate(bytes, 1, &buffer));
    FillDense(generator_, source, static_cast<uint32_t>(index),
              {buffer.data(), view.shape, view.strides});
    view.data = buffer.data();
    return {};
  }

  Status ReadDenseMask(const DenseSource& source, size_t index) {
    ASSIGN_OR_RETURN(const auto file,
                     OpenPinned(source.path, source.digest, options_));
    auto& view = data_.inputs.dense_masks[index];
    const bool blocks = source.kind == DenseSource::Kind::kBlockFile;
    ASSIGN_OR_RETURN(
        const auto found,
        FindMask(file, {.name = blocks ? "block_mask" : "dense_mask",
                        .batch = attention_.batch,
                        .heads = attention_.q_heads,
                        .rows = view.shape[2],
                        .columns = view.shape[3]}));
    GuardedBuffer& buffer = data_.dense_masks[index];
    const auto& bytes = found.bytes;
    RETURN_IF_ERROR(Allocate(static_cast<int64_t>(bytes.size()), 1, &buffer));
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    view.shape = found.shape;
    view.strides = DenseStrides(view.shape);
    view.data = buffer.data();
    return {};
  }

  Status MakeLaneTensors() {
    const struct {
      const char* name;
      uint8_t bit;
      uint32_t stream;
      LaneView* view;
      LaneTensor* tensor;
    } tensors[] = {
        {"q", kFillQ, kStreamQ, &data_.inputs.q, &data_.q},
        {"k", kFillK, kStreamK, &data_.inputs.k, &data_.k},
        {"v", kFillV, kStreamV, &data_.inputs.v, &data_.v},
    };
    for (const auto& [name, bit, stream, view, tensor] : tensors) {
      if (bit == kFillV && data_.problem.v_in_k) {
        PutValuesInKeys(&data_);
        continue;
      }
      ASSIGN_OR_RETURN(
          auto allocated,
          AllocateLaneTensor(view->lane, view->shape, view->strides,
                             options_.alignment_shift));
      *tensor = std::move(allocated);
      *view = tensor->const_view();
      FillPlan plan;
      plan.stream = stream;
      plan.tensor = bit;
      plan.terms = attention_.fill;
      plan.problem = &data_.problem;
      plan.score_scale = attention_.scale.value *
                         TypicalScale(attention_.k_scale) *
                         TypicalScale(attention_.q_scale);
      if (bit == kFillQ) plan.normal_scale = QueryScale(attention_);
      RETURN_IF_ERROR(PlanFile(name, *view, &plan));
      FillTensor(generator_, plan, tensor->view);
    }
    return {};
  }

  Status PlanFile(const char* name, const LaneView& view, FillPlan* plan) {
    bool wanted = false;
    for (const FillTerm& term : attention_.fill) {
      wanted |=
          term.kind == FillKind::kFile && (term.tensors & plan->tensor) != 0;
    }
    if (!wanted) return {};
    return PlanFileTensor(*file_, name, view.shape, plan);
  }

  Status MakePages() {
    const PagedKeys& page = attention_.page;
    if (!page.any()) return {};
    PageSpec& spec =
        data_.pages.emplace(PageSpec{.how = page,
                                     .k_strides = attention_.strides.k,
                                     .v_strides = attention_.strides.v,
                                     .given = {},
                                     .shared = page.shared > 0,
                                     .seed = Mix(seed_ ^ kPagesSalt),
                                     .shift = options_.alignment_shift,
                                     .large_entries = false});
    if (!page.from_file()) return {};
    ASSIGN_OR_RETURN(const auto file,
                     OpenPinned(page.path, page.digest, options_));
    std::vector<int64_t> used;
    for (int64_t b = 0; b < data_.problem.batch; ++b) {
      used.push_back(PagesOfRow(data_.problem, data_.inputs, page, b));
    }
    ASSIGN_OR_RETURN(
        PageTable table,
        FindPageTable(file, used, TableWidth(data_.problem, page), page.pool));
    spec.given = std::move(table.pages);
    spec.shared = table.shared;
    return {};
  }

  // Whether rows that share a page get its keys from the first of them. Keys of
  // a file and of a probe stay as they are.
  bool DrawsKeys() const {
    return std::none_of(
        attention_.fill.begin(), attention_.fill.end(), [](const FillTerm& t) {
          return t.kind == FillKind::kFile || t.kind == FillKind::kProbe;
        });
  }

  uint8_t PoisonedTensors() const {
    uint8_t tensors = 0;
    for (const FillTerm& term : attention_.fill) {
      if (term.kind == FillKind::kPoison) tensors |= term.tensors;
    }
    return tensors;
  }

  // Rows of k and v that no query sees, rows of q that see no key.
  void PoisonUnseen() {
    const uint8_t tensors = PoisonedTensors();
    if (tensors == 0) return;
    const AttentionForwardProblem& p = data_.problem;
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t head = 0; head < p.kv_heads; ++head) {
        std::vector<bool> seen(static_cast<size_t>(p.kv_len));
        for (int64_t g = 0; g < p.group(); ++g) {
          MarkSeen(b, head * p.group() + g, tensors, &seen);
        }
        for (int64_t j = 0; j < p.kv_len; ++j) {
          if (seen[static_cast<size_t>(j)]) continue;
          if ((tensors & kFillK) != 0) {
            PoisonRow(generator_, kStreamK, data_.k.view, {b, head, j});
          }
          if ((tensors & kFillV) != 0 && !p.v_in_k) {
            PoisonRow(generator_, kStreamV, data_.v.view, {b, head, j});
          }
        }
      }
    }
  }

  void MarkSeen(int64_t b, int64_t h, uint8_t tensors,
                std::vector<bool>* seen) {
    const AttentionForwardProblem& p = data_.problem;
    for (int64_t i = 0; i < p.q_len; ++i) {
      bool sees = false;
      for (int64_t j = 0; j < p.kv_len; ++j) {
        if (!reference::IsVisible(p, data_.inputs, b, h, i, j)) continue;
        sees = true;
        (*seen)[static_cast<size_t>(j)] = true;
      }
      if (!sees && (tensors & kFillQ) != 0) {
        PoisonRow(generator_, kStreamQ, data_.q.view, {b, h, i});
      }
    }
  }

  const AttentionForwardCase& attention_;
  const MaterialiseOptions& options_;
  uint64_t seed_;
  CounterGenerator generator_;
  AttentionForwardData data_;
  std::optional<SafetensorsFile> file_;
};

}  // namespace

Status CheckRequest(const Case& c, const MaterialiseOptions& options) {
  RETURN_IF_ERROR(ValidateCase(c));
  const int64_t bytes = EstimateBytes(c);
  if (bytes > options.max_bytes) {
    return Status::Error("the case needs " + std::to_string(bytes) +
                         " bytes; the budget is " +
                         std::to_string(options.max_bytes));
  }
  return {};
}

int64_t DefaultMemoryBudget() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  constexpr int64_t kFallback = int64_t{1} << 32;
  if (pages <= 0 || page <= 0) return kFallback;
  return static_cast<int64_t>(pages) / 2 * page;
}

Result<AttentionForwardData> Materialise(const Case& c,
                                         const MaterialiseOptions& options) {
  RETURN_IF_ERROR(CheckRequest(c, options));
  return AttentionMaterialiser(c, options).Run();
}

}  // namespace lockstep::verify

#include "verify/export.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "reference/attention_forward.h"
#include "verify/case_block_plan.h"
#include "verify/files.h"
#include "verify/ops/block_plan.h"
#include "verify/ops/mamba3_scan.h"
#include "verify/plan_files.h"
#include "verify/safetensors.h"
#include "verify/tensor.h"

namespace lockstep::verify {
namespace fs = std::filesystem;
namespace {

// Tensors of one file, with the memory behind them.
class FileBuilder {
 public:
  void Add(const std::string& name, const std::string& type,
           std::vector<int64_t> shape, const void* data, size_t bytes) {
    const auto* first = static_cast<const uint8_t*>(data);
    storage_.emplace_back(first, first + bytes);
    tensors_.push_back({name, type, std::move(shape), storage_.back()});
  }

  // Dense, row-major, whatever the layout of `view`; `shape`: in the file.
  void AddLane(const std::string& name, const LaneView& view,
               std::vector<int64_t> shape = {}) {
    if (shape.empty()) shape.assign(view.shape.begin(), view.shape.end());
    std::vector<uint8_t> dense;
    const size_t lane_bytes = LaneBytes(view.lane);
    const auto* base = static_cast<const uint8_t*>(view.data);
    for (int64_t b = 0; b < view.shape[0]; ++b) {
      for (int64_t h = 0; h < view.shape[1]; ++h) {
        for (int64_t s = 0; s < view.shape[2]; ++s) {
          for (int64_t d = 0; d < view.shape[3]; ++d) {
            const int64_t offset = b * view.strides[0] + h * view.strides[1] +
                                   s * view.strides[2] + d * view.strides[3];
            const uint8_t* element =
                base + offset * static_cast<int64_t>(lane_bytes);
            dense.insert(dense.end(), element, element + lane_bytes);
          }
        }
      }
    }
    Add(name, view.lane == Lane::kF32 ? "F32" : "BF16", std::move(shape),
        dense.data(), dense.size());
  }

  // Requires: `view` dense.
  template <typename T, size_t kRank>
  void AddDense(const std::string& name, const std::string& type,
                const TensorView<T, kRank>& view) {
    int64_t elements = 1;
    for (const int64_t extent : view.shape) elements *= extent;
    Add(name, type, {view.shape.begin(), view.shape.end()}, view.data,
        static_cast<size_t>(elements) * sizeof(T));
  }

  void AddCounts(const std::string& name, const std::vector<int64_t>& counts) {
    // Below 2^26 each: a count is at most a length.
    const std::vector<int32_t> narrow(counts.begin(), counts.end());
    Add(name, "I32", {static_cast<int64_t>(counts.size())}, narrow.data(),
        narrow.size() * sizeof(int32_t));
  }

  Result<std::string> Format(const std::string& case_line) const {
    return FormatSafetensors(tensors_, {{"case", case_line}});
  }

 private:
  std::vector<std::vector<uint8_t>> storage_;
  std::vector<SafetensorsTensor> tensors_;
};

Result<std::string> FormatInputs(const std::string& line,
                                 const AttentionForwardData& data) {
  const AttentionForwardInputs& in = data.inputs;
  FileBuilder file;
  file.AddLane("q", in.q);
  file.AddLane("k", in.k);
  file.AddLane("v", in.v);
  if (data.problem.segments) {
    file.AddDense("q_seg", "I32", in.q_seg);
    file.AddDense("kv_seg", "I32", in.kv_seg);
  }
  file.AddCounts("valid_q", in.valid_q);
  file.AddCounts("valid_kv", in.valid_kv);
  if (data.problem.sink) file.AddDense("sink", "F32", in.sink);
  for (size_t i = 0; i < in.dense_masks.size(); ++i) {
    file.AddDense("dense_mask_" + std::to_string(i), "U8", in.dense_masks[i]);
  }
  return file.Format(line);
}

Result<std::string> FormatExpected(
    const std::string& line, const AttentionForwardOutputBuffers& outputs) {
  FileBuilder file;
  file.AddLane("o", outputs.o.const_view());
  file.AddDense("lse", "F32", outputs.view().lse);
  return file.Format(line);
}

// Axes in the contract's order.
void AddScanTensor(const ScanStorage& one, FileBuilder* file) {
  if (!one.there()) return;
  LaneView view = one.tensor.const_view();
  const bool tokens =
      one.name == std::string("q") || one.name == std::string("k") ||
      one.name == std::string("v") || one.name == std::string("z") ||
      one.name == std::string("vartheta");
  if (tokens) {
    std::swap(view.shape[1], view.shape[2]);
    std::swap(view.strides[1], view.strides[2]);
  }
  file->AddLane(one.name, view, one.file_shape);
}

Result<std::string> FormatScanInputs(const std::string& line,
                                     const Mamba3ScanData& data) {
  FileBuilder file;
  for (const ScanStorage& one : data.storage) AddScanTensor(one, &file);
  const auto& segments = data.inputs.segments;
  if (segments.data != nullptr) file.AddDense("segments", "I32", segments);
  if (!data.inputs.cu_seqlens.empty()) {
    file.AddCounts("cu_seqlens", data.inputs.cu_seqlens);
  }
  return file.Format(line);
}

// Both files of a case, complete in memory.
struct Contents {
  std::string inputs;
  std::string expected;
};

Result<Contents> FormatScan(const Case& c, const MaterialiseOptions& options) {
  auto data = MaterialiseMamba3Scan(c, options);
  if (!data.ok()) return data.status();
  const std::string line = CanonicalLine(c);
  auto inputs = FormatScanInputs(line, data.value());
  if (!inputs.ok()) return inputs.status();
  // A step's outputs are the scan's, bit for bit.
  const Mamba3ScanTrial trial(c, std::move(data.value()));
  Result<OutputSet> outputs = trial.Allocate(0);
  if (!outputs.ok()) return outputs.status();
  Execution execution;
  trial.RunReference(outputs.value(), &execution);
  FileBuilder file;
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    file.AddLane(spec.name, outputs->tensors[t].const_view(), spec.file_shape);
  }
  auto expected = file.Format(line);
  if (!expected.ok()) return expected.status();
  return Contents{std::move(inputs.value()), std::move(expected.value())};
}

Result<Contents> FormatAttention(const Case& c,
                                 const MaterialiseOptions& options) {
  const auto data = Materialise(c, options);
  if (!data.ok()) return data.status();
  auto outputs = AllocateOutputs(c.attention_forward(), 0);
  if (!outputs.ok()) return outputs.status();
  reference::AttentionForward(data.value().problem, data.value().inputs,
                              outputs->view());
  const std::string line = CanonicalLine(c);
  auto inputs = FormatInputs(line, data.value());
  if (!inputs.ok()) return inputs.status();
  auto expected = FormatExpected(line, outputs.value());
  if (!expected.ok()) return expected.status();
  return Contents{std::move(inputs.value()), std::move(expected.value())};
}

// The mask of every pair, and our tables of it.
Result<Contents> FormatBlockPlan(const Case& c,
                                 const MaterialiseOptions& options) {
  const Result<BlockPlanScene> scene = OpenBlockPlan(c, options);
  if (!scene.ok()) return scene.status();
  const IntendedMask& mask = scene->mask;
  std::vector<uint8_t> bits;
  for (int64_t h = 0; h < mask.heads(); ++h) {
    for (int64_t i = 0; i < mask.q_len(); ++i) {
      for (int64_t j = 0; j < mask.kv_len(); ++j) {
        bits.push_back(mask.At(h, i, j) ? 1 : 0);
      }
    }
  }
  const std::array<int64_t, 3> shape{mask.heads(), mask.q_len(), mask.kv_len()};
  const std::string line = CanonicalLine(c);
  FileBuilder file;
  file.AddDense(
      "mask", "U8",
      TensorView<const uint8_t, 3>{bits.data(), shape, DenseStrides(shape)});
  auto inputs = file.Format(line);
  if (!inputs.ok()) return inputs.status();
  const auto plan = PlanTiles(scene->data.problem, scene->data.inputs, 0,
                              TileOptionsOf(scene->asked));
  if (!plan.ok()) return plan.status();
  auto expected = FormatTables(scene->asked, plan.value(), line);
  if (!expected.ok()) return expected.status();
  return Contents{std::move(inputs.value()), std::move(expected.value())};
}

Status MakeDirectory(const std::string& directory) {
  std::error_code error;
  if (fs::is_directory(directory, error)) return {};
  if (fs::create_directory(directory, error)) return {};
  return Status::Error(directory + ": cannot be made" +
                       (error ? ": " + error.message() : ""));
}

}  // namespace

Status ExportCase(const Case& c, const std::string& directory,
                  const MaterialiseOptions& options) {
  const auto contents = std::holds_alternative<AttentionForwardCase>(c.op)
                            ? FormatAttention(c, options)
                        : std::holds_alternative<BlockPlanCase>(c.op)
                            ? FormatBlockPlan(c, options)
                            : FormatScan(c, options);
  if (!contents.ok()) return contents.status();
  Status status = MakeDirectory(directory);
  if (!status.ok()) return status;
  status =
      WriteFileAtomically(directory + "/inputs.safetensors", contents->inputs);
  if (!status.ok()) return status;
  status = WriteFileAtomically(directory + "/expected.safetensors",
                               contents->expected);
  if (status.ok()) return status;
  return Status::Error(status.message() +
                       " (inputs.safetensors beside it is written)");
}

}  // namespace lockstep::verify

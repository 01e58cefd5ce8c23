// Outputs computed elsewhere: safetensors files with the output tensors by
// name. The files are hostile until judged.
//
//   one case      DIR/outputs.safetensors
//   several       DIR/N/outputs.safetensors, N the number of the case, from 1
//
// A folder with exactly one other safetensors file beside what `export` wrote
// (inputs, expected) may call it as it likes; files:FILE names it directly.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/ops/block_plan.h"
#include "verify/plan_files.h"
#include "verify/safetensors.h"

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsual = "outputs.safetensors";

// The outputs file of a folder. Errors: none there, or more than one.
Result<std::string> FindIn(const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder / kUsual, error)) {
    return (folder / kUsual).string();
  }
  std::vector<std::string> others;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (at->path().extension() == ".safetensors" &&
        name != "inputs.safetensors" && name != "expected.safetensors") {
      others.push_back(at->path().string());
    }
  }
  if (others.size() == 1) return others.front();
  return Status::Error("candidate files: no " + (folder / kUsual).string());
}

// The spelling of a lane in safetensors.
const char* TypeName(Lane lane) { return lane == Lane::kF32 ? "F32" : "BF16"; }

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t n : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  }
  return text + "]";
}

// Extents of 1 at the end do not count: lse may be [b, h, i] or [b, h, i, 1].
std::vector<int64_t> Trimmed(std::vector<int64_t> shape, size_t rank) {
  while (shape.size() > rank && shape.back() == 1) shape.pop_back();
  return shape;
}

// Dense bytes into a strided tensor.
void Scatter(const uint8_t* bytes, const LaneTensor& to) {
  const auto& n = to.view.shape;
  const auto& s = to.view.strides;
  const auto width = static_cast<int64_t>(LaneBytes(to.view.lane));
  auto* data = static_cast<uint8_t*>(to.view.data);
  for (int64_t b = 0; b < n[0]; ++b) {
    for (int64_t h = 0; h < n[1]; ++h) {
      for (int64_t i = 0; i < n[2]; ++i) {
        for (int64_t c = 0; c < n[3]; ++c) {
          const int64_t at = b * s[0] + h * s[1] + i * s[2] + c * s[3];
          std::memcpy(data + at * width, bytes, static_cast<size_t>(width));
          bytes += width;
        }
      }
    }
  }
}

class Files final : public Candidate {
 public:
  explicit Files(std::string path) : path_(std::move(path)) {}

  std::string Spec(const Variation&) const override { return "files:" + path_; }
  std::string Backend() const override { return "files"; }
  const Variation& Fixed() const override { return fixed_; }
  bool Ours() const override { return false; }
  bool Repeatable() const override { return false; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  Status Prepare(const CaseRequest& request) override {
    const Result<std::string> path = Locate(request);
    if (!path.ok()) return path.status();
    const Result<SafetensorsFile> file = SafetensorsFile::Read(path.value());
    if (!file.ok()) return Status::Error("candidate files: " + file.message());
    const Result<Op> op = FindOp(*request.call);
    if (!op.ok()) return op.status();
    for (const OutputSpec& spec : op->outputs(*request.call)) {
      if (file->Find(spec.name) == nullptr) {
        return Status::Error("candidate files: " + path.value() +
                             " has no tensor '" + spec.name + "'");
      }
    }
    return CheckSameCase(request, path.value(), file.value());
  }

  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation&, const OutputSet& outputs,
                 Execution* execution) override {
    *execution = Execution{};
    execution->backend = "files";
    const Result<std::string> path = Locate(request);
    if (!path.ok()) return Broken(path.message());
    const Result<SafetensorsFile> file = SafetensorsFile::Read(path.value());
    if (!file.ok()) return Broken(file.message());
    for (size_t t = 0; t < outputs.tensors.size(); ++t) {
      const OutputSpec& spec = trial.outputs()[t];
      const SafetensorsTensor* found = file->Find(spec.name);
      if (found == nullptr) return Broken("no tensor '" + spec.name + "'");
      std::vector<int64_t> wanted = spec.file_shape;
      if (wanted.empty()) wanted.assign(spec.shape.begin(), spec.shape.end());
      wanted = Trimmed(wanted, 3);
      const std::vector<int64_t> shape = Trimmed(found->shape, 3);
      if (found->type != TypeName(spec.lane) || shape != wanted) {
        return {RunOutcome::State::kMismatch,
                std::string("expected ") + TypeName(spec.lane) + " " +
                    ShapeText(wanted) + ", produced " + found->type + " " +
                    ShapeText(shape),
                spec.name};
      }
      Scatter(found->bytes.data(), outputs.tensors[t]);
    }
    return {};
  }

  RunOutcome Plan(const CaseRequest& request, const BlockPlanScene& scene,
                  PlanTrace* trace) override {
    const Result<std::string> path = Locate(request);
    if (!path.ok()) return Broken(path.message());
    const Result<SafetensorsFile> file = SafetensorsFile::Read(path.value());
    if (!file.ok()) return Broken(file.message());
    Result<PlanTrace> read = ReadTables(scene.asked, file.value());
    if (!read.ok()) {
      return {RunOutcome::State::kMismatch, read.message(), "tables"};
    }
    *trace = std::move(read.value());
    return {};
  }

 private:
  static RunOutcome Broken(const std::string& message) {
    return {RunOutcome::State::kError, "candidate files: " + message, ""};
  }

  Result<std::string> Locate(const CaseRequest& request) const {
    std::error_code error;
    const fs::path path = path_;
    if (fs::is_regular_file(path, error)) {
      if (request.total == 1) return path_;
      return Status::Error("candidate files: " + path_ + " is one file for " +
                           std::to_string(request.total) +
                           " cases; want a folder with N/" + kUsual +
                           " for case N");
    }
    if (!fs::is_directory(path, error)) {
      return Status::Error("candidate files: no folder " + path_);
    }
    const fs::path numbered = path / std::to_string(request.number);
    if (request.total > 1) return FindIn(numbered);
    Result<std::string> found = FindIn(path);
    if (!found.ok() && fs::is_directory(numbered, error)) {
      return FindIn(numbered);
    }
    return found;
  }

  // A file that names its case must name this one.
  static Status CheckSameCase(const CaseRequest& request,
                              const std::string& path,
                              const SafetensorsFile& file) {
    const auto named = file.metadata().find("case");
    if (named == file.metadata().end()) return {};
    Result<Case> other = ParseCase(named->second);
    if (other.ok()) {
      other->expect = request.call->expect;
      if (other.value() == *request.call) return {};
    }
    return Status::Error("candidate files: " + path +
                         " was computed for another case: " + named->second);
  }

  std::string path_;
  Variation fixed_;
};

}  // namespace

Result<std::unique_ptr<Candidate>> ParseFiles(std::string_view arguments) {
  if (arguments.empty()) {
    return Status::Error(
        "candidate files: wants a folder, such as files:out/run1");
  }
  return std::unique_ptr<Candidate>(
      std::make_unique<Files>(std::string(arguments)));
}

}  // namespace lockstep::verify

// Outputs computed elsewhere: safetensors files with the output tensors by
// name. The files are hostile until judged.
//
//   one case      DIR/outputs.safetensors
//   several       DIR/N/outputs.safetensors, N the number of the case, from 1
//   its probes    probes/NAME/outputs.safetensors in the case's folder
//
// In its place o.npy, lse.npy, ... may lie there (verify/base/io/npy.h).
// A folder with exactly one other safetensors file beside what `export` wrote
// (inputs, expected) may call it as it likes; files:FILE names it directly.
// A folder with an index of calls is read by verify/candidate/calls/.
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "verify/base/io/npy.h"
#include "verify/base/io/safetensors.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/answer_file.h"
#include "verify/candidate/calls/answers.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/probe_folders.h"
#include "verify/tables/files.h"
#include "verify/tables/scene.h"

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

class Files final : public Candidate, public Planner, public HeldAnswers {
 public:
  explicit Files(std::string path)
      : Candidate({.backend = "files",
                   .computes = false,
                   .repeatable = false,
                   .cannot_try = {"repeat", "variations", "laws", "guard_zones",
                                  "inputs_unchanged", "written"}}),
        path_(std::move(path)) {}

  const HeldAnswers* held() const override { return this; }

  std::string Spec(const Variation&) const override { return "files:" + path_; }
  // The folder of the request alone: what a replay of it judges.
  std::string SpecOf(const CaseRequest& request) const override {
    std::error_code error;
    if (request.probe.empty() && fs::is_regular_file(path_, error)) {
      return Spec({});
    }
    const Result<std::string> found = Locate(request);
    if (!found.ok()) {
      const fs::path numbered =
          fs::path(path_) / std::to_string(request.number);
      return request.total > 1 ? "files:" + numbered.string() : Spec({});
    }
    const std::string folder = FolderOf(found.value()).string();
    return fs::equivalent(folder, path_, error) ? Spec({}) : "files:" + folder;
  }
  bool Answers(const CaseRequest& probe) const override {
    return Locate(probe).ok();
  }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  // Whether there is anything at all. A file that is missing or torn is an
  // error of its own case, and the others are judged.
  Status Prepare(const CaseRequest& request) override {
    std::error_code error;
    if (fs::is_directory(path_, error)) return {};
    const Result<std::string> path = LocateCase(request);
    return path.ok() ? Status() : path.status();
  }

  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation&, const OutputSet& outputs,
                 Execution* execution) override {
    *execution = Execution{};
    execution->backend = "files";
    const Result<std::string> path = Locate(request);
    if (!path.ok()) return Broken(path.message());
    const Result<SafetensorsFile> file = Read(request, path.value());
    if (!file.ok()) return Broken(file.message());
    return TakeAnswer({path.value(), &file.value()}, request, trial, outputs);
  }

  RunOutcome Plan(const CaseRequest& request, const BlockPlanScene& scene,
                  PlanTrace* trace, Execution*) override {
    const Result<std::string> path = Locate(request);
    if (!path.ok()) return Broken(path.message());
    const Result<SafetensorsFile> file = Read(request, path.value());
    if (!file.ok()) return Broken(file.message());
    Result<PlanTrace> read = ReadTables(scene.asked, file.value());
    if (!read.ok()) {
      return {RunOutcome::State::kMismatch, read.message(), "tables"};
    }
    *trace = std::move(read.value());
    return {RunOutcome::State::kRan,
            WhoseAnswer(path.value(), request.max_bytes), ""};
  }

 private:
  static RunOutcome Broken(const std::string& message) {
    const std::string kind = "candidate files: ";
    const bool named = message.starts_with(kind);
    return {RunOutcome::State::kError, named ? message : kind + message, "",
            "answer"};
  }

  // Errors: none there, torn, or the answer to another case.
  static Result<SafetensorsFile> Read(const CaseRequest& request,
                                      const std::string& path) {
    Result<SafetensorsFile> file = ReadTensors(path, request.max_bytes);
    if (!file.ok()) return file;
    RETURN_IF_ERROR(CheckSameCase(request, path, file.value()));
    return file;
  }

  Result<std::string> Locate(const CaseRequest& request) const {
    const Result<std::string> found = LocateCase(request);
    if (request.probe.empty() || !found.ok()) return found;
    const fs::path folder = FolderOf(found.value());
    return FindAnswer(
        FindProbeFolder(folder.empty() ? "." : folder.string(), *request.call));
  }

  // Where an answer lies; arrays of NumPy are a folder themselves.
  static fs::path FolderOf(const std::string& answer) {
    std::error_code error;
    return fs::is_directory(answer, error) ? fs::path(answer)
                                           : fs::path(answer).parent_path();
  }

  // Of the case asked for, whose probe it may be.
  Result<std::string> LocateCase(const CaseRequest& request) const {
    std::error_code error;
    const fs::path path = path_;
    if (fs::is_regular_file(path, error)) {
      if (request.total == 1) return path_;
      return Status::Error("candidate files: " + path_ + " is one file for " +
                           std::to_string(request.total) +
                           " cases; want a folder with N/" + kUsualAnswer +
                           " for case N");
    }
    if (!fs::is_directory(path, error)) {
      return Status::Error("candidate files: no folder " + path_);
    }
    const fs::path numbered = path / std::to_string(request.number);
    if (request.total > 1) return FindAnswer(numbered);
    Result<std::string> found = FindAnswer(path);
    if (!found.ok() && fs::is_directory(numbered, error)) {
      return FindAnswer(numbered);
    }
    return found;
  }

  // A file that names its case must name this one.
  static Status CheckSameCase(const CaseRequest& request,
                              const std::string& path,
                              const SafetensorsFile& file) {
    const auto named = file.metadata().find("case");
    if (named == file.metadata().end()) return {};
    // Of another op it is another case, whatever it says.
    Result<Case> other = ParseCase(named->second, {&request.call->op, 1});
    if (other.ok()) {
      other->expect = request.call->expect;
      if (other.value() == *request.call) return {};
    }
    return Status::Error("candidate files: " + path +
                         " was computed for another case: " + named->second);
  }

  std::string path_;
};

}  // namespace

Result<std::unique_ptr<Candidate>> ParseFiles(std::string_view arguments) {
  if (arguments.empty()) {
    return Status::Error(
        "candidate files: wants a folder, such as files:out/run1");
  }
  std::string folder(arguments);
  if (HasCallIndex(folder)) return MakeCallAnswers(std::move(folder));
  return std::unique_ptr<Candidate>(std::make_unique<Files>(std::move(folder)));
}

}  // namespace lockstep::verify

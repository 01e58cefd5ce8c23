// cmd-files:PROGRAM ARG...: a program that is started for every call, with a
// folder: inputs.safetensors and call.json are there, outputs.safetensors has
// to be when it ends (docs/wire.md).
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/io/files.h"
#include "verify/base/io/npy.h"
#include "verify/base/io/safetensors.h"
#include "verify/candidate/answer_file.h"
#include "verify/candidate/calls/call.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/process/child_process.h"
#include "verify/candidate/process/words.h"
#include "verify/candidate/wide_output.h"
#include "verify/candidate/wire/messages.h"
#include "verify/ops/wants.h"

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

constexpr int kNotSupported = 77;

// A folder of its own, gone with this object.
class Folder {
 public:
  static Result<std::unique_ptr<Folder>> Make() {
    std::error_code error;
    fs::path place = fs::temp_directory_path(error);
    if (error) place = "/tmp";
    std::string path = (place / "lockstep-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return Status::Error("no folder can be made in " + place.string() + ": " +
                           std::strerror(errno));
    }
    return std::unique_ptr<Folder>(new Folder(path));
  }
  // To the user of the program, once the judge has written all that it writes:
  // a link there could lead it anywhere.
  Status Give() const {
    const auto& user = TheHostLimits().user;
    if (!user || chown(path_.c_str(), user->uid, user->gid) == 0) return {};
    return Status::Error(path_ + ": cannot be given to user '" + user->name +
                         "': " + std::strerror(errno));
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string File(const char* name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::string Text(const char* type, const std::vector<int64_t>& shape) {
  std::string text = std::string(type) + " [";
  for (size_t n = 0; n < shape.size(); ++n) {
    text += (n > 0 ? ", " : "") + std::to_string(shape[n]);
  }
  return text + "]";
}

RunOutcome Broken(const std::string& check, const std::string& message) {
  return {RunOutcome::State::kError, message, "", check};
}

class CommandFiles final : public Candidate {
 public:
  explicit CommandFiles(std::vector<std::string> words)
      : Candidate({.backend = "cmd-files"}), words_(std::move(words)) {}

  std::string Spec(const Variation&) const override {
    return "cmd-files:" + JoinWords(words_);
  }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  Introduction Introduce() const override {
    return {.identity = {{"name", fs::path(words_[0]).filename().string()},
                         {"isolation", "process"},
                         {"guards", "none"},
                         {"peeking", Peeking()}}};
  }

  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation&, const OutputSet& outputs,
                 Execution* execution) override {
    *execution = Execution{};
    execution->backend = traits().backend;
    if (!trial.wants().NeededWants().empty()) {
      return {RunOutcome::State::kUnsupported,
              "the case has " + NeedOf(trial.wants().NeededWants().front()) +
                  ", which a program of cmd-files: cannot ask for",
              ""};
    }
    for (int64_t n = 0; n < trial.Calls(); ++n) {
      KernelCall call = trial.Call(n, outputs);
      if (BringsMask(call.inputs)) {
        const std::string why =
            trial.wants().AddWanted(kMaskOfPairs, &call.inputs);
        if (!why.empty()) return Broken("run", kMaskOfPairs + (": " + why));
      }
      const RunOutcome outcome = RunCall(request, call);
      if (outcome.state != RunOutcome::State::kRan) return outcome;
    }
    return {};
  }

  RunOutcome Settle(const CaseRequest&) override {
    return left_.check.empty() ? RunOutcome{}
                               : Broken(left_.check, left_.message);
  }

 private:
  RunOutcome RunCall(const CaseRequest& request, const KernelCall& call) {
    const auto folder = Folder::Make();
    if (!folder.ok()) return Broken("run", folder.message());
    const Folder& place = *folder.value();
    Status written = WriteInputs(call.inputs, {}, request.line,
                                 place.File("inputs.safetensors"));
    if (written.ok()) {
      written = WriteFileAtomically(
          place.File("call.json"),
          CallFile(call.inputs, request.line,
                   request.WideOut() ? Widened(call.outputs) : call.outputs));
    }
    if (written.ok()) written = place.Give();
    if (!written.ok()) return Broken("run", written.message());
    std::vector<std::string> arguments = words_;
    arguments.push_back(place.path());
    auto process = ChildProcess::Start({arguments, {}, {}});
    if (!process.ok()) return Broken("start", process.message());
    const RunOutcome ended = WaitFor(*process.value());
    process.value().reset();
    if (ended.state != RunOutcome::State::kRan) return ended;
    const Result<std::string> answer = FindAnswer(place.path());
    if (!answer.ok()) return NoAnswer(answer.message());
    return ReadOutputs(call, answer.value(), request);
  }

  RunOutcome WaitFor(ChildProcess& process) {
    const double patience =
        TheHostLimits().call_seconds.value_or(kFirstCallSeconds);
    const auto failure = process.Wait(-1, patience, "the call");
    if (failure) return Broken(failure->check, failure->message);
    const size_t left = ChildProcess::Orphans().size();
    if (left > 0) {
      left_ = {"children",
               "left " + std::to_string(left) + " processes behind"};
    }
    const HostFailure how = process.HowItEnded(" during the call");
    if (how.check == "crash") return Broken(how.check, how.message);
    if (process.ExitStatus() == 0) return {};
    if (process.ExitStatus() == kNotSupported) {
      return {RunOutcome::State::kUnsupported,
              "the program says so" + process.LastWords(), ""};
    }
    return Broken("exit", how.message);
  }

  static RunOutcome NoAnswer(const std::string& why) {
    return Broken("answer",
                  "ended with status 0, but gave no valid answer: " + why);
  }

  static RunOutcome ReadOutputs(const KernelCall& call, const std::string& path,
                                const CaseRequest& request) {
    const Result<SafetensorsFile> file = ReadTensors(path, request.max_bytes);
    if (!file.ok()) return NoAnswer(file.message());
    for (const NamedOutput& output : call.outputs) {
      const char* type = FileType(output.type);
      const SafetensorsTensor* found = file->Find(output.name);
      const std::string wanted = "expected " + Text(type, output.shape);
      if (found == nullptr) {
        return {RunOutcome::State::kMismatch, wanted + ", produced nothing",
                output.name};
      }
      const bool wide =
          request.WideOut() && IsNarrow(output.type) && found->type == "F32";
      if ((found->type != type && !wide) || found->shape != output.shape) {
        return {
            RunOutcome::State::kMismatch,
            wanted + ", produced " + Text(found->type.c_str(), found->shape),
            output.name};
      }
      const std::vector<int64_t> dense = DenseStridesOf(output.shape);
      if (wide) {
        RoundElements(LaneOf(output.type), output.shape, found->bytes.data(),
                      dense, output.data, output.strides);
      } else {
        CopyElements(output.shape, ElementBytes(output.type),
                     found->bytes.data(), dense, output.data, output.strides);
      }
    }
    return {};
  }

  std::vector<std::string> words_;
  HostFailure left_;  // processes, by a call of this case
};

}  // namespace

Result<std::unique_ptr<Candidate>> ParseCommandFiles(
    std::string_view arguments) {
  Result<std::vector<std::string>> words = SplitWords(arguments);
  if (!words.ok()) {
    return Status::Error("candidate cmd-files: " + words.message() +
                         "; want a program and its arguments, such as "
                         "'cmd-files:python3 kernel.py'");
  }
  return std::unique_ptr<Candidate>(
      std::make_unique<CommandFiles>(std::move(words.value())));
}

}  // namespace lockstep::verify

#include "verify/report/export_calls.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "verify/base/io/files.h"
#include "verify/base/io/json.h"
#include "verify/base/io/safetensors.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/calls/call.h"
#include "verify/candidate/wire/messages.h"
#include "verify/domain/draws/further.h"
#include "verify/judge/rehearsal.h"
#include "verify/ops/varlen/token_outputs.h"
#include "verify/ops/wants.h"
#include "verify/report/export.h"
#include "verify/report/export_loop.h"
#include "verify/run/draws.h"

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

// The tensors of another list, not their elements.
KernelInputs SameInputs(const KernelInputs& inputs) {
  KernelInputs same;
  same.op = inputs.op;
  same.tensors = inputs.tensors;
  same.scalars = inputs.scalars;
  same.masks = inputs.masks;
  same.listed = inputs.listed;
  return same;
}

std::string CallText(const RecordedCall& call, const KernelInputs& inputs) {
  Json json = ParseJson(CallFile(inputs, call.request->line, call.outputs));
  json["call"] = call.entry.number;
  json["what"] = call.entry.what;
  json["digest"] = call.entry.digest;
  if (call.after > 0) {
    Json taken = Json::object();
    for (const TakenInput& one : call.request->taken) {
      taken[one.input] = one.output;
    }
    json["after"] = {{"call", call.after}, {"inputs", taken}};
  }
  return DumpJson(json, 1) + "\n";
}

Status WriteAnswer(const RecordedCall& call, const std::string& path) {
  if (call.scene != nullptr) {
    const Result<std::string> tables =
        ExpectedTables(*call.scene, call.request->line);
    return tables.ok() ? WriteFileAtomically(path, tables.value())
                       : tables.status();
  }
  if (call.answer == nullptr) return {};
  ASSIGN_OR_RETURN(const FileOutputs outputs,
                   FileOutputs::Make(*call.trial, *call.answer));
  outputs.Write();
  const std::vector<OutputSpec>& specs = outputs.specs();
  std::vector<std::vector<uint8_t>> storage;
  std::vector<SafetensorsTensor> tensors;
  for (size_t t = 0; t < specs.size(); ++t) {
    const LaneView view = outputs.set().tensors[t].const_view();
    const auto width = static_cast<int64_t>(LaneBytes(view.lane));
    const std::vector<int64_t> shape(view.shape.begin(), view.shape.end());
    storage.emplace_back(static_cast<size_t>(ElementCount(shape) * width));
    CopyElements(shape, width, view.data,
                 {view.strides.begin(), view.strides.end()},
                 storage.back().data(), DenseStridesOf(shape));
    tensors.push_back({specs[t].name, FileType(call.outputs[t].type),
                       call.outputs[t].shape, storage.back()});
  }
  return WriteSafetensors(path, tensors, {{"digest", call.entry.digest}});
}

// Without an index there is nothing to replace: what an export that was killed
// left there makes way first, and so each file gets its name at once.
std::string MakeWay(const std::string& path) {
  unlink(path.c_str());
  return path;
}

}  // namespace

CallExporter::CallExporter(CallExport request)
    : request_(std::move(request)),
      recorder_([this](const RecordedCall& call) { return Write(call); },
                request_.expected) {
  if (request_.profile) index_.profile = request_.profile->name;
}

Status CallExporter::WriteInputsOnce(const RecordedCall& call,
                                     const KernelInputs& inputs,
                                     const std::string& path) {
  const std::vector<TakenInput>& taken = call.request->taken;
  MakeWay(path);
  if (taken.empty()) {
    const auto [first, is_new] = written_.try_emplace(
        call.entry.digest + " " + call.request->line, path);
    std::error_code error;
    if (!is_new) fs::create_hard_link(first->second, path, error);
    if (!is_new && !error) return {};
  }
  return WriteInputs(inputs, taken, call.request->line, path);
}

Status CallExporter::Write(const RecordedCall& call) {
  const std::string place =
      request_.folder + "/" + CallFolder(call.entry.number);
  std::error_code error;
  fs::create_directories(place, error);
  if (error) {
    return Status::Error(place + ": cannot be made: " + error.message());
  }
  KernelInputs inputs = SameInputs(*call.inputs);
  if (call.trial != nullptr && BringsMask(inputs)) {
    const std::string why =
        call.trial->wants().AddWanted(kMaskOfPairs, &inputs);
    if (!why.empty())
      return Status::Error(std::string(kMaskOfPairs) + ": " + why);
  }
  Status status = WriteInputsOnce(call, inputs, place + "/inputs.safetensors");
  if (!status.ok()) return status;
  status = WriteFileAtomically(MakeWay(place + "/call.json"),
                               CallText(call, inputs));
  if (!status.ok() || !request_.expected) return status;
  return WriteAnswer(call, MakeWay(place + "/expected.safetensors"));
}

// Records what a judge asks: of the profile, or of any.
Status CallExporter::Rehearse(const Case& c, JudgeOptions judge) {
  const CaseRequest request = {.call = &c, .line = MinimalLine(c)};
  judge.profile = request_.profile;
  Status status = RehearseCase(request, recorder_, judge);
  if (request_.profile) return status;
  for (const NumericProfile& profile : BuiltinProfiles()) {
    if (!status.ok()) break;
    if (profile.exact) continue;
    judge.profile = profile;
    status = RehearseCase(request, recorder_, judge);
  }
  return status;
}

Result<int64_t> CallExporter::Add(const Case& c, int64_t draws,
                                  const MaterialiseOptions& options) {
  JudgeOptions judge;
  judge.materialise = options;
  judge.canaries = false;
  judge.causes = true;
  Status status = Rehearse(c, judge);
  index_.draws = std::max(index_.draws, draws);
  int64_t number = 0;
  for (const Case& drawn : FurtherDraws(c, draws)) {
    recorder_.BeginDraw(++number);
    if (status.ok()) status = Rehearse(drawn, OptionsOfDraws(judge));
  }
  if (status.ok()) status = recorder_.status();
  if (!status.ok()) return status;
  index_.cases.push_back({MinimalLine(c), recorder_.TakeCalls()});
  return static_cast<int64_t>(index_.cases.back().calls.size());
}

Status CallExporter::Finish() {
  RETURN_IF_ERROR(WriteFileAtomically(
      MakeWay(request_.folder + "/" + kLoopFile), std::string_view(kLoopText)));
  index_.calls = recorder_.calls();
  return WriteFileAtomically(IndexFile(request_.folder),
                             FormatCallIndex(index_));
}

}  // namespace lockstep::verify

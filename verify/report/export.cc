#include "verify/report/export.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "verify/base/io/files.h"
#include "verify/base/io/safetensors.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/named_tensor.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"
#include "verify/ops/varlen/token_outputs.h"
#include "verify/tables/files.h"

namespace lockstep::verify {
namespace fs = std::filesystem;
namespace {

// Tensors of one file, dense and row-major whatever their layout was.
class FileBuilder {
 public:
  // `shape`: in the file.
  template <typename Void>
  void Add(const BasicNamedTensor<Void>& tensor, std::vector<int64_t> shape) {
    storage_.push_back(DenseBytes(
        {tensor.name, tensor.type, tensor.shape, tensor.strides, tensor.data}));
    tensors_.push_back({tensor.name, FileType(tensor.type), std::move(shape),
                        storage_.back()});
  }

  Result<std::string> Format(const std::string& case_line) const {
    return FormatSafetensors(tensors_, {{"case", case_line}});
  }

 private:
  std::vector<std::vector<uint8_t>> storage_;
  std::vector<SafetensorsTensor> tensors_;
};

Result<std::string> FormatInputs(const Trial& trial, const std::string& line) {
  FileBuilder file;
  ASSIGN_OR_RETURN(const KernelInputs inputs, HandedInputs(trial));
  for (const NamedTensor& tensor : inputs.tensors) {
    file.Add(tensor, tensor.shape);
  }
  return file.Format(line);
}

// What the reference computes; of tables, ours.
Result<std::string> FormatExpected(const Trial& trial,
                                   const std::string& line) {
  if (trial.scene() != nullptr) return ExpectedTables(*trial.scene(), line);
  ASSIGN_OR_RETURN(OutputSet outputs, trial.Allocate(0));
  Execution execution;
  const RunOutcome ran = trial.kernels().RunReference(outputs, &execution);
  if (ran.state != RunOutcome::State::kRan) return Status::Error(ran.message);
  ASSIGN_OR_RETURN(const FileOutputs made, FileOutputs::Make(trial, outputs));
  made.Write();
  FileBuilder file;
  for (size_t n = 0; n < outputs.tensors.size(); ++n) {
    const OutputSpec& spec = made.specs()[n];
    const MutableLaneView& view = made.set().tensors[n].view;
    const NamedOutput tensor = {spec.name,
                                TypeOf(view.lane),
                                {view.shape.begin(), view.shape.end()},
                                {view.strides.begin(), view.strides.end()},
                                view.data};
    file.Add(tensor, spec.InFile());
  }
  return file.Format(line);
}

Status MakeDirectory(const std::string& directory) {
  std::error_code error;
  // Another process may make it at the same moment.
  if (fs::create_directory(directory, error)) return {};
  std::error_code ignored;
  if (fs::is_directory(directory, ignored)) return {};
  return Status::Error(directory + ": cannot be made" +
                       (error ? ": " + error.message() : ""));
}

}  // namespace

Result<std::string> ExpectedTables(const BlockPlanScene& scene,
                                   const std::string& case_line) {
  ASSIGN_OR_RETURN(const auto plan,
                   PlanTiles(scene.data.problem, scene.data.inputs, 0,
                             TileOptionsOf(scene.asked)));
  return FormatTables(scene.asked, plan, case_line);
}

Status ExportCase(const Case& c, const std::string& directory, bool expected,
                  const MaterialiseOptions& options) {
  ASSIGN_OR_RETURN(const TrialRow op, TrialRowOf(c));
  ASSIGN_OR_RETURN(const auto trial, op.open(c, options));
  const std::string line = CanonicalLine(c);
  ASSIGN_OR_RETURN(const auto inputs, FormatInputs(*trial, line));
  Result<std::string> answer = std::string();
  if (expected) answer = FormatExpected(*trial, line);
  if (!answer.ok()) return answer.status();
  Status status = MakeDirectory(directory);
  if (!status.ok()) return status;
  status = WriteFileAtomically(directory + "/inputs.safetensors", inputs);
  if (!status.ok() || !expected) return status;
  status =
      WriteFileAtomically(directory + "/expected.safetensors", answer.value());
  if (status.ok()) return status;
  return Status::Error(status.message() +
                       " (inputs.safetensors beside it is written)");
}

}  // namespace lockstep::verify

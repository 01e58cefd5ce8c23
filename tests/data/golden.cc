#include "tests/data/golden.h"

#include <utility>
#include <variant>

#include "reference/attention_forward.h"
#include "verify/base/digest.h"
#include "verify/base/tensor.h"
#include "verify/case/attention_forward/case.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward_outputs.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::verify {
namespace {

constexpr std::string_view kArrow = " => ";

// Takes "name=HEX" from the front of `text`, with a blank before all but the
// first.
bool TakeDigest(std::string_view name, std::string_view* text,
                std::string* digest) {
  const std::string head = std::string(name) + "=";
  if (!text->starts_with(head)) return false;
  text->remove_prefix(head.size());
  *digest = text->substr(0, 32);
  text->remove_prefix(digest->size());
  if (text->starts_with(' ')) text->remove_prefix(1);
  return IsDigest(*digest);
}

Result<GoldenEntry> ParseGolden(std::string_view line) {
  const size_t arrow = line.find(kArrow);
  if (arrow == line.npos) return Status::Error("expected CASE => digests");
  auto c = ParseCase(line.substr(0, arrow));
  if (!c.ok()) return c.status();
  GoldenEntry entry{std::move(c.value()), {}};
  std::string_view rest = line.substr(arrow + kArrow.size());
  if (!TakeDigest("inputs", &rest, &entry.digests.inputs) ||
      !TakeDigest("o", &rest, &entry.digests.o) ||
      !TakeDigest("lse", &rest, &entry.digests.lse) || !rest.empty()) {
    return Status::Error("expected inputs=HEX o=HEX lse=HEX after '=>'");
  }
  return entry;
}

}  // namespace

Result<GoldenDigests> DigestsOf(const Case& c, const GoldenKernel& kernel) {
  const auto data = Materialise(c, {});
  if (!data.ok()) return data.status();
  auto outputs = AllocateOutputs(c.Get<AttentionForwardCase>(), 0);
  if (!outputs.ok()) return outputs.status();
  const AttentionForwardOutputs view = outputs->view();
  const Status status = kernel(data.value().problem, data.value().inputs, view);
  if (!status.ok()) return status;
  const TensorView<const float, 3> lse{view.lse.data, view.lse.shape,
                                       view.lse.strides};
  return GoldenDigests{data.value().InputDigest(),
                       DigestTensor(outputs->o.const_view()),
                       DigestTensor(lse)};
}

Status RunReference(const AttentionForwardProblem& problem,
                    const AttentionForwardInputs& inputs,
                    const AttentionForwardOutputs& outputs) {
  return reference::AttentionForward(problem, inputs, outputs);
}

std::string FormatGolden(const GoldenEntry& entry) {
  return MinimalLine(entry.request) + std::string(kArrow) +
         "inputs=" + entry.digests.inputs + " o=" + entry.digests.o +
         " lse=" + entry.digests.lse;
}

Result<std::vector<GoldenEntry>> ParseGoldens(std::string_view text) {
  std::vector<GoldenEntry> entries;
  for (int number = 1; !text.empty(); ++number) {
    const size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == text.npos ? text.size() : newline + 1);
    if (line.empty() || line.starts_with('#')) continue;
    auto entry = ParseGolden(line);
    if (!entry.ok()) {
      return Status::Error("line " + std::to_string(number) + ": " +
                           entry.message());
    }
    entries.push_back(std::move(entry.value()));
  }
  return entries;
}

Result<std::string> TrialDigests(const Case& c, const TrialKernel& run) {
  const Result<TrialRow> op = TrialRowOf(c);
  if (!op.ok()) return op.status();
  const auto trial = op->open(c, {});
  if (!trial.ok()) return trial.status();
  const auto outputs = trial.value()->Allocate(0);
  if (!outputs.ok()) return outputs.status();
  const RunOutcome outcome = run(*trial.value(), outputs.value());
  if (outcome.state != RunOutcome::State::kRan) {
    return Status::Error(outcome.message);
  }
  std::string text = "inputs=" + trial.value()->InputDigest();
  for (size_t t = 0; t < outputs->tensors.size(); ++t) {
    text += " " + trial.value()->outputs()[t].name + "=" +
            DigestTensor(outputs->tensors[t].const_view());
  }
  return text;
}

Result<std::vector<Case>> GoldenCases(const std::string& path, bool attention) {
  auto file = ReadCaseFile(path, Ops());
  if (!file.ok()) return file.status();
  std::vector<Case> cases;
  for (CaseFileEntry& entry : file->entries) {
    if (entry.sequence.size() != 1) continue;
    Case& c = entry.sequence[0];
    if (c.expect == Expect::kRefuse) continue;
    const std::string op = c.op->text.name;
    // Its bits are pinned by tests/reference/attention_backward_test.cc.
    if (op == "attention_backward") continue;
    if (attention != (op == "attention_forward")) continue;
    c.expect = Expect::kPass;  // says nothing about the bits
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace lockstep::verify

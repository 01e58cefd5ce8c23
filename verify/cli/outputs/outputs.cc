#include "verify/cli/outputs/outputs.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <utility>
#include <vector>

#include "verify/base/printable.h"
#include "verify/cli/watch.h"
#include "verify/report/events.h"
#include "verify/report/gate/annotations.h"
#include "verify/report/identify/json.h"

namespace lockstep::verify::cli {
namespace {

bool WantsColor(const std::string& when, int fd) {
  if (when != "auto") return when == "always";
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(fd) != 0 && (no_color == nullptr || *no_color == '\0');
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool WantsAnnotations(const SessionOptions& options) {
  if (options.annotations != "auto") return options.annotations == "github";
  return Variable("GITHUB_ACTIONS") == "true";
}

// Below which files of the checkout are named.
std::string RepositoryRoot() { return Variable("GITHUB_WORKSPACE"); }

std::vector<Output> AllOutputs(const SessionOptions& options) {
  return {{"--json", options.json},
          {"--junit", options.junit},
          {"--receipt", options.receipt},
          {"--html", options.html}};
}

// Those that are files of their own.
std::vector<std::string> OutputFiles(const SessionOptions& options) {
  std::vector<std::string> files;
  for (const auto& [option, path] : AllOutputs(options)) {
    if (!path.empty() && path != "-" && !IsStream(path)) files.push_back(path);
  }
  return files;
}

// Where stdout belongs to a program, people read stderr.
std::ostream* TextStream(const SessionOptions& options) {
  for (const Output& output : AllOutputs(options)) {
    if (output.path == "-") return &std::cerr;
  }
  return &std::cout;
}

// The exit code after everything was delivered, or was not.
int Conclude(const Status& delivered, int exit_code) {
  if (delivered.ok()) return exit_code;
  return Fail(delivered.message(),
              exit_code == kExitPass ? kExitUsage : exit_code);
}

}  // namespace

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

ExitPolicy PolicyOf(const SessionOptions& options) {
  return {.fail_on_suspicious = options.fail_on == "suspicious",
          .max_skipped = options.max_skipped};
}

Status CheckOutputs(const SessionOptions& options) {
  return CheckDeliverables(AllOutputs(options), options.inputs);
}

void BeginOutputs(const SessionOptions& options) {
  const std::string& path = options.junit;
  if (path.empty() || path == "-" || IsStream(path)) return;
  const Status status = Deliver(
      path,
      JUnitOfNothing(
          "unfinished",
          "the run did not end: it was killed, or lockstep itself broke"));
  // What cannot be written now is said at the end, like that of other files.
  if (!status.ok()) std::remove(WhereWritten(path).c_str());
}

int Refuse(const SessionOptions& options, const std::string& message,
           int code) {
  if (WantsAnnotations(options)) {
    *TextStream(options) << ErrorAnnotations(message, RepositoryRoot())
                         << std::flush;
  }
  Fail(message, code);
  if (options.junit.empty()) return code;
  return Conclude(Deliver(options.junit, JUnitOfNothing("refused", message)),
                  code);
}

Outputs::Outputs(const SessionOptions& options, int64_t total,
                 const Environment& environment, ReceiptRequest request)
    : options_(options),
      policy_(PolicyOf(options)),
      progress_(total),
      junit_(policy_.fail_on_suspicious, SpoolFolder(options.junit)),
      events_(SpoolFolder(options.json)),
      text_(TextStream(options)),
      known_(options.known.size()),
      total_(total) {
  // No gate reads yesterday's verdict where this run does not come to its end.
  for (const std::string& path : OutputFiles(options)) {
    if (path != options.junit) std::remove(WhereWritten(path).c_str());
  }
  style_.color = WantsColor(
      options.color, text_ == &std::cout ? STDOUT_FILENO : STDERR_FILENO);
  style_.verbose = options.verbose;
  Emit(StartEvent(environment, request.candidates, total));
  if (request.identified) Emit(IdentifiedEvent(*request.identified));
  if (!options.html.empty()) {
    page_ = std::make_unique<VerdictPage>(environment, request);
  }
  if (!options.receipt.empty()) {
    receipt_ = std::make_unique<Receipt>(environment, std::move(request),
                                         SpoolFolder(options.receipt));
  }
}

void Outputs::OnDecided(const CaseResult& result) {
  const std::lock_guard<std::mutex> lock(mutex_);
  progress_.Clear();
  *text_ << ReportBegin(result, style_) << std::flush;
  begun_ = true;
}

void Outputs::OnCase(const CaseResult& result, const Totals&, int64_t) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Emit(CaseEvents(result));
  totals_.Add(result);
  causes_.Add(result);
  known_.Add(options_.known, result);
  if (!options_.junit.empty()) junit_.Add(result);
  if (receipt_ != nullptr) receipt_->Add(result);
  if (page_ != nullptr) page_->Add(result);
  for (const CaseResult& drawn : result.draws) {
    known_.Add(options_.known, drawn);
    findings_ += static_cast<int64_t>(drawn.findings.size());
    if (drawn.verdict == Verdict::kUntrusted) continue;
    causes_.Add(drawn);
    const bool told =
        drawn.verdict != Verdict::kPass && drawn.verdict != Verdict::kSkipped;
    if (page_ != nullptr && told) page_->Add(drawn);
  }
  statistics_.Add(result);
  claims_.Add(result);
  ++done_;
  if (result.origin.fresh) ++fresh_;
  findings_ += static_cast<int64_t>(result.findings.size());
  const std::string text =
      ReportCase(result, style_, std::exchange(begun_, false));
  if (!text.empty()) {
    progress_.Clear();
    *text_ << text << std::flush;
  }
  progress_.Show(done_, findings_);
}

void Outputs::ShowProgress() {
  const std::lock_guard<std::mutex> lock(mutex_);
  progress_.Show(done_, findings_);
}

int Outputs::CloseTotals() {
  totals_.not_run = total_ - done_;
  totals_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_)
          .count();
  return ExitOf(ExitCode(totals_, policy_));
}

int Outputs::ExitOf(int exit_code) const {
  return options_.invariance ? ClaimsExitCode(claims_, exit_code) : exit_code;
}

void Outputs::End(int exit_code) {
  const int code = Conclude(Deliverables(totals_, exit_code), exit_code);
  EndProcess(options_.bisect ? BisectCode(code) : code);
}

void Outputs::EndInside(bool interrupted) {
  mutex_.lock();  // for good: nothing is reported any more
  totals_.interrupted = interrupted;
  End(CloseTotals());
}

void Outputs::EndShort(const std::string& why, int code) {
  mutex_.lock();
  Fail(why);
  const int known = CloseTotals();
  const bool wrong = known == kExitFail || known == kExitCandidate;
  End(wrong && code == kExitUsage ? known : code);
}

int Outputs::Finish(const Totals& totals, int exit_code) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int code = ExitOf(exit_code);
  return Conclude(Deliverables(totals, code), code);
}

std::string Outputs::Summary(const Totals& totals, int exit_code) const {
  if (options_.invariance) {
    return InvarianceSummary(claims_, totals, statistics_, exit_code, style_);
  }
  return ClaimTableText(claims_, style_) +
         ReportSummary(totals, statistics_, exit_code, style_);
}

Status Outputs::Deliverables(const Totals& totals, int exit_code) {
  progress_.Clear();
  ShowRemarks(totals);
  *text_ << Summary(totals, exit_code) << std::flush;
  if (!claims_.rows().empty()) Emit(ClaimsEvent(claims_));
  Emit(SummaryEvent(totals, exit_code));
  Status status;
  // One that cannot be written does not cost the others.
  const auto deliver = [&](const std::string& path, const Producer& produce) {
    if (path.empty()) return;
    const Status delivered = Deliver(path, produce);
    if (status.ok()) status = delivered;
  };
  if (options_.json != "-") {
    deliver(options_.json,
            [&](const Sink& sink) { return events_.CopyTo(sink); });
  }
  deliver(options_.junit,
          [&](const Sink& sink) { return junit_.Write(totals, sink); });
  deliver(options_.receipt, [&](const Sink& sink) {
    return receipt_->Write(totals, claims_, exit_code, sink);
  });
  deliver(options_.html, [&](const Sink& sink) {
    sink(page_->Write(totals, statistics_, claims_, exit_code));
    return Status();
  });
  return status;
}

// Remarks on lines of files, and what became of fresh data and known failures.
void Outputs::ShowRemarks(const Totals& totals) {
  if (options_.fresh != 0) {
    const std::string seed = std::to_string(options_.fresh);
    *text_ << "fresh     seed " << seed << ": " << fresh_ << " of " << done_
           << (done_ == 1 ? " case" : " cases")
           << "; the same again: --fresh-seed " << seed << "\n";
  }
  const bool annotated = WantsAnnotations(options_);
  const std::string root = RepositoryRoot();
  if (annotated) *text_ << Annotations(causes_, totals, policy_, root);
  for (size_t n = 0; n < options_.known.size(); ++n) {
    // A run that left cases out does not know what they need.
    if (known_.Needless(n) && totals.not_run > 0) continue;
    const KnownFailure& known = options_.known[n];
    const std::string text = known_.Say(known, n);
    *text_ << "known     " << Printable(text) << "\n";
    if (!annotated || !(known.expired || known_.Needless(n))) continue;
    *text_ << Annotation("warning", PathBelow(root, options_.config),
                         known.line, "known failure", text);
  }
}

// A stream to stdout at once; a file at the end, whole.
void Outputs::Emit(const std::string& lines) {
  if (options_.json.empty()) return;
  if (options_.json == "-") {
    progress_.Clear();
    std::cout << lines << std::flush;
  } else {
    events_.Append(lines);
  }
}

}  // namespace lockstep::verify::cli

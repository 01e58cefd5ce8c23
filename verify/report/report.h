// The report for people: short; a failing case says what differs first and
// worst, and how to see it again.
#ifndef LOCKSTEP_VERIFY_REPORT_REPORT_H_
#define LOCKSTEP_VERIFY_REPORT_REPORT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "verify/judge/verdict.h"

namespace lockstep::verify {

struct ReportStyle {
  bool color = false;
  bool verbose = false;  // a line for passing cases too, and details
};

// What a run did, over all its cases.
struct RunStatistics {
  std::set<std::string> executed;   // "optimized on AVX3", "reference"
  std::set<std::string> fallbacks;  // reasons
  std::set<std::string> skips;      // reasons
  std::set<std::string> answers;    // those that were not computed
  bool peeking = false;        // a kernel could have read the judge's memory
  std::set<std::string> kept;  // inputs that failing kernels hold
  std::vector<std::string> not_run;  // TargetsNotRun, in the order first seen
  int min_threads = 0;
  int max_threads = 0;
  int64_t runs = 0;
  int64_t elements = 0;     // compared with the reference, bit for bit
  int64_t by_envelope = 0;  // elements
  int64_t by_probes = 0;
  int64_t unbounded = 0;     // of either: any answer would have passed
  int64_t probe_inputs = 0;  // sets of inputs that some known fault fails
  int64_t idle_probes = 0;   // sets that would have shown nothing
  int64_t by_optimized = 0;  // elements compared with the optimized path
  int64_t rows_ranged = 0;   // held against no more than what no row can leave
  int64_t rows_unheld = 0;   // held against nothing
  // Kinds of faults that nothing in a case would have shown: cases.
  std::map<std::string, int64_t> unprobed;
  // Checks that the way in does not allow, whatever it brings.
  std::set<std::string> untried;
  std::set<std::string> lacking;  // outputs that no kernel gave
  // Checks that lack an answer: cases.
  std::map<std::string, int64_t> unanswered;
  // Laws whose form of a call the kernel does not take: cases.
  std::map<std::string, int64_t> refused;
  // Of kernels that are not held to bits: CaseResult has them.
  std::map<std::string, int64_t> too_large;
  int64_t runs_again = 0;
  int64_t runs_apart = 0;
  std::set<std::string> profiles;
  // Cases whose errors statistics looked at, their rows and tests; why they
  // did not look at others: cases.
  int64_t statistics_cases = 0;
  int64_t statistics_rows = 0;
  int64_t statistics_tests = 0;
  std::map<std::string, int64_t> no_statistics;
  int64_t canaries = 0;
  int64_t canaries_caught = 0;
  int64_t sampled_cases = 0;            // compared on sampled rows
  std::map<std::string, int64_t> laws;  // how often each was tried
  std::vector<Counter> counters;

  void Add(const CaseResult& result);
};

// What could not run here of a candidate that has to give the same bits on
// every instruction set. These are compiled targets that this CPU lacks, the
// bf16 dot instruction for a bf16 lane, and the matrix unit with order=amx.
// Empty for a candidate that names its target.
std::vector<std::string> TargetsNotRun(const CaseResult& result);
// The same of a candidate's spec; `pairs`: it meets bf16 lanes of attention,
// `matrix`: it meets order=amx.
std::vector<std::string> TargetsNotRun(std::string_view candidate, bool pairs,
                                       bool matrix);
// "not run   AVX3 (not on this CPU)" and a newline; nothing for
// none.
std::string NotRunLine(const std::vector<std::string>& targets);

// Nothing for a passing case unless verbose. With its draws, or without them.
// `begun`: ReportBegin was printed.
std::string ReportCase(const CaseResult& result, const ReportStyle& style,
                       bool begun = false);
std::string ReportOne(const CaseResult& result, const ReportStyle& style,
                      bool begun = false);
// The verdict and what is wrong where, before what it may come from.
std::string ReportBegin(const CaseResult& result, const ReportStyle& style);

// "executed  optimized on AVX3; 2 threads" and "skipped   WHY, WHY"; nothing
// where there is none.
std::string ExecutedLine(const RunStatistics& statistics);
std::string SkippedLine(const RunStatistics& statistics);

// "draws     46: 45 pass, 1 proving little" and a newline; nothing for none.
std::string DrawsLine(const VerdictCounts& draws);
// "1 of 2 draws wrong"; empty if none is.
std::string WrongDraws(const VerdictCounts& draws);

std::string ReportSummary(const Totals& totals, const RunStatistics& statistics,
                          int exit_code, const ReportStyle& style);

// "laws      causality 12, split 9" and a newline; nothing without laws.
std::string LawLine(const std::map<std::string, int64_t>& laws);

// "12 of 152 cases, 3.1/s, 45 s left, 1 finding": one line for a terminal.
std::string ProgressLine(int64_t done, int64_t total, int64_t findings,
                         double seconds);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_REPORT_H_

// The report for people: short; a failing case says what differs first and
// worst, and how to see it again.
#ifndef LOCKSTEP_VERIFY_REPORT_H_
#define LOCKSTEP_VERIFY_REPORT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "verify/verdict.h"

namespace lockstep::verify {

struct ReportStyle {
  bool color = false;
  bool verbose = false;  // a line for passing cases too, and details
};

// What a run did, over all its cases.
struct RunStatistics {
  std::set<std::string> executed;   // "optimized on AVX3_ZEN4", "reference"
  std::set<std::string> fallbacks;  // reasons
  std::set<std::string> skips;      // reasons
  int min_threads = 0;
  int max_threads = 0;
  int64_t runs = 0;
  int64_t elements = 0;     // compared with the reference, bit for bit
  int64_t by_envelope = 0;  // elements
  int64_t by_probes = 0;
  int64_t probe_inputs = 0;  // sets of inputs
  std::set<std::string> profiles;
  int64_t canaries = 0;
  int64_t canaries_caught = 0;
  int64_t sampled_cases = 0;            // compared on sampled rows
  std::map<std::string, int64_t> laws;  // how often each was tried
  std::vector<Counter> counters;

  void Add(const CaseResult& result);
};

// Nothing for a passing case unless verbose.
std::string ReportCase(const CaseResult& result, const ReportStyle& style);

std::string ReportSummary(const Totals& totals, const RunStatistics& statistics,
                          int exit_code, const ReportStyle& style);

// "laws      causality 12, split 9" and a newline; nothing without laws.
std::string LawLine(const std::map<std::string, int64_t>& laws);

// "12 of 152 cases, 3.1/s, 45 s left, 1 finding": one line for a terminal.
std::string ProgressLine(int64_t done, int64_t total, int64_t findings,
                         double seconds);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_H_

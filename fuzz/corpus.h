// Corpora: case lines worth trying first, and the smallest set of them that
// keeps what they are worth.
#ifndef LOCKSTEP_FUZZ_CORPUS_H_
#define LOCKSTEP_FUZZ_CORPUS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/domain/domain.h"

namespace lockstep::fuzz {

// Lines of case files that are worth trying, and what was left aside.
struct Corpus {
  std::vector<std::vector<verify::Case>> sequences;
  int64_t other_ops = 0;   // lines of other ops
  int64_t other_ends = 0;  // of this op that expect something else than a pass
  // Files one after the other.
  void Add(Corpus more);
  // "12 lines; left aside: 3 of other ops, 1 that expects no pass".
  std::string Text() const;
};

// The sequences of an op in a case file, or in all *.cases below a folder, in
// the order of their names. Errors: a path that is neither; a bad line.
Result<Corpus> ReadCorpus(const std::string& path, std::string_view op);

struct Minimum {
  std::vector<std::string> lines;  // minimal lines, sorted
  int64_t offered = 0;             // different lines
  int64_t features = 0;            // kept, of those that any line has
  int64_t kills = 0;               // mutants killed by any line; kept
  int64_t mutants = 0;             // of the op
  bool interrupted = false;
};

// A small set with every feature that any line has and every mutant of the
// catalogue that any line kills; short lines first, then a greedy cover.
// `progress` may be null.
Minimum MinimiseCorpus(const verify::Domain& domain,
                       std::vector<std::vector<verify::Case>> sequences,
                       const std::atomic<bool>* stop,
                       const std::function<void(int64_t, int64_t)>& progress);

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_CORPUS_H_

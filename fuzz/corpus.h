// Corpora: case lines worth trying first.
#ifndef LOCKSTEP_FUZZ_CORPUS_H_
#define LOCKSTEP_FUZZ_CORPUS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"

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

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_CORPUS_H_

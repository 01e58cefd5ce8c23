// Every structural mutant before the proof tiers at the lengths that people
// run: which tier proves it where, where it has no effect, and what survives.
#ifndef LOCKSTEP_TESTS_POWER_LENGTHS_MATRIX_H_
#define LOCKSTEP_TESTS_POWER_LENGTHS_MATRIX_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {

struct MatrixOptions {
  // Ascending. At the first one all mutants meet all rows of the cover; at the
  // others those rows on which they had an effect there.
  std::vector<int64_t> lengths = {1024, 4096, 16384};
  // False: at the other lengths each mutant meets one row with a sink and one
  // without, of those on which it was proved at the first, not by bits.
  bool full = false;
  int threads = 0;  // 0: as many as the machine has
  std::string op;   // of a selftest row; empty: all
  // Beginnings of names; empty: all.
  std::vector<std::string> only;
  // Probes that the judge is to go without: the matrix must notice.
  std::vector<std::string> without;
  std::function<void(const std::string&)> progress;  // may be null
};

// One mutant at one length.
struct MatrixLine {
  const MutantInfo* info = nullptr;
  std::string mutant;  // with its dial
  int64_t length = 0;
  int64_t proved = 0;
  int64_t survived = 0;  // it changes bits, and no tier proves it
  int64_t excused = 0;   // the same, where that is so in principle
  int64_t without_effect = 0;
  std::map<std::string, int64_t> tiers;  // that proved it first
  std::vector<std::string> survivors;    // "mutant:NAME,base=B  LINE"

  // Proved wherever it has an effect, and somewhere by more than bits: no
  // kernel but ours can be held to those.
  bool Proved() const {
    return survived == 0 && tiers.size() > (tiers.contains("bits") ? 1u : 0u);
  }
};

struct MatrixResult {
  std::vector<int64_t> lengths;
  std::vector<MatrixLine> lines;  // by mutant, then length
  std::vector<double> seconds;    // per length
  std::vector<int64_t> rows;      // of the cover that were met, per length
  int64_t cells = 0;
  std::vector<std::string> alarms;  // right kernels that were accused

  int64_t Proved() const;  // lines
  bool Passed() const;
};

// Errors: an unknown mutant, a row that is no case, memory.
Result<MatrixResult> RunMatrix(const MatrixOptions& options);

// What a person reads; survivors and mutants without effect by name.
std::string MatrixText(const MatrixResult& result);
std::string MatrixJson(const MatrixResult& result);
// docs/lengths.md: kinds of bugs by length, in cells the tiers that prove them.
std::string PowerPage(const MatrixResult& result);
// The row of one family in that page.
std::string PowerRow(const MatrixResult& result, const std::string& family);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_LENGTHS_MATRIX_H_

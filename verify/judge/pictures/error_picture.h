// Where a wrong answer is wrong. It has the error of one output over its rows
// and channels, small enough to be drawn, and the keys that explain the worst
// row's error.
#ifndef LOCKSTEP_VERIFY_JUDGE_PICTURES_ERROR_PICTURE_H_
#define LOCKSTEP_VERIFY_JUDGE_PICTURES_ERROR_PICTURE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/judge/truth.h"
#include "verify/judge/verdict.h"
#include "verify/ops/allowed.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Most cells of a map's side, maps of a picture, elements of its table, keys
// of its row.
inline constexpr int64_t kMapCells = 64;
inline constexpr size_t kPictureMaps = 3;
inline constexpr size_t kPictureElements = 10;
inline constexpr size_t kPictureKeys = 5;
inline constexpr size_t kKeyBins = 128;

// What the size of an error is counted in.
enum class ErrorUnit : uint8_t {
  kBound,   // |produced - truth| before the last rounding, over its bound
  kBeyond,  // the distance from the nearest allowed value
  kUlp,     // of the output's lane, from the expected bits
};

struct ErrorElement {
  std::array<int64_t, 4> index{};
  double produced = 0;
  ValueSet allowed;
  double truth = 0;  // the middle of the set, where only that is known
  bool outside = false;
  double size = 0;  // infinite: NaN, infinity or a value without a distance
};

// Elements under one cell of a map.
struct ErrorCell {
  int64_t judged = 0;
  int64_t outside = 0;
  double largest = 0;  // the largest size
};

// One part of an output: all rows along its axis `down`, all channels, one
// place of each other axis.
struct ErrorMap {
  std::array<int64_t, 4> at{};  // of the part; 0 along the two that are drawn
  int64_t judged = 0;
  int64_t outside = 0;
  // Elements under a cell: rows x channels. Cells: [row][channel].
  int64_t row_step = 1;
  int64_t channel_step = 1;
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<ErrorCell> cells;
  std::vector<int64_t> segments;  // rows where one begins
  // First and last wrong row of each stretch of wrong rows.
  std::vector<std::pair<int64_t, int64_t>> wrong;
};

// The worst row's error, key by key.
struct RowByKey {
  std::array<int64_t, 4> at{};  // the row: channel 0
  int64_t keys = 0;
  int64_t step = 1;         // keys under a bar
  std::vector<float> bars;  // the largest share of each
  struct Key {
    int64_t key = 0;
    double share = 0;
    bool visible = false;
    bool alone = false;  // as KeyErrors says
    bool heavy = false;
  };
  std::vector<Key> best;   // by share
  int64_t alike = 0;       // keys whose share is within 1 % of the best
  int64_t rows = 0;        // of the output that were judged
  int64_t wrong_rows = 0;  // and have an element outside
  // Other wrong rows that were looked at, and those of them that blame the same
  // key, or one at the same distance from the row.
  int64_t asked = 0;
  int64_t agree = 0;
};

struct ErrorPicture {
  Case call;         // whose answer it is: the judged case or a probe
  std::string line;  // minimal
  MaterialiseOptions materialise;
  OutputSpec output;
  Tier tier = Tier::kBits;
  ErrorUnit unit = ErrorUnit::kUlp;
  int64_t judged = 0;
  int64_t outside = 0;
  int64_t wrong_parts = 0;  // of the output's parts, those with an error
  int64_t parts = 0;
  std::vector<ErrorMap> maps;          // worst parts first
  std::vector<ErrorElement> elements;  // outside, worst first
  std::vector<RowByKey> by_key;        // one, or none: not known
};

// What a picture is drawn from.
struct PictureRequest {
  const CaseRequest& request;
  Candidate& candidate;
  const NumericProfile* profile = nullptr;  // null: exact bits
  const Trial& trial;                       // of the case itself
  const Truth& truth;                       // on its rows
  const AllowedResults* allowed = nullptr;  // the envelope, unless exact
  const OutputSet& produced;
  const MaterialiseOptions& materialise;
};

// Sets `picture` of a fail, or `no_picture`: why there is none.
void DrawError(const PictureRequest& from, CaseResult* failed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_PICTURES_ERROR_PICTURE_H_

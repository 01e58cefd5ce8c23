// The signed errors of an output, gathered for their statistics. They are taken
// row by row, in units of the profile's roundings, and along the directions in
// which known kinds of wrong arithmetic err.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ERRORS_H_
#define LOCKSTEP_VERIFY_ALLOWED_ERRORS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::verify {

// What the errors of a row are projected on; functions of the truth alone.
enum class ErrorDirection : uint8_t {
  kAwayFromZero,  // the signs of the elements
  kGain,          // the elements
  kUp,            // ones
  kScale,         // how the row moves with the factor of its scores
  kCap,           // how it moves with the softcap
};
inline constexpr size_t kErrorDirections = 5;
// "away_from_zero", ...
const char* ErrorDirectionName(ErrorDirection direction);

// A sum of one number per row, and that of the squares.
struct SignedSum {
  double sum = 0;
  double squares = 0;
  int64_t rows = 0;

  void Add(double x) {
    sum += x;
    squares += x * x;
    rows += x != 0 ? 1 : 0;
  }
};

struct RowErrors {
  int64_t row = 0;
  int64_t draw = 0;   // rows of one number share their roundings
  int64_t head = 0;   // rows of one head are one group
  int64_t block = 0;  // and so are rows of one block of queries
  // Sum of the squared normalised errors, per tile of columns.
  std::vector<double> squares;
  // The error along each direction, in units of its standard deviation if all
  // elements erred independently. Beside it stands how much of it may come from
  // functions that err the same way every time.
  std::array<double, kErrorDirections> along{};
  std::array<double, kErrorDirections> drift{};
};

// Sums over rows of the error along what one place contributes: a key, an
// offset, a tile of keys.
struct ErrorPool {
  std::string what;  // "key", "offset", "tile"
  int64_t first = 0;
  std::vector<SignedSum> places;
};

// The errors of the rows that statistics can use. Rows of different draws err
// independently of each other, and as often up as down, if the candidate's
// roundings are those that its profile declares (docs/envelopes.md).
struct ErrorSample {
  std::string tensor;
  std::string why_not;  // nothing can be told: why, in words; empty: it can
  int64_t judged = 0;   // rows that could have been in it
  int64_t column_tile = 1;
  int64_t columns = 0;
  std::vector<RowErrors> rows;
  std::vector<ErrorPool> pools;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ERRORS_H_

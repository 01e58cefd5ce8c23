// How large an error is, in the few steps that a map can show.
#ifndef LOCKSTEP_VERIFY_REPORT_PAGE_ERROR_LEVELS_H_
#define LOCKSTEP_VERIFY_REPORT_PAGE_ERROR_LEVELS_H_

#include <array>
#include <string>

#include "verify/judge/pictures/error_picture.h"

namespace lockstep::verify {

// 0: not judged, 1 and 2: nothing outside, 3 .. 6: outside, ever further, 7:
// outside without a distance, as NaN.
inline constexpr int kErrorLevels = 8;

class ErrorLevels {
 public:
  explicit ErrorLevels(const ErrorPicture& picture);

  int Of(const ErrorCell& cell) const;
  // What a level means: "outside, up to 8 x the bound".
  std::string Words(int level) const;
  // Its character in the text form.
  static char Letter(int level) { return "?.:1234N"[level]; }
  // "12.5 x the bound", "3 ulp", "0.25 beyond".
  std::string Size(double size) const;

 private:
  ErrorUnit unit_;
  // Largest sizes of the levels 3, 4 and 5.
  std::array<double, 3> steps_{};
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_PAGE_ERROR_LEVELS_H_

#include "verify/base/sparse/file.h"

#include <unistd.h>

#include <algorithm>

namespace lockstep::verify {

int64_t FirstNonZero(int descriptor, const uint8_t* memory, int64_t from,
                     int64_t to) {
  for (int64_t at = from; at < to;) {
    const int64_t data = lseek(descriptor, at, SEEK_DATA);
    if (data < 0 || data >= to) return to;
    const int64_t hole = lseek(descriptor, data, SEEK_HOLE);
    const uint8_t* begin = memory + data;
    const uint8_t* end = memory + (hole < 0 ? to : std::min(hole, to));
    const uint8_t* found =
        std::find_if(begin, end, [](uint8_t byte) { return byte != 0; });
    if (found != end) return found - memory;
    at = end - memory;
  }
  return to;
}

}  // namespace lockstep::verify

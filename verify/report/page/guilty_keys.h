// Of an ErrorPicture of attention: the mask with the guilty tiles, and the
// keys that the worst row's error can be blamed on.
#ifndef LOCKSTEP_VERIFY_REPORT_PAGE_GUILTY_KEYS_H_
#define LOCKSTEP_VERIFY_REPORT_PAGE_GUILTY_KEYS_H_

#include <optional>
#include <string>

#include "verify/report/page/error_map.h"

namespace lockstep::verify {

extern const char* const kGuiltyKeysStyle;

// Empty for ops without a mask. `tile`: the kernel's, where it is known.
std::string GuiltyTilesHtml(const ErrorPicture& picture,
                            const std::optional<Tile>& tile);

// Says so where the judge does not know it.
std::string RowByKeyHtml(const ErrorPicture& picture);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_PAGE_GUILTY_KEYS_H_

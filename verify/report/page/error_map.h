// An ErrorPicture as markup: maps of the error, the mask with the guilty
// tiles, the elements that are furthest off, the worst row's keys.
#ifndef LOCKSTEP_VERIFY_REPORT_PAGE_ERROR_MAP_H_
#define LOCKSTEP_VERIFY_REPORT_PAGE_ERROR_MAP_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "verify/judge/pictures/error_picture.h"

namespace lockstep::verify {

// Rules for them.
extern const char* const kErrorMapStyle;
// What cells are filled with; once on a page, before the first map.
std::string ErrorPatterns();

// Queries x keys of a tile.
using Tile = std::pair<int64_t, int64_t>;
// "tile=48x96 ..." or "tile 4x4 ..." of a plan that a kernel names; else none.
std::optional<Tile> TileOf(const std::string& plan);

// `tile`: the kernel's, where it is known.
std::string ErrorPictureHtml(const ErrorPicture& picture,
                             const std::optional<Tile>& tile);

// "b 0, h 3, i 7" of an element, or of what axes tell apart.
std::string PlaceText(const OutputSpec& output,
                      const std::array<int64_t, 4>& at, bool element);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_PAGE_ERROR_MAP_H_

#include "verify/candidate/wire/receipt.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "verify/base/format.h"

namespace lockstep::verify {
namespace {

std::string Seconds(double seconds) { return Format("%.6f s", seconds); }

// Tiles of all rows and query heads, by what the mask says.
struct TileCount {
  int64_t tiles = 0;
  int64_t visible = 0;  // some pair
  int64_t full = 0;     // every pair in range
};

// `mask`: u8 [b, hq or 1, sq, skv]; heads that share one count each.
TileCount CountTiles(const NamedTensor& mask, int64_t heads,
                     const std::array<int64_t, 2>& tile) {
  const auto* bits = static_cast<const uint8_t*>(mask.data);
  const int64_t sq = mask.shape[2], skv = mask.shape[3];
  const int64_t times = heads / mask.shape[1];
  TileCount count;
  for (int64_t map = 0; map < mask.shape[0] * mask.shape[1]; ++map) {
    for (int64_t i = 0; i < sq; i += tile[0]) {
      for (int64_t j = 0; j < skv; j += tile[1]) {
        const int64_t rows = std::min(tile[0], sq - i);
        const int64_t keys = std::min(tile[1], skv - j);
        int64_t seen = 0;
        for (int64_t r = 0; r < rows; ++r) {
          const uint8_t* row = bits + (map * sq + i + r) * skv + j;
          seen += std::count(row, row + keys, uint8_t{1});
        }
        count.tiles += times;
        count.visible += seen > 0 ? times : 0;
        count.full += seen == rows * keys ? times : 0;
      }
    }
  }
  return count;
}

std::string WhyTilesUntrue(const WireReceipt& receipt, const CallFacts& facts,
                           const NamedTensor* mask) {
  if (!receipt.tile || mask == nullptr) return "";
  if (!receipt.tiles_full || !receipt.tiles_partial) return "";
  const TileCount is = CountTiles(*mask, facts.heads, *receipt.tile);
  const int64_t worked = *receipt.tiles_full + *receipt.tiles_partial;
  if (receipt.tiles_empty && worked + *receipt.tiles_empty != is.tiles) {
    return "tiles_full, tiles_partial and tiles_empty add up to " +
           std::to_string(worked + *receipt.tiles_empty) + ", the grid has " +
           std::to_string(is.tiles);
  }
  if (worked < is.visible) {
    return "it worked on " + std::to_string(worked) + " tiles, and " +
           std::to_string(is.visible) + " hold visible pairs";
  }
  if (*receipt.tiles_full > is.full) {
    return std::to_string(*receipt.tiles_full) +
           " tiles were taken as full, and only " + std::to_string(is.full) +
           " are";
  }
  return "";
}

Teller TellerOf(const WireReceipt& receipt, const CallFacts& facts) {
  if (!receipt.seconds) return Teller::kNone;
  if (receipt.clock == "device" && receipt.synchronised) return Teller::kDevice;
  // Any other host is a program of others, whatever it says of itself.
  const bool ours = facts.door == "so" && receipt.clock.empty();
  return ours ? Teller::kHost : Teller::kKernel;
}

}  // namespace

std::string WhyUntrue(const WireReceipt& receipt, const CallFacts& facts,
                      const NamedTensor* mask) {
  if (!receipt.backend.empty() && receipt.backend != facts.name &&
      receipt.fallback_reason.empty()) {
    return "backend '" + receipt.backend + "' ran instead of '" + facts.name +
           "', and there is no fallback_reason";
  }
  if (receipt.threads && *receipt.threads < 1) {
    return std::to_string(*receipt.threads) + " threads ran";
  }
  if (facts.threads && receipt.threads && *receipt.threads != *facts.threads) {
    return std::to_string(*facts.threads) + " threads were asked for, " +
           std::to_string(*receipt.threads) + " ran";
  }
  // Also where it is no number.
  if (receipt.seconds &&
      !(*receipt.seconds >= 0 && *receipt.seconds <= facts.seconds)) {
    return "the kernel took " + Seconds(*receipt.seconds) +
           " of a call that took " + Seconds(facts.seconds);
  }
  if (receipt.processor_seconds &&
      !(*receipt.processor_seconds >= 0 &&
        std::isfinite(*receipt.processor_seconds))) {
    return "the kernel took " + Seconds(*receipt.processor_seconds) +
           " of processor time";
  }
  for (const auto& count :
       {receipt.tiles_full, receipt.tiles_partial, receipt.tiles_empty}) {
    if (count && *count < 0)
      return "there are " + std::to_string(*count) + " tiles of one kind";
  }
  if (receipt.tile && std::min((*receipt.tile)[0], (*receipt.tile)[1]) < 1) {
    return "a tile is " + std::to_string((*receipt.tile)[0]) + " x " +
           std::to_string((*receipt.tile)[1]);
  }
  return WhyTilesUntrue(receipt, facts, mask);
}

std::string WhyBadState(const WireReceipt& receipt) {
  if (receipt.rounding && *receipt.rounding != "nearest") {
    return "left the rounding mode at '" + *receipt.rounding + "'";
  }
  if (receipt.ftz || receipt.daz) {
    return std::string("left subnormals flushed (") +
           (receipt.ftz ? "FTZ" : "") +
           (receipt.ftz && receipt.daz ? ", " : "") +
           (receipt.daz ? "DAZ" : "") + ")";
  }
  return "";
}

Execution ToExecution(const WireReceipt& receipt, const CallFacts& facts) {
  Execution execution;
  const bool own = receipt.backend.empty() || receipt.backend == facts.name;
  execution.backend = own ? facts.door : receipt.backend;
  execution.target = receipt.target;
  execution.threads = static_cast<int>(receipt.threads.value_or(0));
  execution.fallback_reason = receipt.fallback_reason;
  execution.seconds = receipt.seconds;
  execution.processor_seconds = receipt.processor_seconds;
  execution.teller = TellerOf(receipt, facts);
  execution.call_seconds = facts.seconds;
  if (receipt.tile) {
    execution.plan = "tile " + std::to_string((*receipt.tile)[0]) + "x" +
                     std::to_string((*receipt.tile)[1]);
  }
  const auto add = [&](const char* name, const std::optional<int64_t>& count) {
    if (count) execution.counters.push_back({name, *count});
  };
  add("tiles_full", receipt.tiles_full);
  add("tiles_partial", receipt.tiles_partial);
  add("tiles_empty", receipt.tiles_empty);
  return execution;
}

}  // namespace lockstep::verify

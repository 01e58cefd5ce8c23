#include "tests/power/lengths/cases.h"

#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "tests/power/lengths/cover.h"
#include "tests/power/lengths/mamba3_scan.h"
#include "tests/power/lengths/own_cases.h"
#include "tests/power/lengths/structural.h"
#include "verify/base/mixing.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/mutants.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// "KEY=A,B" per batch row, or "KEY=A" of one.
std::string PerRow(const char* key, const std::string& first,
                   const std::string& second, bool two) {
  return std::string(" ") + key + "=" + first + (two ? "," + second : "");
}

// The same in brackets, for segments.
std::string SegmentKey(const char* key, const std::string& first,
                       const std::string& second, bool two) {
  return std::string(" ") + key + "=" +
         (two ? "[" + first + ";" + second + "]" : first);
}

// "ids:0*3,1*5": runs of the given lengths, none of length 0.
std::string Ids(std::initializer_list<std::array<int64_t, 2>> runs) {
  std::string text = "ids:";
  for (const auto& [id, count] : runs) {
    if (count == 0) continue;
    if (text.size() > 4) text += ",";
    text += std::to_string(id) + "*" + std::to_string(count);
  }
  return text;
}

struct Heads {
  const char* text;
  bool batch;  // two batch rows
  bool more;   // than one query head
};
constexpr Heads kHeads[] = {{"hq=2", false, true},
                            {"hq=4 hkv=2", false, true},
                            {"b=2 hq=2", true, true},
                            {"hq=6 hkv=2", false, true},
                            {"b=2 hq=2 hkv=1", true, true}};

constexpr const char* kBases[] = {"exact", "cpu",    "flash",
                                  "mma",   "splash", "flash-split"};
constexpr int64_t kQueries[] = {1, 5, 9};
constexpr const char* kShapes[] = {"d=32", "d=36 dv=20", "d=48 dv=16"};
constexpr const char* kCaps[] = {"", " cap=0.5", " cap=15", " cap=50.5"};
// Caps that keep every two weights within e^30 of each other: no key can be
// made to outweigh the rest.
constexpr bool SmallCap(size_t level) { return level == 1 || level == 2; }
constexpr const char* kFills[] = {"", " fill=normal:1+poison:masked",
                                  " fill=spread:3"};
constexpr size_t kPoisonFill = 1;
constexpr size_t kMasks = 11;
constexpr size_t kPayloads = 5;

// The factors in the order of the cover's levels.
enum Factor : size_t {
  kMask,
  kBaseKernel,
  kHead,
  kPayload,
  kQuery,
  kShape,
  kCap,
  kFill,
  kSink,
  kRagged,
  kFactors
};
constexpr size_t kLevels[kFactors] = {kMasks,
                                      std::size(kBases),
                                      std::size(kHeads),
                                      kPayloads,
                                      std::size(kQueries),
                                      std::size(kShapes),
                                      std::size(kCaps),
                                      std::size(kFills),
                                      2,
                                      2};

// Three circumstances and more together, which pairs need not bring: a part of
// the keys that one row of a tile does not see and another does; a NaN where
// only a factor masks it; ids that come back in a second batch row.
constexpr std::array<size_t, kFactors> kTogether[] = {
    {4, 5, 0, 1, 1, 0, 0, 0, 0, 0}, {4, 5, 2, 2, 2, 1, 0, 0, 0, 1},
    {0, 1, 2, 3, 1, 0, 0, 1, 0, 0}, {9, 1, 2, 2, 1, 1, 0, 0, 0, 1},
    {9, 2, 4, 1, 2, 0, 0, 0, 1, 0},
};

// Every kind of mask, with its alignment. The lengths in it are odd, and lie
// inside tiles.
std::string Mask(size_t level, int64_t n, const Heads& heads) {
  const std::string window = std::to_string(n / 3 + 1);
  switch (level) {
    case 0:
      return " mask=causal align=br";
    case 1:
      return " mask=causal&window:" + window + ",0 align=br";
    case 2:
      return " mask=chunked:" + std::to_string(n / 2 + 3) + " align=br";
    case 3:
      return PerRow(" mask", "prefix:" + std::to_string(n / 2 + 1),
                    std::to_string(n / 3 + 2), heads.batch);
    case 4:
      return "";
    case 5:  // a right bound of all keys, which binds far before them
      return " mask=window:inf," + std::to_string(n) + " align=-" +
             std::to_string(n / 2 - 1);
    case 6:
      return " mask=causal&(window:0,0|sink:5) align=br";
    case 7:
      return std::string(" mask=causal align=") + std::to_string(n / 2 + 1) +
             (heads.more ? " mask.h1=full" : "");
    case 8:
      return " mask=random:0.5";
    case 9:  // sink tokens ahead of the queries
      return " mask=causal&(window:0,0|sink:" + std::to_string(n / 2 + 9) +
             ") align=" + std::to_string(n / 2);
    default:
      return " mask=window:" + window + ",3 align=" + std::to_string(n / 2 + 6);
  }
}

std::string SegmentsOf(int64_t rows, int64_t n, bool batch) {
  const int64_t half = rows / 2;
  return SegmentKey("q_seg", Ids({{0, half}, {1, rows - half}}),
                    Ids({{1, rows}}), batch) +
         SegmentKey("kv_seg", Ids({{0, n / 2 - 3}, {1, n - n / 2 + 3}}),
                    Ids({{0, n / 3}, {1, n - n / 3}}), batch);
}

// Ids that come back, and that eight bits cannot tell apart.
std::string StrangeSegments(int64_t rows, int64_t n, bool batch) {
  const int64_t half = (rows + 1) / 2;
  const int64_t part = n / 4 + 1;
  return SegmentKey("q_seg", Ids({{0, half}, {256, rows - half}}),
                    Ids({{1, rows}}), batch) +
         SegmentKey("kv_seg",
                    Ids({{0, part}, {1, part}, {0, part}, {256, n - 3 * part}}),
                    Ids({{256, part}, {1, n - part}}), batch);
}

std::string Payload(size_t level, int64_t rows, int64_t n, bool batch) {
  const std::string queries = rows > 1
                                  ? PerRow("valid_q", std::to_string(rows - 1),
                                           std::to_string(rows), batch)
                                  : "";
  switch (level) {
    case 0:
      return "";
    case 1:
      return SegmentsOf(rows, n, batch);
    case 2:
      return StrangeSegments(rows, n, batch) +
             PerRow("valid_kv", std::to_string(n - 7),
                    std::to_string(n / 2 + 3), batch);
    case 3:
      return queries + PerRow("valid_kv", std::to_string(n - 7),
                              std::to_string(n / 2 + 3), batch);
    default:
      return PerRow("valid_kv", std::to_string(n - 3), "0", batch);
  }
}

constexpr const char* kScanHeads[] = {"", " h=2", " b=2 h=4 g=2"};
constexpr const char* kScanForms[] = {"", " variant=mimo r=2",
                                      " variant=mimo r=2 reduce=yes"};
constexpr const char* kScanRegimes[] = {"", " regime=short", " regime=long"};
constexpr const char* kScanParts[] = {"", " gate=yes", " skip=no bias=no"};
constexpr const char* kSsdParts[] = {"", " gate=yes", " skip=no"};
static_assert(std::size(kSsdParts) == std::size(kScanParts));
constexpr const char* kScanStates[] = {" n=8 p=3", " n=10 p=2"};
constexpr size_t kScanRuns = 4;

// Runs that begin inside a chunk of four tokens and with one; one of a single
// token between two with the same id. By ends only for one row.
std::string ScanRuns(size_t level, int64_t t, bool batch) {
  if (level == 0) return "";
  const int64_t first = t / 12 * 4 + 1;
  const int64_t second = first + 1;
  const int64_t third = t / 8 * 4;
  if (level == 1 && !batch) {
    return " cu=0," + std::to_string(first) + "," + std::to_string(second) +
           "," + std::to_string(third) + "," + std::to_string(t);
  }
  return " seg=ids:0*" + std::to_string(first) + ",1*1,0*" +
         std::to_string(third - second) + ",2*" + std::to_string(t - third) +
         (level == 3 ? " poison=0" : "");
}

// What a line takes besides the levels of the cover.
struct LineParts {
  int64_t length;
  int64_t queries;
  std::string shape;
  std::string lane;  // as LaneWord has it
  bool poison;       // masked keys may hold NaN
};

std::string AttentionLine(const CoverRow& row, const LineParts& parts) {
  const Heads& heads = kHeads[row[kHead]];
  const int64_t n = parts.length + (row[kRagged] == 1 ? 5 : 0);
  const bool open = row[kFill] != kPoisonFill || parts.poison;
  return std::string("attention_forward ") + heads.text +
         " sq=" + std::to_string(parts.queries) + " skv=" + std::to_string(n) +
         " " + parts.shape + kCaps[row[kCap]] + parts.lane +
         Mask(row[kMask], n, heads) +
         Payload(row[kPayload], parts.queries, n, heads.batch) +
         kFills[open ? row[kFill] : 0] +
         (row[kSink] == 1 ? " sinklogit=normal:1" : "");
}

// The factors of scans: a step has no runs, Mamba-2 one form.
std::vector<size_t> ScanLevels(std::string_view op) {
  return {std::size(kScanHeads),
          op == "ssd_scan" ? 1 : std::size(kScanForms),
          std::size(kScanRegimes),
          std::size(kScanParts),
          op == "mamba3_step" ? 1 : kScanRuns,
          2,
          std::size(kScanStates)};
}

std::string ScanLine(std::string_view op, const CoverRow& row, int64_t t) {
  const std::string heads = kScanHeads[row[0]];
  const auto& parts = op == "ssd_scan" ? kSsdParts : kScanParts;
  return std::string(op) + heads + " t=" + std::to_string(t) +
         kScanStates[row[6]] + kScanForms[row[1]] + kScanRegimes[row[2]] +
         parts[row[3]] + ScanRuns(row[4], t, heads.starts_with(" b=")) +
         (row[5] == 1 ? " carry=yes" : "");
}

std::string ScanLineAt(std::string_view op, uint64_t seed, int64_t length,
                       const NumericProfile& profile) {
  uint64_t state = seed;
  CoverRow row;
  for (const size_t levels : ScanLevels(op)) {
    row.push_back(NextMixed(&state) % levels);
  }
  return ScanLine(op, row,
                  length + static_cast<int64_t>(NextMixed(&state) % 6)) +
         LaneWord(profile) + " seed=" + std::to_string(seed);
}

// The pattern of a bug of f16 tensors with so many keys more.
Result<Case> StretchedPattern(const MutantInfo& info, int64_t length) {
  Result<Case> c = ParseCase(info.pattern);
  if (c.ok()) c->Get<AttentionForwardCase>().kv_len += length / 4 * 4;
  return c;
}

}  // namespace

bool IsFor(const MutantInfo& info, const LengthCase& row) {
  if (!row.only.empty()) return row.only == info.name;
  return !BreaksF16(info) && !BreaksFp8(info);
}

std::vector<LengthCase> AttentionLengthCases(int64_t length) {
  static const std::vector<CoverRow> kRows = [] {
    std::vector<CoverRow> rows = PairwiseCover(kLevels);
    for (const auto& row : kTogether) rows.emplace_back(row.begin(), row.end());
    return rows;
  }();
  std::vector<LengthCase> cases;
  for (const CoverRow& row : kRows) {
    const std::string base = kBases[row[kBaseKernel]];
    const NumericProfile profile = FindVariant(base).value().numeric;
    const LineParts parts = {length, kQueries[row[kQuery]],
                             kShapes[row[kShape]], LaneWord(profile),
                             profile.masked_nan_safe == MaskedNan::kYes};
    cases.push_back({AttentionLine(row, parts), base, row[kSink] == 1, "",
                     SmallCap(row[kCap])});
  }
  for (LengthCase& own : OwnLengthCases(length)) {
    cases.push_back(std::move(own));
  }
  for (const MutantInfo& info : Mutants()) {
    if (!info.attention() || !BreaksF16(info)) continue;
    const Result<Case> c = StretchedPattern(info, length);
    if (!c.ok() || !ValidateCase(c.value()).ok()) continue;
    cases.push_back({MinimalLine(c.value()), "", false, info.name, false});
  }
  return cases;
}

std::vector<LengthCase> ScanLengthCases(int64_t length, std::string_view op) {
  std::vector<LengthCase> cases;
  for (const CoverRow& row : PairwiseCover(ScanLevels(op))) {
    cases.push_back({ScanLine(op, row, length), "", false, "", false});
  }
  for (const MutantInfo& info : Mutants()) {
    if (!std::string_view(info.pattern).starts_with(op)) continue;
    const Result<Case> c = ScanCaseAt(info, length);
    if (!c.ok() || !ValidateCase(c.value()).ok()) continue;
    cases.push_back({MinimalLine(c.value()), "", false, info.name, false});
  }
  return cases;
}

std::string AttentionLineAt(uint64_t seed, int64_t length,
                            const NumericProfile& profile) {
  uint64_t state = seed;
  CoverRow row;
  for (const size_t n : kLevels) row.push_back(NextMixed(&state) % n);
  constexpr const char* kSmall[] = {"d=8", "d=9 dv=5", "d=16 dv=4", "d=4"};
  const LineParts parts = {
      length, static_cast<int64_t>(1 + NextMixed(&state) % 3),
      kSmall[NextMixed(&state) % std::size(kSmall)], LaneWord(profile),
      profile.masked_nan_safe == MaskedNan::kYes};
  return AttentionLine(row, parts) + " seed=" + std::to_string(seed);
}

std::string Mamba3ScanLineAt(uint64_t seed, int64_t length,
                             const NumericProfile& profile) {
  return ScanLineAt("mamba3_scan", seed, length, profile);
}

std::string SsdScanLineAt(uint64_t seed, int64_t length,
                          const NumericProfile& profile) {
  return ScanLineAt("ssd_scan", seed, length, profile);
}

}  // namespace lockstep::verify

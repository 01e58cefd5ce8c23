#include "verify/emulator/mutants.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/mamba3_scan/zoo.h"

namespace lockstep::verify {
namespace {

#define BUG(point, ...) {KERNEL::point, __VA_ARGS__},
#define SAME_BUG BUG
constexpr MutantInfo kMutants[] = {
#define KERNEL Fault
#include "verify/emulator/attention_forward/alias/bugs.inc"
#include "verify/emulator/attention_forward/bugs.inc"
#include "verify/emulator/attention_forward/bugs_layout.inc"
#include "verify/emulator/attention_forward/bugs_reported.inc"
#include "verify/emulator/attention_forward/far/bugs.inc"
#include "verify/emulator/attention_forward/fp8/bugs.inc"
#include "verify/emulator/attention_forward/lists/bugs.inc"
#include "verify/emulator/attention_forward/pages/bugs.inc"
#include "verify/emulator/attention_forward/varlen/bugs.inc"
#undef KERNEL
#define KERNEL GradFault
#include "verify/emulator/attention_backward/bugs.inc"
#include "verify/emulator/attention_backward/lists/bugs.inc"
#include "verify/emulator/attention_backward/varlen/bugs.inc"
#undef KERNEL
#define KERNEL ScanFault
#include "verify/emulator/mamba3_scan/bugs.inc"
#undef KERNEL
#define KERNEL ScanGradFault
#include "verify/emulator/mamba3_scan_backward/bugs.inc"
#undef KERNEL
#define KERNEL ScanFault
#include "verify/emulator/ssd_scan/bugs.inc"
#undef KERNEL
#define KERNEL MergeFault
#include "verify/emulator/attention_merge/bugs.inc"
#undef KERNEL
};
#undef SAME_BUG
#undef BUG

constexpr EquivalentMutant kEquivalent[] = {
    {"attn.chunk_division_truncates",
     "back >= 0 and j >= 0 imply a position >= 0, where truncating division is "
     "floor division"},
    {"attn.prefix_needs_query_in_prefix",
     "without an offset, j < p and i >= p imply j < i, which causal allows"},
    {"attn.window_infinite_left_as_kv_len",
     "bottom-right, back <= kv_len - 1: a left bound of kv_len - 1 or more "
     "never "
     "binds"},
    {"attn.diagonal_skip_before_cap",
     "a sentinel set before the cap is selected away behind it"},
    {"attn.tile_states_dense",
     "visiting empty tiles adds p = +0, which changes no finite sum"},
    {"attn.kv_rows_reordered",
     "keys that a row sees alike, moved together with their V rows, leave its "
     "sums what they were: an exchange of pages shows only where a mask, a "
     "segment or a length cuts one of them"},
    {"attn.l_of_other_maximum",
     "a maximum that is not the row's own cancels in o, and in lse, as long as "
     "nothing under- or overflows"},
    {"attn.operands_rounded",
     "tf32 operands rounded where the profile says cut: a rounded operand is "
     "at most half as far off, so that every bound for cut ones holds it, and "
     "a profile without a claim of bits allows both"},
    {"attn.max_any_integer",
     "N9: where nothing under- or overflows, every integer m gives the same o "
     "and lse"},
};

// Most rows, keys or tokens of an emulated tile.
constexpr int64_t kMostTile = 65536;

bool ReadCount(std::string_view text, int64_t* count) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *count);
  return error == std::errc{} && stop == end && *count >= 1 &&
         *count <= kMostTile;
}

Result<double> ReadSeverity(std::string_view text, const MutantInfo& info) {
  const std::string name = info.name;
  if (!info.dial) {
    return Status::Error("mutant '" + name + "' has no dial: leave '@" +
                         std::string(text) + "' out");
  }
  const char* end = text.data() + text.size();
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool bits = std::string_view(info.dial) == "bits";
  if (error != std::errc{} || stop != end || value < 1 ||
      value > (bits ? 23 : 1000000)) {
    return Status::Error("mutant '" + name + "@" + std::string(text) +
                         "': want a count of " + info.dial + " in 1.." +
                         (bits ? "23" : "1000000"));
  }
  return static_cast<double>(value);
}

// "NAME[@SEVERITY]".
struct Bug {
  const MutantInfo* info = nullptr;
  double severity = 0;
};

Result<Bug> ReadBug(std::string_view text) {
  const size_t at = std::min(text.find('@'), text.size());
  const std::string_view name = text.substr(0, at);
  ASSIGN_OR_RETURN(const MutantInfo* found, FindBug(Mutants(), name));
  Bug bug{found, found->severity};
  if (at == text.size()) return bug;
  ASSIGN_OR_RETURN(bug.severity, ReadSeverity(text.substr(at + 1), *found));
  return bug;
}

Status AddSecond(std::string_view text, Mutant* mutant) {
  ASSIGN_OR_RETURN(const Bug bug, ReadBug(text));
  const MutantInfo& first = *mutant->info;
  const MutantInfo& second = *bug.info;
  const bool kernel = (first.attention() && second.attention()) ||
                      (first.scan() && second.scan());
  if (!kernel || &first == &second) {
    return Status::Error("mutants '" + std::string(first.name) + "' and '" +
                         second.name +
                         "' do not go together: want two of attn, or two of "
                         "scan and ssd");
  }
  mutant->second = &second;
  mutant->dial.second = second.PointOf<Fault>();
  mutant->dial.second_severity = bug.severity;
  mutant->scan_dial.second = second.PointOf<ScanFault>();
  return {};
}

// The variant that both bugs can show in: the one that the catalogue names for
// either, if the other has the usual one.
std::string_view BaseOf(const Mutant& mutant) {
  const std::string_view first = mutant.info->base;
  const bool usual = first == "exact" || first == "scan";
  return usual && mutant.second != nullptr ? mutant.second->base : first;
}

// What follows the name of a bug: the variant it lives in, and its tile
// ("32x64", rows by keys) or, of scans, its chunk ("8").
struct Place {
  std::string_view base;
  std::string_view size;
};

Result<Place> ReadPlace(std::string_view arguments, const Mutant& mutant) {
  const MutantInfo& info = *mutant.info;
  const bool chunks = info.scan() || info.scan_gradients();
  const std::string_view key = chunks ? "chunk=" : "tile=";
  const bool sizes = !info.merge();
  Place place{BaseOf(mutant), ""};
  while (!arguments.empty()) {
    const size_t comma = std::min(arguments.find(','), arguments.size());
    const std::string_view argument = arguments.substr(0, comma);
    arguments.remove_prefix(std::min(comma + 1, arguments.size()));
    if (argument.starts_with("base=")) {
      place.base = argument.substr(5);
    } else if (sizes && argument.starts_with(key)) {
      place.size = argument.substr(key.size());
    } else {
      return Status::Error("mutant argument '" + std::string(argument) +
                           "': known " +
                           (sizes ? "are base=VARIANT and " + std::string(key) +
                                        (chunks ? "N" : "ROWSxKEYS")
                                  : std::string("is base=VARIANT")));
    }
  }
  return place;
}

// `rows` alone: a chunk.
Status SetSize(std::string_view text, int64_t* rows, int64_t* keys) {
  if (text.empty()) return {};
  const size_t cross = std::min(text.find('x'), text.size());
  const bool read = keys == nullptr
                        ? ReadCount(text, rows)
                        : cross < text.size() &&
                              ReadCount(text.substr(0, cross), rows) &&
                              ReadCount(text.substr(cross + 1), keys);
  if (read) return {};
  return Status::Error("'" + std::string(text) + "': want " +
                       (keys == nullptr ? "chunk=N" : "tile=ROWSxKEYS") +
                       ", each 1 to " + std::to_string(kMostTile));
}

Status Furnish(const Place& place, Mutant* mutant) {
  const MutantInfo& info = *mutant->info;
  if (info.gradients()) {
    ASSIGN_OR_RETURN(mutant->grad, FindGradVariant(place.base));
    return SetSize(place.size, &mutant->grad.tile_q, &mutant->grad.tile_kv);
  }
  if (info.scan_gradients()) {
    ASSIGN_OR_RETURN(mutant->scan_grad, FindScanGradVariant(place.base));
    return SetSize(place.size, &mutant->scan_grad.scan.chunk, nullptr);
  }
  if (info.merge()) {
    ASSIGN_OR_RETURN(mutant->merge, FindMergeVariant(place.base));
    return {};
  }
  if (info.scan()) {
    ASSIGN_OR_RETURN(mutant->scan, FindScanVariant(place.base));
    return SetSize(place.size, &mutant->scan.chunk, nullptr);
  }
  ASSIGN_OR_RETURN(mutant->variant, FindVariant(place.base));
  return SetSize(place.size, &mutant->variant.tile_q, &mutant->variant.tile_kv);
}

}  // namespace

std::span<const MutantInfo> Mutants() { return kMutants; }

std::span<const EquivalentMutant> EquivalentMutants() { return kEquivalent; }

Result<Mutant> ParseMutant(std::string_view spec) {
  const size_t comma = std::min(spec.find(','), spec.size());
  const std::string_view head = spec.substr(0, comma);
  const size_t plus = std::min(head.find('+'), head.size());
  ASSIGN_OR_RETURN(const Bug first, ReadBug(head.substr(0, plus)));
  Mutant mutant;
  mutant.info = first.info;
  mutant.dial = {.fault = first.info->PointOf<Fault>(),
                 .severity = first.severity};
  mutant.scan_dial = {.fault = first.info->PointOf<ScanFault>()};
  mutant.spec = spec;
  if (plus < head.size()) {
    RETURN_IF_ERROR(AddSecond(head.substr(plus + 1), &mutant));
  }
  ASSIGN_OR_RETURN(
      const Place place,
      ReadPlace(spec.substr(std::min(comma + 1, spec.size())), mutant));
  RETURN_IF_ERROR(Furnish(place, &mutant));
  return mutant;
}

}  // namespace lockstep::verify

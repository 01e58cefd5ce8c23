#include "optimized/attention_tuning.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/plan.h"
#include "optimized/simd/targets.h"
#include "reference/contract/numerics.h"

namespace lockstep::optimized {
namespace {

constexpr std::string_view kHeader = "lockstep-tuning 1";
constexpr size_t kMostBytes = size_t{1} << 24;

std::string MaskWord(const MaskExpr& mask) {
  const auto number = [](int64_t n) {
    return n == kUnlimited ? std::string("inf") : std::to_string(n);
  };
  switch (mask.kind) {
    case MaskExpr::Kind::kFull:
      return "full";
    case MaskExpr::Kind::kCausal:
      return "causal";
    case MaskExpr::Kind::kWindow:
      return "window:" + number(mask.left) + "," + number(mask.right);
    case MaskExpr::Kind::kChunked:
      return "chunked:" + number(mask.chunk);
    case MaskExpr::Kind::kPrefix:
      return "prefix";
    case MaskExpr::Kind::kSink:
      return "sink:" + number(mask.tokens);
    case MaskExpr::Kind::kDense:
      if (mask.block_q == 1 && mask.block_k == 1) return "dense";
      return "blocks:" + number(mask.block_q) + "x" + number(mask.block_k);
    case MaskExpr::Kind::kAnd:
    case MaskExpr::Kind::kOr:
      break;
  }
  std::string all = "(";
  for (const MaskExpr& child : mask.children) {
    if (all.size() > 1) all += mask.kind == MaskExpr::Kind::kAnd ? "&" : "|";
    all += MaskWord(child);
  }
  return all + ")";
}

// The fields of /proc/cpuinfo's first processor.
std::string ReadCpuModel() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, name, family, model, stepping;  // of x86
  std::string implementer, part;                    // of ARM
  while (std::getline(file, line) && !line.empty()) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    const std::string field =
        line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = line.substr(colon + 2);
    if (field == "model name") name = value;
    if (field == "cpu family") family = value;
    if (field == "model") model = value;
    if (field == "stepping") stepping = value;
    if (field == "CPU implementer") implementer = value;
    if (field == "CPU part") part = value;
  }
  std::replace(name.begin(), name.end(), '\t', ' ');
  if (name.empty() && !part.empty()) return "ARM " + implementer + "/" + part;
  if (name.empty()) return "unknown";
  return name + " " + family + "/" + model + "/" + stepping;
}

Status Bad(const std::string& where, const std::string& what) {
  return Status::Error(where + ": " + what);
}

std::vector<std::string> Fields(std::string_view line) {
  std::vector<std::string> fields;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find('\t', at), line.size());
    fields.emplace_back(line.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

// "tile=96x256", a tile that a plan can have.
bool ParseTile(std::string_view word, TuningEntry* entry) {
  constexpr std::string_view kPrefix = "tile=";
  if (!word.starts_with(kPrefix)) return false;
  word.remove_prefix(kPrefix.size());
  const char* end = word.data() + word.size();
  const auto [x, first] = std::from_chars(word.data(), end, entry->tile_rows);
  if (first != std::errc{} || x == end || *x != 'x') return false;
  const auto [stop, second] = std::from_chars(x + 1, end, entry->tile_keys);
  return second == std::errc{} && stop == end && entry->tile_rows >= 1 &&
         entry->tile_rows <= kMaxLength && entry->tile_keys >= 1 &&
         entry->tile_keys <= kMaxLength && entry->tile_keys % kStripes == 0;
}

Result<TuningEntry> ParseEntry(std::string_view line,
                               const std::string& where) {
  const std::vector<std::string> fields = Fields(line);
  const bool full = std::none_of(fields.begin(), fields.end(),
                                 [](const auto& f) { return f.empty(); });
  if (fields.size() != 4 || !full) {
    return Bad(where,
               "want cpu, target, key and tile=QxK, separated by tabs; found " +
                   std::to_string(fields.size()) + " fields" +
                   (full ? "" : ", one of them empty"));
  }
  TuningEntry entry = {fields[0], fields[1], fields[2], 0, 0};
  if (TargetBit(entry.target) == 0) {
    return Bad(where, UnknownTarget(entry.target));
  }
  if (!ParseTile(fields[3], &entry)) {
    return Bad(where, "'" + fields[3] +
                          "' is no tile; want tile=QxK with Q >= 1 rows and K "
                          "a multiple of 16 keys");
  }
  return entry;
}

Result<Tuning> ReadTuning(const char* path) {
  if (path == nullptr || *path == '\0') return Tuning{};
  const std::string name = std::string("LOCKSTEP_TUNING ") + path;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char block[65536];
  while (file.read(block, sizeof(block)) || file.gcount() > 0) {
    text.append(block, static_cast<size_t>(file.gcount()));
    if (text.size() > kMostBytes) return Bad(name, "more than 16 MiB");
  }
  if (!file.eof()) return Bad(name, "cannot be read");
  return ParseTuning(text, name);
}

}  // namespace

const TuningEntry* Tuning::Find(std::string_view cpu, std::string_view target,
                                std::string_view key) const {
  for (const TuningEntry& entry : entries) {
    if (entry.cpu == cpu && entry.target == target && entry.key == key) {
      return &entry;
    }
  }
  return nullptr;
}

void Tuning::Set(const TuningEntry& entry) {
  for (TuningEntry& known : entries) {
    if (known.cpu == entry.cpu && known.target == entry.target &&
        known.key == entry.key) {
      known = entry;
      return;
    }
  }
  entries.push_back(entry);
}

std::string TuningKey(const AttentionForwardProblem& p, int threads) {
  const auto round = [](int64_t n) {
    return std::to_string(std::bit_ceil(static_cast<uint64_t>(n)));
  };
  std::string masks;
  for (const MaskExpr& mask : p.masks) {
    const std::string word = MaskWord(mask);
    // Heads with the same mask are no other problem.
    if (masks == word) continue;
    masks += (masks.empty() ? "" : ";") + word;
  }
  return std::string("attention_forward") + " lane=" + LaneName(p.lane) +
         " p=" + LaneName(p.p_lane) + " order=" + OrderName(p.order) +
         (p.kv_lane ? std::string(" kvlane=") + LaneName(*p.kv_lane) : "") +
         (p.q_lane ? std::string(" qlane=") + LaneName(*p.q_lane) : "") +
         " d=" + std::to_string(p.head_dim) +
         " dv=" + std::to_string(p.value_dim) +
         " group=" + std::to_string(p.group()) + " sq<=" + round(p.q_len) +
         " skv<=" + round(p.kv_len) + " cap=" + (p.softcap ? "yes" : "no") +
         " segments=" + (p.segments ? "yes" : "no") +
         (p.parts() > 1 ? " split=" + std::to_string(p.split) : "") +
         " mask=" + masks + " threads=" + std::to_string(threads);
}

const std::string& CpuModel() {
  static const std::string kModel = ReadCpuModel();
  return kModel;
}

Result<Tuning> ParseTuning(std::string_view text, const std::string& name) {
  Tuning tuning;
  int number = 0;
  bool begun = false;
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = name + ":" + std::to_string(number);
    if (!begun && line != kHeader) {
      return Bad(where, "no tuning file of this version; want the line '" +
                            std::string(kHeader) + "' first");
    }
    if (!begun || line.empty() || line.front() == '#') {
      begun = true;
      continue;
    }
    const Result<TuningEntry> entry = ParseEntry(line, where);
    if (!entry.ok()) return entry.status();
    if (tuning.Find(entry->cpu, entry->target, entry->key) != nullptr) {
      return Bad(where, "a second entry for the same cpu, target and key");
    }
    tuning.entries.push_back(entry.value());
  }
  if (!begun) return Bad(name, "is empty; want 'lockstep-tuning 1' first");
  return tuning;
}

std::string TuningText(const Tuning& tuning) {
  std::string text = std::string(kHeader) + "\n# cpu, target, key, tile\n";
  for (const TuningEntry& entry : tuning.entries) {
    text += entry.cpu + "\t" + entry.target + "\t" + entry.key +
            "\ttile=" + std::to_string(entry.tile_rows) + "x" +
            std::to_string(entry.tile_keys) + "\n";
  }
  return text;
}

const Result<Tuning>& TheTuning() {
  static const Result<Tuning> kTuning =
      ReadTuning(std::getenv("LOCKSTEP_TUNING"));
  return kTuning;
}

}  // namespace lockstep::optimized

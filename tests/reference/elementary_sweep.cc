// elementary_sweep: the elementary functions (N14) on all 2^32 arguments.
//
//   elementary_sweep [--side=NAME]             compare digests, check
//   properties elementary_sweep --oracle [--side=NAME]    errors against
//   binary64, bounds elementary_sweep --write --side=NAME       new digests,
//   from one side
//
// NAME: scalar, scalar_fma, planted, a Highway target, or `twins` (the
// default): every target compiled and supported here. --functions=A,B selects
// functions, --blocks=00,3f blocks of 2^24 arguments by their upper eight bits
// (digests only). LOCKSTEP_PART=K/N in the environment selects every Nth of all
// blocks, from the Kth (from 0) on. Exit code 0: all right; 1: a difference; 2:
// usage or file; 77: no such side on this machine.
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/numerics.h"
#include "tests/support/elementary_oracle.h"
#include "tests/support/elementary_sides.h"

namespace lockstep::elementary {
namespace {

constexpr int kBlocks = 256;  // of 2^24 arguments
constexpr uint32_t kBlockSize = 1u << 24;
using Digests = std::array<uint64_t, kBlocks>;

struct Options {
  bool oracle = false;
  bool write = false;
  std::string side = "twins";
  std::string functions;  // empty: all
  std::string blocks;     // empty: all
  std::string file = "data/golden/elementary.digests";
};

bool IsNaNBits(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

// Odd symmetry, result by result: f(-x) is f(x) with the other sign.
bool IsOdd(Kernel kernel, uint32_t first, const uint32_t* positive) {
  uint32_t negative[kChunk];
  kernel(first ^ 0x80000000u, negative);
  uint32_t wrong = 0;
  for (size_t i = 0; i < kChunk; ++i) {
    const bool nan = IsNaNBits(first + static_cast<uint32_t>(i));
    wrong |= nan ? 0u : (negative[i] ^ positive[i] ^ 0x80000000u);
  }
  return wrong == 0;
}

struct BlockResult {
  uint64_t digest = 0;
  uint64_t violations = 0;  // arguments without a swept property
};

BlockResult RunBlock(Function function, Kernel kernel, uint32_t block) {
  BlockResult result;
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  alignas(64) uint32_t bits[kChunk];
  const bool core = IsCore(function);
  const bool odd =
      function == Function::kTanh || function == Function::kTanhCore;
  for (uint32_t at = 0; at < kBlockSize; at += kChunk) {
    const uint32_t first = block * kBlockSize + at;
    kernel(first, bits);
    result.violations += CountViolations(function, first, bits);
    for (size_t i = 0; core && i < kChunk; ++i) {
      bits[i] = IsNaNBits(bits[i]) ? kCanonicalNaNBits : bits[i];
    }
    if (odd && block < kBlocks / 2 && !IsOdd(kernel, first, bits)) {
      ++result.violations;
    }
    XXH3_64bits_update(state, bits, sizeof(bits));
  }
  result.digest = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return result;
}

struct Worst {
  double ulp = 0.0;
  uint32_t argument = 0;
};

// Largest error of a block; of equal ones the smallest bit pattern.
Worst JudgeBlock(Function function, Kernel kernel, uint32_t block) {
  Worst worst;
  alignas(64) uint32_t bits[kChunk];
  for (uint32_t at = 0; at < kBlockSize; at += kChunk) {
    const uint32_t first = block * kBlockSize + at;
    kernel(first, bits);
    for (uint32_t i = 0; i < kChunk; ++i) {
      const float x = std::bit_cast<float>(first + i);
      if (!InDomain(function, x)) continue;
      const double ulp = UlpError(function, x, std::bit_cast<float>(bits[i]));
      if (!(ulp <= worst.ulp)) worst = {ulp, first + i};
    }
  }
  return worst;
}

// The stated bound is the measured one, rounded up to three decimals.
bool JudgeFunction(const Side& side, Function function) {
  const Kernel kernel = side.kernels[static_cast<int>(function)];
  std::array<Worst, kBlocks> blocks;
#pragma omp parallel for schedule(dynamic)
  for (int b = 0; b < kBlocks; ++b) {
    blocks[b] = JudgeBlock(function, kernel, static_cast<uint32_t>(b));
  }
  Worst worst;
  for (const Worst& w : blocks) {
    if (!(w.ulp <= worst.ulp)) worst = w;
  }
  const ElementaryBound bound = BoundOf(function);
  const double stated = std::ceil(worst.ulp * 1000.0) / 1000.0;
  const bool right = std::fabs(bound.max_ulp - stated) < 1e-9 &&
                     (bound.max_ulp == 0.0 || bound.witness == worst.argument);
  std::printf("%-8s %-16s %.7f ulp at 0x%08x (%a)  %s\n", side.name.c_str(),
              kFunctionNames[static_cast<int>(function)], worst.ulp,
              worst.argument,
              static_cast<double>(std::bit_cast<float>(worst.argument)),
              right ? "as stated" : "NOT AS STATED");
  return right;
}

bool Compare(const Side& side, Function function, const Digests& expected,
             const std::vector<uint32_t>& blocks) {
  const auto start = std::chrono::steady_clock::now();
  const Kernel kernel = side.kernels[static_cast<int>(function)];
  int different = 0;
  uint32_t first_different = kBlocks;
  uint64_t violations = 0;
#pragma omp parallel for schedule(dynamic) \
    reduction(+ : different, violations) reduction(min : first_different)
  for (const uint32_t b : blocks) {
    const BlockResult r = RunBlock(function, kernel, b);
    violations += r.violations;
    if (r.digest == expected[b]) continue;
    ++different;
    first_different = std::min(first_different, b);
  }
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::printf("%-8s %-16s %3d of %3zu blocks differ, %llu violations, %.1f s\n",
              side.name.c_str(), kFunctionNames[static_cast<int>(function)],
              different, blocks.size(),
              static_cast<unsigned long long>(violations), seconds.count());
  if (different > 0) {
    std::printf("  first: arguments 0x%02x000000 to 0x%02xffffff\n",
                first_different, first_different);
  }
  return different == 0 && violations == 0;
}

std::map<std::string, Digests> ReadDigests(const std::string& path) {
  std::map<std::string, Digests> table;
  std::ifstream file(path);
  std::string line;
  std::string name;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    size_t block = 0;
    words >> name >> std::dec >> block >> std::hex;
    for (uint64_t digest; block < kBlocks && words >> digest; ++block) {
      table[name][block] = digest;
    }
  }
  return table;
}

bool WriteDigests(const Options& options, const Side& side) {
  std::ofstream file(options.file);
  file << "# XXH3-64 of the f32 result bits (little endian), for each block of"
          " 2^24\n# consecutive argument bit patterns: function, first block"
          " of the line, digests.\n# Written by elementary_sweep --write; "
          "every side must give the same.\n";
  for (int f = 0; f < kFunctions; ++f) {
    Digests digests{};
#pragma omp parallel for schedule(dynamic)
    for (int b = 0; b < kBlocks; ++b) {
      digests[b] = RunBlock(static_cast<Function>(f), side.kernels[f],
                            static_cast<uint32_t>(b))
                       .digest;
    }
    for (int b = 0; b < kBlocks; ++b) {
      char text[24];
      std::snprintf(text, sizeof(text), " %016llx",
                    static_cast<unsigned long long>(digests[b]));
      if (b % 4 == 0) file << kFunctionNames[f] << ' ' << b;
      file << text << (b % 4 == 3 ? "\n" : "");
    }
    std::printf("%s written\n", kFunctionNames[f]);
    std::fflush(stdout);
  }
  return file.good();
}

std::vector<Side> Select(const std::string& name) {
  if (name == "scalar") return {ScalarSide()};
  if (name == "scalar_fma") return FusedScalarSide();
  if (name == "planted") return {PlantedSide()};
  std::vector<Side> sides;
  for (const Side& side : TwinSides()) {
    if (name == "twins" || name == side.name) sides.push_back(side);
  }
  return sides;
}

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&](std::string_view prefix, std::string* to) {
      if (!word.starts_with(prefix)) return false;
      *to = word.substr(prefix.size());
      return true;
    };
    if (word == "--oracle") {
      options->oracle = true;
    } else if (word == "--write") {
      options->write = true;
    } else if (!value("--side=", &options->side) &&
               !value("--functions=", &options->functions) &&
               !value("--blocks=", &options->blocks) &&
               !value("--digests=", &options->file)) {
      return false;
    }
  }
  return true;
}

// "" is all, or those of LOCKSTEP_PART; "00,3f" those two. Numbers above ff are
// ignored.
std::vector<uint32_t> BlockList(const std::string& text) {
  std::vector<uint32_t> blocks;
  uint32_t part = 0, parts = 1;
  const char* drawn = std::getenv("LOCKSTEP_PART");
  if (drawn != nullptr &&
      (std::sscanf(drawn, "%u/%u", &part, &parts) != 2 || part >= parts)) {
    std::fprintf(stderr, "LOCKSTEP_PART: want K/N, such as 0/4\n");
    std::exit(2);
  }
  for (uint32_t b = part; text.empty() && b < kBlocks; b += parts) {
    blocks.push_back(b);
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const unsigned long block = std::strtoul(word.c_str(), nullptr, 16);
    if (block < kBlocks) blocks.push_back(static_cast<uint32_t>(block));
  }
  return blocks;
}

int Run(const Options& options) {
  const std::vector<uint32_t> blocks = BlockList(options.blocks);
  const std::vector<Side> sides = Select(options.side);
  if (sides.empty()) return 77;
  if (options.write) {
    if (sides.size() != 1) return 2;
    return WriteDigests(options, sides[0]) ? 0 : 2;
  }
  const std::map<std::string, Digests> table = ReadDigests(options.file);
  int runs = 0;
  int wrong = 0;
  for (const Side& side : sides) {
    for (int f = 0; f < kFunctions; ++f) {
      const std::string name = kFunctionNames[f];
      const std::string list = "," + options.functions + ",";
      if (list != ",," && list.find("," + name + ",") == list.npos) continue;
      const Function function = static_cast<Function>(f);
      bool right = false;
      if (options.oracle) {
        right = JudgeFunction(side, function);
      } else if (const auto row = table.find(name); row != table.end()) {
        right = Compare(side, function, row->second, blocks);
      } else {
        std::printf("%s: no digests in %s\n", name.c_str(),
                    options.file.c_str());
      }
      std::fflush(stdout);
      ++runs;
      wrong += !right;
    }
  }
  std::printf("%d sweeps, %d wrong\n", runs, wrong);
  if (runs == 0) return 2;
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::elementary

int main(int argc, char** argv) {
  lockstep::elementary::Options options;
  if (!lockstep::elementary::Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: elementary_sweep [--oracle | --write] "
                 "[--side=NAME] [--functions=A,B] "
                 "[--blocks=00,3f] "
                 "[--digests=FILE]\n");
    return 2;
  }
  return lockstep::elementary::Run(options);
}

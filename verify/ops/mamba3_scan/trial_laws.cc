// The table of laws, and what a trial does for them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/ops/mamba3_scan/laws.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {
namespace {

// In the order in which they are tried.
struct LawRow {
  const char* name;
  bool (ScanLaws::*holds)() const;
  Result<Law> (ScanLaws::*make)() const;
};
constexpr LawRow kLaws[] = {
    {"causality", &ScanLaws::Causal, &ScanLaws::Causality},
    {"separate", &ScanLaws::Several, &ScanLaws::Separate},
    {"split", &ScanLaws::Splits, &ScanLaws::Split},
    {"isolation", &ScanLaws::Isolates, &ScanLaws::Isolation},
    {"order", &ScanLaws::Several, &ScanLaws::Order},
    {"scale", &ScanLaws::Scales, &ScanLaws::Scale},
    {"encoding", &ScanLaws::Encodes, &ScanLaws::Encoding},
    {"heads", &ScanLaws::HasHeads, &ScanLaws::Heads},
};

}  // namespace

std::unique_ptr<Trial> Mamba3ScanTrial::MakeAnother(const Case& request,
                                                    Mamba3ScanData data) const {
  return std::make_unique<Mamba3ScanTrial>(request, std::move(data));
}

void Mamba3ScanTrial::TakeCarry(const OutputSet& done) {
  // Outputs and carry have one order; there is no theta without angles.
  size_t t = 1;
  for (auto n = static_cast<size_t>(ScanTensor::kCarryTheta); n < kScanTensors;
       ++n) {
    if (!data_.storage[n].there()) continue;
    const LaneTensor& to = data_.storage[n].tensor;
    std::memcpy(to.buffer.data(), done.tensors[t++].buffer.data(),
                static_cast<size_t>(to.buffer.bytes()));
  }
}

std::vector<std::string> Mamba3ScanTrial::Laws() const {
  std::vector<std::string> names;
  if (rows() > kLawWork / RowCost()) return names;
  const ScanLaws laws(*this, 0);
  for (const LawRow& row : kLaws) {
    if ((laws.*row.holds)()) names.push_back(row.name);
  }
  return names;
}

Result<Law> Mamba3ScanTrial::MakeLaw(const std::string& name,
                                     uint64_t salt) const {
  const ScanLaws laws(*this, salt);
  for (const LawRow& row : kLaws) {
    if (name != row.name || !(laws.*row.holds)()) continue;
    Result<Law> law = (laws.*row.make)();
    if (law.ok()) law->name = name;
    return law;
  }
  return Trial::MakeLaw(name, salt);
}

}  // namespace lockstep::verify

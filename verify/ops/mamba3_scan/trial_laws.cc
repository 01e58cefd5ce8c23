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

constexpr LawRow<ForwardLaws> kLaws[] = {
    {"causality", &ForwardLaws::Causal, &ForwardLaws::Causality},
    {"separate", &ForwardLaws::Several, &ForwardLaws::Separate},
    {"split", &ForwardLaws::Splits, &ForwardLaws::Split},
    {"isolation", &ForwardLaws::Isolates, &ForwardLaws::Isolation},
    {"order", &ForwardLaws::Several, &ForwardLaws::Order},
    {"scale", &ForwardLaws::Scales, &ForwardLaws::Scale},
    {"encoding", &ForwardLaws::Encodes, &ForwardLaws::Encoding},
    {"heads", &ForwardLaws::HasHeads, &ForwardLaws::Heads},
    {"relabel", &ForwardLaws::HasIds, &ForwardLaws::Relabel},
    {"gate", &ForwardLaws::HasGate, &ForwardLaws::Gate},
};

}  // namespace

std::unique_ptr<Trial> Mamba3ScanTrial::MakeAnother(const Case& request,
                                                    Mamba3ScanData data) const {
  return std::make_unique<Mamba3ScanTrial>(request, std::move(data));
}

void Mamba3ScanTrial::TakeCarry(const OutputSet& done) {
  // Outputs and carry have one order; there is no theta without angles.
  size_t t = 1;
  for (auto n = static_cast<size_t>(ScanTensor::kCarryTheta);
       n <= static_cast<size_t>(ScanTensor::kCarryV); ++n) {
    if (!data().storage[n].there()) continue;
    const LaneTensor& to = data().storage[n].tensor;
    std::memcpy(to.buffer.data(), done.tensors[t++].buffer.data(),
                static_cast<size_t>(to.buffer.bytes()));
  }
}

std::vector<std::string> Mamba3ScanTrial::LawNames() const {
  if (rows() > kLawWork / RowCost()) return {};
  return NamesOfLaws(kLaws, ForwardLaws(*this, 0));
}

Result<Law> Mamba3ScanTrial::MakeLaw(const std::string& name,
                                     uint64_t salt) const {
  return MakeLawOf(kLaws, ForwardLaws(*this, salt), name);
}

}  // namespace lockstep::verify

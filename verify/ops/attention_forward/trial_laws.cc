// The table of attention's laws.
#include <cstdint>
#include <string>
#include <vector>

#include "verify/ops/attention_forward/laws.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

struct LawRow {
  const char* name;
  bool (AttentionLaws::*holds)() const;
  Result<Law> (AttentionLaws::*make)() const;
};
constexpr LawRow kLaws[] = {
    {"neighbours", &AttentionLaws::HasNeighbours, &AttentionLaws::Neighbours},
    {"prefix", &AttentionLaws::HasEdges, &AttentionLaws::Prefix},
    {"window", &AttentionLaws::HasEdges, &AttentionLaws::Window},
    {"padding", &AttentionLaws::HasPadding, &AttentionLaws::Padding},
    {"relabel", &AttentionLaws::HasSegments, &AttentionLaws::Relabel},
    {"scale", &AttentionLaws::OwnsValues, &AttentionLaws::Scale},
    {"rows", &AttentionLaws::HasRows, &AttentionLaws::Rows},
    {"heads", &AttentionLaws::HasHeads, &AttentionLaws::Heads},
    {"encoding", &AttentionLaws::HasEncoding, &AttentionLaws::Encoding},
    {"pages", &AttentionLaws::HasPages, &AttentionLaws::Pages},
};

}  // namespace

std::vector<std::string> AttentionForwardTrial::LawNames() const {
  std::vector<std::string> names;
  if (rows() > kLawWork / RowCost()) return names;
  const AttentionLaws laws(case_, data_, 0);
  for (const LawRow& row : kLaws) {
    if ((laws.*row.holds)()) names.emplace_back(row.name);
  }
  return names;
}

Result<Law> AttentionForwardTrial::MakeLaw(const std::string& name,
                                           uint64_t salt) const {
  const AttentionLaws laws(case_, data_, salt);
  for (const LawRow& row : kLaws) {
    if (name == row.name) return (laws.*row.make)();
  }
  return TrialLaws::MakeLaw(name, salt);
}

}  // namespace lockstep::verify

// The laws of a merge: a part that saw no key changes nothing, parts may come
// in any order, of one part there is nothing to merge, rows and heads are
// apart, and o is linear in the parts' o.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_merge/case.h"
#include "verify/ops/attention_merge/trial.h"
#include "verify/ops/laws.h"
#include "verify/ops/scale.h"

namespace lockstep::verify {
namespace {

// No kernel reads the o of a part that saw no key.
constexpr double kFiller = -77;

class MergeLaws {
 public:
  MergeLaws(const AttentionMergeTrial& trial, uint64_t salt)
      : trial_(trial), p_(trial.data().problem), salt_(salt) {}

  Result<Law> EmptyPart() const {
    std::vector<int64_t> parts = InOrder();
    parts.insert(parts.begin() + Draw(1, p_.parts + 1), -1);
    ASSIGN_OR_RETURN(LawCall call, CallOn(parts));
    KeepAll(&call);
    return OtherCount("empty_part", std::move(call));
  }

  // Bits depend on the order where the reference's do.
  Result<Law> Order() const {
    std::vector<int64_t> parts = InOrder();
    std::rotate(parts.begin(), parts.begin() + 1 + Draw(2, p_.parts - 1),
                parts.end());
    if ((salt_ & 1) != 0) std::reverse(parts.begin(), parts.end());
    ASSIGN_OR_RETURN(LawCall call, CallOn(parts));
    ASSIGN_OR_RETURN(call.kept, ScaledLines(trial_, *call.trial, 0));
    return OneCall("order", std::move(call));
  }

  // A part alone: rows that no other part saw have it as their answer.
  Result<Law> OnePart() const {
    const int64_t part = Draw(3, p_.parts);
    ASSIGN_OR_RETURN(LawCall call, CallOn({part}));
    call.kept.resize(2);
    for (int64_t row = 0; row < trial_.rows(); ++row) {
      bool alone = true;
      for (int64_t s = 0; s < p_.parts; ++s) {
        const float lse =
            trial_.data().inputs.lse(s, row / p_.rows, row % p_.rows);
        alone = alone && (s == part || lse == -HUGE_VALF);
      }
      for (auto& lines : call.kept) {
        if (alone) lines.push_back({row, row});
      }
    }
    return OtherCount("one_part", std::move(call));
  }

  // Rows in reverse order, within each head.
  Result<Law> Rows() const {
    AttentionMergeCase to = trial_.request().Get<AttentionMergeCase>();
    ASSIGN_OR_RETURN(AttentionMergeData data,
                     PickParts(trial_.data(), InOrder(), kFiller, &to));
    const auto turn = [&](const LaneTensor& from, const LaneTensor& target) {
      ForElements(target.view.shape, [&](const At& at) {
        const At source{at[0], at[1], p_.rows - 1 - at[2], at[3]};
        SetElement(target.view, at, ElementBits(from.const_view(), source));
      });
    };
    turn(trial_.data().o, data.o);
    turn(trial_.data().lse, data.lse);
    LawCall call = CallOf(to, std::move(data));
    call.kept.resize(2);
    for (auto& lines : call.kept) {
      for (int64_t row = 0; row < trial_.rows(); ++row) {
        const int64_t n = p_.rows - 1 - row % p_.rows;
        lines.push_back({row, row / p_.rows * p_.rows + n});
      }
    }
    return OneCall("rows", std::move(call));
  }

  // The parts' o times a power of two.
  Result<Law> Scale() const {
    const int exponent = -1 - static_cast<int>(Draw(4, kMostHalvings));
    AttentionMergeCase to = trial_.request().Get<AttentionMergeCase>();
    ASSIGN_OR_RETURN(AttentionMergeData data,
                     PickParts(trial_.data(), InOrder(), kFiller, &to));
    Law law;
    law.name = "scale";
    if (!ScaleTensor(data.o, exponent)) return law;
    LawCall call = CallOf(to, std::move(data));
    ASSIGN_OR_RETURN(call.kept, ScaledLines(trial_, *call.trial, exponent));
    call.kept[1].clear();
    for (int64_t row = 0; row < trial_.rows(); ++row) {
      call.kept[1].push_back({row, row});
    }
    law = OneCall("scale", std::move(call));
    law.exponents = {exponent, 0};
    return law;
  }

 private:
  int64_t Draw(uint64_t which, int64_t n) const {
    return static_cast<int64_t>(Mix(salt_ + which) % static_cast<uint64_t>(n));
  }

  std::vector<int64_t> InOrder() const {
    std::vector<int64_t> parts(static_cast<size_t>(p_.parts));
    std::iota(parts.begin(), parts.end(), 0);
    return parts;
  }

  LawCall CallOf(const AttentionMergeCase& to, AttentionMergeData data) const {
    Case request = trial_.request();
    request.Get<AttentionMergeCase>() = to;
    LawCall call;
    call.trial =
        std::make_unique<AttentionMergeTrial>(request, std::move(data));
    return call;
  }

  Result<LawCall> CallOn(const std::vector<int64_t>& parts) const {
    AttentionMergeCase to = trial_.request().Get<AttentionMergeCase>();
    to.letters.clear();
    ASSIGN_OR_RETURN(AttentionMergeData data,
                     PickParts(trial_.data(), parts, kFiller, &to));
    return CallOf(to, std::move(data));
  }

  void KeepAll(LawCall* call) const {
    call->kept.resize(2);
    for (auto& lines : call->kept) {
      for (int64_t row = 0; row < trial_.rows(); ++row) {
        lines.push_back({row, row});
      }
    }
  }

  static Law OneCall(const char* name, LawCall call) {
    Law law;
    law.name = name;
    law.calls.push_back(std::move(call));
    return law;
  }

  // A kernel need not take another number of parts.
  static Law OtherCount(const char* name, LawCall call) {
    Law law = OneCall(name, std::move(call));
    law.may_be_refused = true;
    return law;
  }

  const AttentionMergeTrial& trial_;
  const AttentionMergeProblem& p_;
  uint64_t salt_;
};

}  // namespace

std::vector<std::string> AttentionMergeTrial::LawNames() const {
  if (rows() > kLawWork / RowCost()) return {};
  std::vector<std::string> names;
  if (data_.problem.parts < kMaxParts) names.push_back("empty_part");
  if (data_.problem.parts > 1) {
    names.insert(names.end(), {"order", "one_part"});
  }
  if (data_.problem.rows > 1) names.push_back("rows");
  names.push_back("scale");
  return names;
}

Result<Law> AttentionMergeTrial::MakeLaw(const std::string& name,
                                         uint64_t salt) const {
  const MergeLaws laws(*this, salt);
  if (name == "empty_part") return laws.EmptyPart();
  if (name == "order") return laws.Order();
  if (name == "one_part") return laws.OnePart();
  if (name == "rows") return laws.Rows();
  if (name == "scale") return laws.Scale();
  return Status::Error("there is no law '" + name + "'");
}

}  // namespace lockstep::verify

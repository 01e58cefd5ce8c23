#include "verify/profile/fields.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "verify/base/format.h"
#include "verify/profile/field_values.h"

namespace lockstep::verify {
namespace {

std::string Hex(double x) { return Format("%a", x); }

const Words kScaleAt = {"logits", "q_f32", "q_lane", "exponent", "roots"};
const Words kScoreRound = {"once", "each", "shift"};
const Words kSinkTypes = {"f32", "bf16", "f16"};
const Words kChainOrder = {"any", "ascending"};
const Words kValueScaleAt = {"any", "p", "acc", "out"};
const Words kMergeUpdate = {"weights", "difference"};
const Words kCapDiv = {"divide", "reciprocal", "folded"};
const Words kExpBase = {"e", "2"};
const Words kShift = {"subtract", "fma", "integer"};
const Words kMax = {"running", "two_pass", "lazy", "fixed", "none"};
const Words kRounding = {"nearest", "faithful", "truncate"};
const Words kLFrom = {"unrounded", "rounded"};
const Words kNormalise = {"deferred", "eager", "before"};
const Words kExpZero = {"exact", "weights", "rel"};
const Words kLse = {"f32", "bf16", "none"};
const Words kOut = {"lane", "f32"};
const Words kDivision = {"divide", "reciprocal"};
const Words kMask = {"select_neg_inf", "select_finite", "add_finite"};
const Words kEmptyRow = {"zero", "zero_posinf", "mean_visited", "unspecified",
                         "zero_zero"};
const Words kNan = {"propagate", "unspecified"};
const Words kMaskedNan = {"no", "padding", "yes"};
const Words kBool = {"no", "yes"};
const Words kLane = {"f32", "bf16", "f16", "any"};

template <const Words& kWords, auto kMember>
ProfileField Word(const char* key) {
  return {key,
          [](const NumericProfile& p) {
            return std::string(kWords[static_cast<size_t>(p.*kMember)]);
          },
          [](std::string_view text, NumericProfile* p) -> std::string {
            using T = std::remove_reference_t<decltype(p->*kMember)>;
            for (size_t i = 0; i < kWords.size(); ++i) {
              if (text == kWords[i]) {
                p->*kMember = static_cast<T>(i);
                return "";
              }
            }
            return "one of " + Join(kWords);
          }};
}

// A word whose first value is no line of a profile's text: files that were
// written before the field was made have none.
template <const Words& kWords, auto kMember>
ProfileField LaterWord(const char* key) {
  ProfileField field = Word<kWords, kMember>(key);
  field.print = [](const NumericProfile& p) {
    const auto at = static_cast<size_t>(p.*kMember);
    return std::string(at == 0 ? "" : kWords[at]);
  };
  return field;
}

template <auto kMember>
ProfileField Count(const char* key) {
  return {key, [](const NumericProfile& p) { return PrintCount(p.*kMember); },
          [](std::string_view text, NumericProfile* p) {
            return ParseCount(text, &(p->*kMember));
          }};
}

template <auto kMember>
ProfileField Error(const char* key) {
  return {key, [](const NumericProfile& p) { return Hex(p.*kMember); },
          [](std::string_view text, NumericProfile* p) -> std::string {
            double value = 0;
            if (!ParseNumber(text, &value) || !(value >= 0 && value < 1)) {
              return "an error in [0, 1), such as 0x1p-21 or 4.8e-7";
            }
            p->*kMember = value;
            return "";
          }};
}

template <auto kMember>
ProfileField Sum(const char* key) {
  return {key, [](const NumericProfile& p) { return PrintSum(p.*kMember); },
          [](std::string_view text, NumericProfile* p) {
            return ParseSum(text, &(p->*kMember));
          }};
}

ProfileField LaneField() {
  return {"lane",
          [](const NumericProfile& p) {
            return std::string(p.lane ? LaneName(*p.lane) : "any");
          },
          [](std::string_view text, NumericProfile* p) -> std::string {
            const auto at = std::find(kLane.begin(), kLane.end(), text);
            if (at == kLane.end()) return "one of " + Join(kLane);
            p->lane = std::nullopt;
            if (text != "any") p->lane = static_cast<Lane>(at - kLane.begin());
            return "";
          }};
}

ProfileField WeightScaleField() {
  return {"p_scale",
          [](const NumericProfile& p) -> std::string {
            return p.p_scale == 1 ? "" : Hex(p.p_scale);
          },
          [](std::string_view text, NumericProfile* p) -> std::string {
            double value = 0;
            if (!ParseNumber(text, &value) ||
                !(value > 0x1p-60 && value <= kLargestWeightScale)) {
              return "a number above 2^-60 and at most 448, e4m3's largest, "
                     "such as 256";
            }
            p->p_scale = value;
            return "";
          }};
}

ProfileField MaxField() {
  return {
      "max",
      [](const NumericProfile& p) {
        std::string text = kMax[static_cast<size_t>(p.max.kind)];
        if (p.max.kind == MaxPolicy::Kind::kLazy ||
            p.max.kind == MaxPolicy::Kind::kFixed) {
          text += ":" + Hex(p.max.value);
        }
        return text;
      },
      [](std::string_view text, NumericProfile* p) -> std::string {
        const std::string wanted = "running, two_pass, lazy:T, fixed:C or none";
        const size_t colon = std::min(text.find(':'), text.size());
        for (size_t i = 0; i < kMax.size(); ++i) {
          if (text.substr(0, colon) != kMax[i]) continue;
          MaxPolicy policy{static_cast<MaxPolicy::Kind>(i), 0};
          const bool number = policy.kind == MaxPolicy::Kind::kLazy ||
                              policy.kind == MaxPolicy::Kind::kFixed;
          if (number != (colon < text.size())) return wanted;
          if (number && (!ParseNumber(text.substr(colon + 1), &policy.value) ||
                         !(policy.value > -1e6 && policy.value < 1e6))) {
            return wanted;
          }
          p->max = policy;
          return "";
        }
        return wanted;
      }};
}

// Fields of scans: there only where the profile is a scan's.
const Words kForms = {"recurrent", "chunked"};
const Words kDecays = {"product", "prefix", "segment"};
const Words kAngles = {"turns", "radians", "unreduced"};
const Words kPairings = {"variant", "neighbours", "halves"};
const Words kEmptyRuns = {"carry", "unspecified"};
const Words kOperandRounds = {"nearest", "truncate"};

template <const Words& kWords, auto kMember>
ProfileField ScanWord(const char* key) {
  return {key,
          [](const NumericProfile& p) {
            return std::string(
                p.scan ? kWords[static_cast<size_t>((*p.scan).*kMember)] : "");
          },
          [](std::string_view text, NumericProfile* p) -> std::string {
            if (!p->scan) return kNoScan;
            using T = std::remove_reference_t<decltype((*p->scan).*kMember)>;
            for (size_t i = 0; i < kWords.size(); ++i) {
              if (text != kWords[i] || text == "case") continue;
              (*p->scan).*kMember = static_cast<T>(i);
              return "";
            }
            return "one of " + Join(kWords);
          }};
}

template <auto kMember>
ProfileField ScanNumber(const char* key) {
  return {key,
          [](const NumericProfile& p) {
            return p.scan ? Hex((*p.scan).*kMember) : std::string();
          },
          [](std::string_view text, NumericProfile* p) -> std::string {
            if (!p->scan) return kNoScan;
            double value = 0;
            if (!ParseNumber(text, &value) || !(value >= 0 && value < 1e6)) {
              return "a number >= 0, such as 0x1p-20";
            }
            (*p->scan).*kMember = value;
            return "";
          }};
}

ProfileField ChunkField() {
  return {"scan.chunk",
          [](const NumericProfile& p) {
            return p.scan ? PrintCount(p.scan->chunk) : std::string();
          },
          [](std::string_view text, NumericProfile* p) -> std::string {
            return p->scan ? ParseCount(text, &p->scan->chunk) : kNoScan;
          }};
}

template <auto kMember>
ProfileField Text(const char* key) {
  return {key, [](const NumericProfile& p) { return p.*kMember; },
          [](std::string_view text, NumericProfile* p) -> std::string {
            if (text.empty()) return "some text";
            p->*kMember = std::string(text);
            return "";
          }};
}

std::vector<ProfileField> AttentionFields() {
  using P = NumericProfile;
  return {
      Text<&P::name>("name"),
      Text<&P::description>("description"),
      Word<kBool, &P::exact>("exact"),
      LaneField(),
      Word<kTypes, &P::operand_qk>("operand_qk"),
      Word<kTypes, &P::operand_v>("operand_v"),
      Word<kRounding, &P::operand_round>("operand_round"),
      Sum<&P::acc_qk>("acc_qk"),
      Count<&P::chain_qk>("chain_qk"),
      Word<kScaleAt, &P::scale_at>("scale_at"),
      Word<kTypes, &P::score>("score"),
      LaterWord<kScoreRound, &P::score_round>("score_round"),
      LaterWord<kSinkTypes, &P::sink>("sink"),
      Word<kCapDiv, &P::cap_div>("cap_div"),
      Error<&P::tanh_rel>("tanh_rel"),
      Word<kExpBase, &P::exp_base>("exp_base"),
      Error<&P::exp_rel>("exp_rel"),
      Word<kExpZero, &P::exp_zero>("exp_zero"),
      Word<kShift, &P::shift>("shift"),
      MaxField(),
      Word<kWeightTypes, &P::p>("p"),
      Word<kRounding, &P::p_round>("p_round"),
      WeightScaleField(),
      LaterWord<kValueScaleAt, &P::vscale_at>("vscale_at"),
      Word<kLFrom, &P::l_from>("l_from"),
      Sum<&P::acc_pv>("acc_pv"),
      Sum<&P::acc_l>("acc_l"),
      Count<&P::chain_kv>("chain_kv"),
      LaterWord<kChainOrder, &P::chain_order>("chain_order"),
      Count<&P::tile_kv>("tile_kv"),
      Count<&P::splits>("splits"),
      Word<kTypes, &P::state>("state"),
      Word<kNormalise, &P::normalise>("normalise"),
      LaterWord<kMergeUpdate, &P::merge_update>("merge.update"),
      Word<kDivision, &P::division>("division"),
      Error<&P::division_rel>("division_rel"),
      Word<kRounding, &P::out_round>("out_round"),
      Error<&P::log_rel>("log_rel"),
      Word<kBool, &P::ftz>("ftz"),
      Word<kOut, &P::out>("out"),
      Word<kLse, &P::lse>("lse"),
      Word<kExpBase, &P::lse_base>("lse_base"),
      Word<kMask, &P::mask>("mask"),
      Word<kEmptyRow, &P::empty_row>("empty_row"),
      Word<kNan, &P::nan>("nan"),
      Word<kMaskedNan, &P::masked_nan_safe>("masked_nan_safe"),
      Word<kBool, &P::repeat>("repeat"),
      ClaimsField(),
  };
}

std::vector<ProfileField> ScanFields() {
  using S = ScanNumeric;
  return {
      ScanWord<kForms, &S::form>("scan.form"),
      ChunkField(),
      ScanWord<kDecays, &S::decay>("scan.decay"),
      ScanWord<kAngles, &S::angle_form>("scan.angle_form"),
      ScanWord<kPairings, &S::pairing>("scan.pairing"),
      ScanWord<kTypes, &S::angle>("scan.angle"),
      ScanWord<kTypes, &S::angle_carry>("scan.angle_carry"),
      ScanNumber<&S::trig_abs>("scan.trig_abs"),
      ScanNumber<&S::sigmoid_rel>("scan.sigmoid_rel"),
      ScanWord<kTypes, &S::lambda>("scan.lambda"),
      ScanWord<kTypes, &S::dt>("scan.dt"),
      ScanWord<kTypes, &S::weight>("scan.weight"),
      ScanWord<kTypes, &S::param>("scan.param"),
      ScanWord<kOperandRounds, &S::operand_round>("scan.operand_round"),
      ScanWord<kTypes, &S::query>("scan.query"),
      ScanWord<kTypes, &S::key>("scan.key"),
      ScanWord<kTypes, &S::scaled>("scan.scaled"),
      ScanWord<kTypes, &S::carry_key>("scan.carry_key"),
      ScanWord<kTypes, &S::score>("scan.score"),
      ScanWord<kTypes, &S::state>("scan.state"),
      ScanWord<kTypes, &S::decayed>("scan.decayed"),
      ScanWord<kTypes, &S::diagonal>("scan.diagonal"),
      ScanNumber<&S::diagonal_rel>("scan.diagonal_rel"),
      ScanWord<kTypes, &S::gate>("scan.gate"),
      ScanWord<kTypes, &S::rank_sum>("scan.rank_sum"),
      ScanWord<kTypes, &S::grad_do>("scan.grad_do"),
      ScanWord<kTypes, &S::grad_state>("scan.grad_state"),
      ScanWord<kTypes, &S::grad_partial>("scan.grad_partial"),
      ScanWord<kEmptyRuns, &S::empty_run>("scan.empty_run"),
      LacksField(),
      ScanNumber<&S::companion>("scan.companion"),
  };
}

}  // namespace

const std::vector<ProfileField>& ProfileFields() {
  static const std::vector<ProfileField> kFields = [] {
    std::vector<ProfileField> fields = AttentionFields();
    for (auto* more : {&GradFields, &ScanFields}) {
      const std::vector<ProfileField> others = more();
      fields.insert(fields.end(), others.begin(), others.end());
    }
    return fields;
  }();
  return kFields;
}

}  // namespace lockstep::verify

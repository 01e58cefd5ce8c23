// grad.: the fields of gradients, there only where the profile has them.
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "verify/profile/field_values.h"
#include "verify/profile/fields.h"

namespace lockstep::verify {
namespace {

// In the order of their enums; nothing is printed where nothing was said.
const Words kDqScaleAt = {"", "ds", "k", "end"};
const Words kDkScaleAt = {"", "ds", "q", "head", "sum"};
const Words kDsFrom = {"", "p", "rounded_p"};
const Words kDeltaFrom = {"", "o", "weights"};
const Words kFrom = {"", "given", "own"};

template <const Words& kWords, auto kMember>
ProfileField GradWord(const char* key) {
  return {key,
          [](const NumericProfile& p) {
            return std::string(
                p.grad ? kWords[static_cast<size_t>((*p.grad).*kMember)] : "");
          },
          [](std::string_view text, NumericProfile* p) -> std::string {
            using T = std::remove_reference_t<decltype((*p->grad).*kMember)>;
            for (size_t i = 0; i < kWords.size(); ++i) {
              if (text != kWords[i] || text.empty()) continue;
              (*p->grad).*kMember = static_cast<T>(i);
              return "";
            }
            return "one of " + Join(kWords);
          }};
}

template <auto kMember>
ProfileField GradSum(const char* key) {
  return {key,
          [](const NumericProfile& p) {
            return p.grad ? PrintSum((*p.grad).*kMember) : std::string();
          },
          [](std::string_view text, NumericProfile* p) {
            return ParseSum(text, &((*p->grad).*kMember));
          }};
}

ProfileField GradTileField() {
  return {"grad.tile_q",
          [](const NumericProfile& p) {
            return p.grad ? PrintCount(p.grad->tile_q) : std::string();
          },
          [](std::string_view text, NumericProfile* p) {
            return ParseCount(text, &p->grad->tile_q);
          }};
}

}  // namespace

std::vector<ProfileField> GradFields() {
  using G = GradNumeric;
  return {
      GradWord<kFrom, &G::from>("grad.from"),
      GradWord<kTypes, &G::p>("grad.p"),
      GradWord<kTypes, &G::ds>("grad.ds"),
      GradWord<kDsFrom, &G::ds_from>("grad.ds_from"),
      GradWord<kDeltaFrom, &G::delta_from>("grad.delta_from"),
      GradWord<kDqScaleAt, &G::dq_scale_at>("grad.dq_scale_at"),
      GradWord<kDkScaleAt, &G::dk_scale_at>("grad.dk_scale_at"),
      GradSum<&G::acc_dp>("grad.acc_dp"),
      GradSum<&G::acc_dq>("grad.acc_dq"),
      GradSum<&G::acc_dkv>("grad.acc_dkv"),
      GradWord<kTypes, &G::dq_state>("grad.dq_state"),
      GradWord<kTypes, &G::dkv_state>("grad.dkv_state"),
      GradTileField(),
  };
}

}  // namespace lockstep::verify

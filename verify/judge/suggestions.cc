// What is said beside a verdict: the field or the known bug that a fail comes
// from, and a picture of its error.
#include "verify/judge/causes.h"
#include "verify/judge/judgement.h"
#include "verify/judge/one_field.h"
#include "verify/judge/pictures/ask_again.h"
#include "verify/judge/pictures/error_picture.h"
#include "verify/judge/pictures/guilty_key.h"
#include "verify/judge/rows.h"

namespace lockstep::verify {

void Judgement::SuggestField() {
  // Without a profile that is claimed there is no field to be wrong.
  const bool wanted = options_.one_field && !options_.only_verdict &&
                      result_.claims && result_.verdict == Verdict::kFail &&
                      request_.call->expect == Expect::kPass;
  if (!wanted || trial_->rows() > kOneFieldWork / trial_->RowCost()) return;
  FindOneField(request_, candidate_, options_, &result_);
}

void Judgement::SuggestCauses() {
  const bool wanted = options_.causes && result_.verdict == Verdict::kFail &&
                      request_.call->expect == Expect::kPass;
  if (!wanted || trial_->scene() != nullptr) return;
  FindCauses({request_, candidate_, options_, *trial_, first_, errors_},
             &result_);
  NameKey(&result_);
  if (options_.pictures) return;
  result_.picture.reset();
  result_.no_picture.clear();
}

// Causes look at it, too, where the kernel is not asked again or no known bug
// is replayed. By then the outputs have served for other things.
void Judgement::DrawPicture() {
  const Finding* const finding = FindingOfNumbers(result_);
  const bool own = finding != nullptr && OnOwnInputs(result_, *finding);
  const bool blame =
      options_.causes && (own || TooLargeToExplain(*request_.call, *trial_));
  const bool wanted = !options_.only_verdict && (options_.pictures || blame) &&
                      result_.verdict == Verdict::kFail &&
                      request_.call->expect == Expect::kPass;
  if (!wanted) return;
  DrawError({.request = request_,
             .candidate = candidate_,
             .profile = profile_ ? &*profile_ : nullptr,
             .trial = *trial_,
             .truth = truth_,
             .allowed = allowed_.get(),
             .produced = first_,
             .materialise = materialise_},
            &result_);
}

void Judgement::MeasureErrors() {
  if (!options_.causes || result_.verdict != Verdict::kFail) return;
  errors_ =
      ErrorsOfRows(*trial_, truth_, Exact() ? nullptr : &*profile_, first_);
}

}  // namespace lockstep::verify

#include "verify/judge/judge.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "verify/judge/bounded.h"
#include "verify/judge/evidence/canary.h"
#include "verify/judge/evidence/evidence.h"
#include "verify/judge/evidence/stage.h"
#include "verify/judge/invariance.h"
#include "verify/judge/judgement.h"
#include "verify/judge/laws.h"
#include "verify/judge/rows.h"
#include "verify/judge/rules/baselines.h"
#include "verify/judge/shards/shards.h"
#include "verify/judge/statistics/confirm.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
namespace {

// Beside the copies that a case has anyhow, in f32 where these may be in bf16,
// values and results twice as wide: at most so many times what they take, and
// no more than so many bytes.
constexpr int64_t kWitnessCopies = 5;
constexpr int64_t kWitnessBytes = int64_t{1} << 28;

// Whether the limit of memory leaves room for a first witness.
bool HasRoomForWitness(const Case& c, int64_t max_bytes) {
  const int64_t own = EstimateBytes(c);
  const int64_t copies = max_bytes / own;
  if (copies >= kJudgeCopies + kWitnessCopies) return true;
  return max_bytes - kJudgeCopies * own >= kWitnessBytes;
}

}  // namespace

bool Judgement::Proven() const {
  return std::any_of(result_.findings.begin(), result_.findings.end(),
                     [](const Finding& finding) {
                       return !IsSuspicion(finding.tier) &&
                              finding.tier != Tier::kPower;
                     });
}

std::string Judgement::Vacuous() const {
  if (result_.judged.empty()) return "";
  const EnvelopeResult& found = result_.judged.front().result;
  return found.unbounded == found.expected ? found.tensor : "";
}

void Judgement::Describe() {
  result_.line = request_.line;
  result_.canonical = CanonicalLine(*request_.call);
  result_.replay_case = request_.line;
  result_.candidate = candidate_.Spec();
  const std::string alone = candidate_.SpecOf(request_);
  if (alone != result_.candidate) result_.replay_candidate = alone;
  result_.replay_options = options_.replay_options;
  result_.profile = options_.profile_spec;
  if (!Exact()) result_.claims = profile_;
  result_.expect = request_.call->expect;
  result_.requested_backend = candidate_.traits().backend;
  result_.requested_suffix = candidate_.traits().fixed.Suffix();
  result_.untried = candidate_.traits().cannot_try;
}

bool Judgement::Declared() {
  if (!profile_) return true;
  const std::string why = trial_->envelopes().WhyUndeclared(*profile_);
  if (why.empty()) return true;
  result_.skip = Skip::kUndeclared;
  return End(Verdict::kSkipped,
             "profile " + profile_->name + " does not cover " + why);
}

void Judgement::FindTruth() {
  truth_ = ComputeTruth(*trial_, options_.all_rows, options_.threads);
  result_.reference_seconds = truth_.seconds;
  result_.rows_compared = static_cast<int64_t>(truth_.rows.size());
}

void Judgement::CompareBits() {
  const bool twice =
      candidate_.traits().repeatable && !CannotTry(candidate_, "written");
  result_.comparisons =
      CompareWithTruth(*trial_, truth_, first_, twice ? &second_ : nullptr);
  bool equal = true;
  for (size_t t = 0; Exact() && t < result_.comparisons.size(); ++t) {
    const Comparison& comparison = result_.comparisons[t];
    if (comparison.Passed() || Lacks(comparison.tensor)) continue;
    equal = false;
    result_.findings.push_back(
        {Tier::kBits, comparison.tensor,
         DescribeComparison(trial_->outputs()[t], comparison), "", comparison});
  }
  if (Exact()) AddCheck("bits", equal, 1);
  // What stands in their place is no kernel's answer.
  std::erase_if(result_.comparisons, [&](const Comparison& comparison) {
    if (!Lacks(comparison.tensor)) return false;
    result_.lacking.push_back(comparison.tensor);
    return true;
  });
}

bool Judgement::CompareAllowed() {
  if (Exact()) return true;
  allowed_ =
      trial_->envelopes().Envelope(*profile_, truth_.rows, options_.threads);
  JudgeByAllowed(*trial_, *allowed_, first_, Tier::kEnvelope, "", &result_);
  AddCheck("envelope", !Has(Tier::kEnvelope), 1);
  JudgeSecondRun();
  const std::string vacuous = Vacuous();
  if (vacuous.empty() || !result_.findings.empty()) return true;
  result_.skip = Skip::kUndeclared;
  return End(Verdict::kSkipped, "profile " + profile_->name +
                                    " bounds nothing of " + vacuous +
                                    " on these inputs");
}

void Judgement::CheckInvariance() {
  // After a wrong answer the other ways to compute it tell nothing new.
  const bool worth = options_.invariance && candidate_.traits().repeatable &&
                     result_.findings.empty();
  if (!worth) return;
  InvarianceRequest request;
  request.candidate = &candidate_;
  request.request = &request_;
  request.trial = trial_.get();
  request.base = &first_;
  request.allowed = Repeats() ? nullptr : allowed_.get();
  request.scratch = &second_;
  request.reopen = [this](int64_t shift) { return OpenShifted(shift); };
  request.salt = Salt();
  request.most = options_.max_variations;
  request.stop = options_.stop;
  JudgeInvariance(request, &result_);
  if (!result_.findings.empty()) return;
  JudgeLaws(Laws(), &result_);
}

LawsRequest Judgement::Laws() const {
  LawsRequest laws;
  laws.candidate = &candidate_;
  laws.request = &request_;
  laws.trial = trial_.get();
  laws.base = &first_;
  laws.profile = Exact() ? nullptr : &*profile_;
  laws.salt = Salt();
  laws.most = options_.max_laws;
  laws.only = options_.only_law;
  laws.threads = options_.threads;
  laws.stop = options_.stop;
  return laws;
}

// What the case's author asked for is tried, or is said not to have been.
void Judgement::CheckShards() {
  if (!request_.call->shard) return;
  std::string why_not;
  if (!candidate_.traits().repeatable) why_not = "it answers no further calls";
  if (!options_.invariance) why_not = "laws were not asked for";
  if (!result_.findings.empty()) why_not = "something else was found";
  if (why_not.empty()) {
    JudgeShards({Laws(), allowed_.get(), truth_.rows}, &result_);
    return;
  }
  result_.shards.emplace().shard = FormatShard(*request_.call->shard);
  result_.shards->why_not = std::move(why_not);
}

void Judgement::CheckPower(const ChainPlace* among) {
  result_.power = MeasurePower(*trial_, truth_, allowed_.get());
  if (among == nullptr) return;
  among->chain.Tell(
      among->place,
      FirstOutputOf(*trial_, truth_, result_.input_digest, result_.line));
  told_ = true;
}

// As late as it is needed: the case before may be judged at the same time.
void Judgement::CheckPowerOfPrevious(const ChainPlace& among) {
  const auto previous = among.chain.Before(among.place);
  if (previous == nullptr || previous->inputs == result_.input_digest) return;
  null_line_ = previous->line + " ;; " + result_.line;
  AddPreviousPower(*trial_, truth_, *previous, allowed_.get(), &result_.power);
}

void Judgement::CheckOtherRows() {
  if (!truth_.sampled || Proven()) return;
  // Invariance overwrites the second run's outputs, too.
  const OtherRows rows = {trial_.get(), &truth_, &first_, &second_,
                          candidate_.traits().fixed.shift};
  if (Exact()) {
    CompareOtherRows(rows, &result_);
  } else {
    RangeOtherRows(rows, *profile_, &result_);
    const std::string& ran = result_.execution.backend;
    // It would vouch for itself.
    const bool ours = ran == "optimized" || ran == "reference";
    const int64_t memory = materialise_.max_bytes;
    if (ours || Proven() || !HasRoomForWitness(*request_.call, memory)) return;
    WitnessOtherRows(rows, *profile_, options_.threads, Salt(), &result_);
  }
}

void Judgement::CheckProbes() {
  std::optional<EvidenceBook> book;
  if (options_.evidence && !Proven()) {
    book.emplace(
        *trial_, Salt(),
        candidate_.traits().repeatable ? kEvidenceWork : kEvidenceWorkOfFiles);
    book->LookAtOwn(*trial_,
                    Exact()
                        ? ByBits(*trial_, truth_, result_.rows_optimized > 0)
                        : BySets(*allowed_),
                    result_.line);
  }
  EvidenceBook* const evidence = book ? &*book : nullptr;
  own_probe_ =
      JudgeOwnProbe(*trial_, profile_ ? *profile_ : BuiltinProfiles()[0],
                    first_, evidence, &result_);
  // After a wrong answer other inputs tell nothing new.
  if (!Exact() && options_.probes && !Proven()) {
    JudgeProbes(
        {&candidate_, &request_, &*profile_, &materialise_, options_.stop,
         options_.only_probes ? &*options_.only_probes : nullptr, evidence},
        &result_);
  }
  if (!book) {
    if (!Exact()) FindOpenOutputs(profile_->name, *allowed_, &result_);
    return;
  }
  result_.evidence = book->Take();
  if (!Exact()) DropUnclaimed(&result_);
  if (!Exact()) FindOpenOutputs(profile_->name, *allowed_, &result_);
  if (!Proven())
    FindUnshown({candidate_.traits().repeatable, own_probe_}, &result_);
}

// After a proof improbable errors tell nothing new; of bits that are claimed
// none may err.
void Judgement::CheckStatistics() {
  if (Exact() || Proven()) return;
  JudgeStatistics({&candidate_, &request_, &*profile_, &materialise_,
                   allowed_.get(), &first_, Salt(), options_.threads},
                  &result_);
}

void Judgement::CheckCanary() {
  const bool wanted =
      options_.canaries && request_.call->expect == Expect::kPass;
  if (!wanted || !WantsCanary(request_, *trial_, Salt())) return;
  JudgeOptions met = options_;
  // What the candidate never met is no merit of this verdict.
  if (!candidate_.traits().repeatable || !result_.unanswered.empty()) {
    met.only_probes = result_.probes_met;
  }
  JudgeCanary(request_, *trial_, met, Salt(), &result_);
}

// What was exported to be answered, and was not, is not proved.
void Judgement::CheckUnanswered() {
  if (result_.unanswered.empty() || Proven()) return;
  std::string checks;
  for (const Unanswered& one : result_.unanswered) {
    checks += (checks.empty() ? "" : ", ") + one.check;
  }
  result_.findings.push_back({Tier::kPower, "answers",
                              "no answer to " + checks + "; the first: " +
                                  result_.unanswered.front().why,
                              "", std::nullopt});
}

void Judgement::SettleCandidate() {
  const RunOutcome settled = candidate_.Settle(request_);
  if (settled.state == RunOutcome::State::kRan) return;
  result_.findings.push_back(
      {Tier::kCandidate, settled.check, settled.message, "", std::nullopt});
}

void Judgement::AddBaselines() {
  // Where bits are equal every rule is content.
  if (options_.only_verdict || (Exact() && !Has(Tier::kBits))) return;
  result_.baselines = JudgeByBaselines(*trial_, truth_, allowed_.get(),
                                       profile_ ? &*profile_ : nullptr, first_);
}

void Judgement::Decide() {
  if (Has(Tier::kSelf) || Has(Tier::kCandidate)) {
    result_.verdict = Verdict::kError;
  } else if (Proven()) {
    result_.verdict = Verdict::kFail;
  } else {
    // Claims rest on no truth that nulls could be told from.
    const std::string reason =
        options_.only_claims ? ""
                             : WhyUntrusted(truth_, result_.power, own_probe_);
    if (!reason.empty()) {
      // Alone, the case would not have the null that is the one before.
      const bool before = reason.find("previous_output") != std::string::npos;
      result_.findings.push_back({Tier::kPower, "nulls", reason, "",
                                  std::nullopt, before ? null_line_ : ""});
    }
    const bool suspected =
        std::any_of(result_.findings.begin(), result_.findings.end(),
                    [](const Finding& f) { return IsSuspicion(f.tier); });
    result_.verdict = Has(Tier::kPower) ? Verdict::kUntrusted
                      : suspected       ? Verdict::kSuspicious
                                        : Verdict::kPass;
  }
  // A case in shards has not passed where its shards were not tried.
  if (result_.verdict == Verdict::kPass && result_.shards &&
      !result_.shards->why_not.empty()) {
    result_.skip = Skip::kUndeclared;
    End(Verdict::kSkipped,
        "shard=" + result_.shards->shard + ": " + result_.shards->why_not);
  }
  // What decided, not merely what was found first.
  for (const Finding& finding : result_.findings) {
    if (!result_.reason.empty()) break;
    const bool decided =
        result_.verdict != Verdict::kUntrusted || finding.tier == Tier::kPower;
    if (decided) result_.reason = finding.message;
  }
}

// What a fail comes from may take seconds to find.
void Judgement::Tell() const {
  const bool wanted = options_.decided && !options_.only_verdict &&
                      result_.verdict == Verdict::kFail &&
                      request_.call->expect == Expect::kPass;
  if (wanted) options_.decided(result_);
}

void Judgement::JudgeOutputs(const ChainPlace* among) {
  bool ran = Declared() && FirstRun();
  if (ran) {
    BeginSecondRun();
    if (!options_.only_claims) FindTruth();
    ran = SecondRun();
  }
  if (ran && options_.only_claims) return JudgeClaimsAlone();
  if (ran) CompareBits();
  if (!ran || !CompareAllowed()) {
    candidate_.Settle(request_);
    return;
  }
  CheckPower(among);
  CheckOtherRows();
  JudgeExecution(candidate_, options_.require_executed, &result_);
  RepeatCall();
  CheckInvariance();
  CheckShards();
  CheckClaims();
  CheckProbes();
  CheckStatistics();
  AddBaselines();
  CheckCanary();
  CheckUnanswered();
  SettleCandidate();
  if (among != nullptr) CheckPowerOfPrevious(*among);
  Decide();
  Tell();
  DrawPicture();
  MeasureErrors();
}

CaseResult Judgement::Run(const ChainPlace* among) {
  const auto start = std::chrono::steady_clock::now();
  Describe();
  if (Open()) {
    if (trial_->scene() != nullptr) {
      JudgeTables(*trial_->scene());
    } else {
      JudgeOutputs(among);
    }
  } else {
    candidate_.Settle(request_);
  }
  result_.kernel = candidate_.Introduce().identity;
  SuggestField();
  SuggestCauses();
  ApplyExpectation(&result_);
  result_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return std::move(result_);
}

}  // namespace lockstep::verify

// Fields of a profile that contradict each other.
#include <functional>
#include <string>

#include "verify/profile/profile.h"

namespace lockstep::verify {
namespace {

// What the contract's own arithmetic is.
void LintExact(const NumericProfile& p,
               const std::function<void(bool, const char*)>& refuse) {
  refuse(p.exact && !p.lane, "exact = yes needs lane = f32, bf16 or f16");
  refuse(p.exact && p.p != NumberType::kCase,
         "exact = yes needs p = case: the case line says what weights are");
  refuse(p.exact && p.shift != Shift::kInteger,
         "exact = yes needs shift = integer (N9)");
  refuse(p.exact && (p.operand_qk != NumberType::kF32 ||
                     p.operand_v != NumberType::kF32 || p.ftz ||
                     p.exp_zero != ExpZero::kExact),
         "exact = yes needs operand_qk = operand_v = f32, exp_zero = exact "
         "and ftz = no");
  refuse(p.exact && (p.lse != LseLane::kF32 || p.lse_base != ExpBase::kE),
         "exact = yes needs lse = f32 and lse_base = e (N12)");
}

// What the type of the weights asks of the rest.
void LintWeights(const NumericProfile& p,
                 const std::function<void(bool, const char*)>& refuse) {
  refuse(p.p == NumberType::kF32 && p.l_from == LFrom::kRounded,
         "l_from = rounded says nothing with p = f32");
  refuse(p.p == NumberType::kF32 && p.p_round != Rounding::kNearest,
         "p_round says nothing with p = f32");
  const bool e4m3 = p.p == NumberType::kE4m3;
  refuse(e4m3 && p.p_round != Rounding::kNearest,
         "p = e4m3 needs p_round = nearest: conversions to e4m3 round so");
  refuse(!e4m3 && p.p_scale != 1, "p_scale says nothing without p = e4m3");
  refuse(p.exact && p.vscale_at != ValueScaleAt::kAny,
         "exact = yes needs vscale_at = any: the contract has a place of its "
         "own (N25)");
}

// What roundings on the way to a score ask of the rest.
void LintScores(const NumericProfile& p,
                const std::function<void(bool, const char*)>& refuse) {
  refuse(
      p.exact && (p.scale_at == ScaleAt::kRoots || p.sink != NumberType::kF32),
      "exact = yes needs sink = f32 and scale_at other than roots");
  if (p.score_round == ScoreRound::kOnce) return;
  refuse(p.score == NumberType::kF32,
         "score_round says nothing with score = f32");
  refuse(p.exp_base != ExpBase::kE || p.scale_at == ScaleAt::kExponent ||
             p.cap_div == CapDivision::kFolded,
         "score_round = each or shift needs exp_base = e, cap_div other than "
         "folded and scale_at other than exponent: operations of their own");
}

// What the place of the division asks of the rest.
void LintNormalise(const NumericProfile& p,
                   const std::function<void(bool, const char*)>& refuse) {
  refuse(p.exact && p.normalise != Normalise::kDeferred,
         "exact = yes needs normalise = deferred (N11)");
  refuse(p.merge_update == MergeUpdate::kDifference &&
             p.normalise != Normalise::kEager,
         "merge.update = difference needs normalise = eager: merges of two");
  if (p.normalise != Normalise::kBefore) return;
  refuse(p.max.kind == MaxPolicy::Kind::kRunning ||
             p.max.kind == MaxPolicy::Kind::kLazy || p.splits != 1,
         "normalise = before needs splits = 1 and max = two_pass, fixed or "
         "none: the row's sum has to be known before V is used");
  refuse(p.l_from == LFrom::kRounded,
         "normalise = before needs l_from = unrounded: weights are rounded "
         "after the division");
}

}  // namespace

std::string LintProfile(const NumericProfile& p) {
  std::string errors;
  const auto refuse = [&](bool contradiction, const char* what) {
    if (contradiction)
      errors += (errors.empty() ? "" : "\n") + std::string(what);
  };
  refuse(p.name.empty(), "name is empty");
  refuse(p.scan && p.exact, "exact = yes is not possible in a scan's profile");
  refuse(p.scan && p.grad,
         "a scan's profile has no fields of attention's "
         "gradients (grad.)");
  refuse(p.scan && p.scan->form == ScanForm::kRecurrent &&
             p.scan->decay != DecayForm::kProduct,
         "scan.form = recurrent needs scan.decay = product");
  refuse(!p.repeat && !p.claims.Empty(), kNothingToClaim);
  if (p.scan) return errors;
  LintExact(p, refuse);
  refuse(p.shift == Shift::kInteger && p.exp_base != ExpBase::kTwo,
         "shift = integer needs exp_base = 2");
  refuse(p.shift == Shift::kFma && p.exp_base != ExpBase::kTwo,
         "shift = fma needs exp_base = 2: a natural exponent has no factor");
  refuse(p.shift == Shift::kFma && p.mask != MaskApplication::kSelectNegInf,
         "shift = fma needs mask = select_neg_inf: the finite mask value times "
         "log2(e) is -inf");
  LintWeights(p, refuse);
  LintScores(p, refuse);
  refuse(p.score == NumberType::kCase || p.state == NumberType::kCase ||
             p.operand_qk == NumberType::kCase ||
             p.operand_v == NumberType::kCase,
         "score, state, operand_qk and operand_v cannot be 'case': a case line "
         "does not name them");
  refuse(p.operand_round != Rounding::kNearest &&
             p.operand_qk == NumberType::kF32 &&
             p.operand_v == NumberType::kF32,
         "operand_round says nothing without operand_qk or operand_v");
  refuse(p.exp_zero != ExpZero::kExact && !(p.exp_rel > 0),
         "exp_zero other than exact needs exp_rel above 0");
  LintNormalise(p, refuse);
  refuse(p.grad && (p.grad->dq_state == NumberType::kCase ||
                    p.grad->dkv_state == NumberType::kCase),
         "grad.dq_state and grad.dkv_state cannot be 'case': a case line does "
         "not name them");
  refuse(
      p.exact && p.grad &&
          (p.grad->p != NumberType::kCase || p.grad->ds != NumberType::kCase),
      "exact = yes needs grad.p = grad.ds = case (N18)");
  refuse(p.exact && p.grad &&
             (p.grad->dq_scale_at > DqScaleAt::kUnsaid &&
              p.grad->dq_scale_at != DqScaleAt::kEnd),
         "exact = yes needs grad.dq_scale_at = end (N18)");
  refuse(p.exact && p.grad &&
             (p.grad->dk_scale_at > DkScaleAt::kUnsaid &&
              p.grad->dk_scale_at != DkScaleAt::kSum),
         "exact = yes needs grad.dk_scale_at = sum (N18)");
  refuse(HandsBackForward(p) &&
             (p.lse == LseLane::kBf16 || p.lse_base != ExpBase::kE),
         "grad.from = own needs lse = f32 or none, and lse_base = e: P is "
         "computed from own_lse");
  refuse(p.grad && p.grad->delta_from == DeltaFrom::kWeights &&
             !HandsBackForward(p),
         "grad.delta_from = weights needs grad.from = own: with given inputs D "
         "is a sum over the given o (N18)");
  refuse(HandsBackForward(p) && p.out != OutLane::kLane,
         "grad.from = own needs out = lane: D is computed from own_o");
  refuse(p.lse == LseLane::kNone && p.lse_base != ExpBase::kE,
         "lse_base says nothing with lse = none");
  refuse(p.mask == MaskApplication::kSelectNegInf &&
             p.empty_row == EmptyRow::kMeanVisited,
         "empty_row = mean_visited needs a finite mask value");
  refuse(p.max.kind == MaxPolicy::Kind::kLazy && p.max.value < 0,
         "max = lazy:T needs T >= 0");
  refuse(p.tile_kv > 0 && p.chain_kv > p.tile_kv,
         "chain_kv is the chain inside a tile and cannot exceed tile_kv");
  refuse(p.chain_order == ChainOrder::kAscending &&
             p.acc_qk.kind != Accumulator::Kind::kMma &&
             p.acc_pv.kind != Accumulator::Kind::kMma,
         "chain_order = ascending needs acc_qk or acc_pv = mma:K,G");
  return errors;
}

}  // namespace lockstep::verify

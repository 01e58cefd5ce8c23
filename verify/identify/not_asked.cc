#include "verify/identify/not_asked.h"

namespace lockstep::verify {
namespace {

// The first row that fits counts.
struct Reason {
  std::string_view op;  // its beginning; empty: any
  std::string_view key;
  std::string_view why;
};

constexpr std::string_view kForwardPass =
    "of a forward pass, which a kernel that is given o and lse does not run";
constexpr std::string_view kNoAngles =
    "Mamba-2 has no angles, mixing weights or last k";
constexpr std::string_view kOfY = "gradients do not show it: only y has it";
constexpr std::string_view kOfGradients = "of gradients alone";
constexpr std::string_view kAnyCovers =
    "any covers every number: only the author may promise a smaller one";
constexpr std::string_view kByBase =
    "of the base: a wider one loosens every bound, and only the author may "
    "say it";
constexpr std::string_view kUnlessCut =
    "the strict value, unless numbers were seen to be cut";
constexpr std::string_view kNothingRounded =
    "the base's, unless rounded weights showed another";

constexpr Reason kReasons[] = {
    // Claims and semantics.
    {"", "exact", "only the author may claim bits"},
    {"", "lane", "the lane that was asked in"},
    {"", "mask", "semantics: which keys are visible is never learned"},
    {"", "out", "the call asks for outputs in the lane's type"},
    {"", "out_round", "the strict value"},
    {"", "claims", "only the author may make a claim"},
    // Attention.
    {"", "operand_qk", "bf16 operands have no bits to lose"},
    {"", "operand_v", "bf16 operands have no bits to lose"},
    {"", "operand_round", kUnlessCut},
    {"", "p_round", kUnlessCut},
    {"", "exp_zero", "the strict value, unless a single key showed another"},
    {"", "shift", "the base's, unless last bits of scores showed another"},
    {"", "chain_qk", kAnyCovers},
    {"", "chain_kv", kAnyCovers},
    {"", "tile_kv", kAnyCovers},
    {"", "splits", kAnyCovers},
    {"", "max",
     "running covers two passes; the others excuse overflow, so that only the "
     "author may say them"},
    {"attention_backward", "p", kForwardPass},
    {"attention_backward", "acc_pv", kForwardPass},
    {"attention_backward", "lse_base", kForwardPass},
    {"attention_backward", "cap_div",
     "gradients do not show where the cap divides"},
    {"attention_backward", "masked_nan_safe", "the strict value"},
    {"", "scale_at", "of the base: scores were not read to their last bits"},
    {"", "exp_base", "of the base: scores were not read to their last bits"},
    {"", "l_from", kNothingRounded},
    {"", "normalise", kNothingRounded},
    {"", "division", kNothingRounded},
    {"", "division_rel", "of the base: in o it is not told from the sums"},
    {"", "acc_l", "the sum over V has both errors in one"},
    {"", "log_rel", "of the base: in lse it is not told from the sum"},
    {"", "state", "the strict value: losses between tiles are never learned"},
    {"", "lse", "the strict value, unless the kernel has none"},
    {"", "cap_div", "of the base: the answers did not show it"},
    {"", "grad.dq_state",
     "the strict value: losses between tiles are reported"},
    {"", "grad.dkv_state",
     "the strict value: losses between tiles are reported"},
    {"", "grad.tile_q", kAnyCovers},
    // Scans.
    {"attention_forward", "ftz",
     "the strict value: f16 has no numbers so small, flushed or not"},
    {"", "ftz", "the strict value: no question has subnormal numbers"},
    {"", "nan", "semantics: what NaN reaches is never learned"},
    {"", "scan.form", "chunked covers token by token"},
    {"", "scan.param", "the strict value: no question has biases, psi or phi"},
    {"", "scan.operand_round", kUnlessCut},
    {"", "scan.diagonal_rel", kByBase},
    {"", "scan.rank_sum", "the strict value: questions have one rank"},
    {"", "scan.empty_run", "a convention, which is never learned"},
    {"", "scan.lacks", "every carry is asked for"},
    {"", "scan.companion", "calibrated for the base's arithmetic alone"},
    {"mamba3_scan_backward", "masked_nan_safe",
     "the strict value: no question has NaN"},
    {"mamba3_scan_backward", "scan.decay", kOfY},
    {"mamba3_scan_backward", "scan.angle_carry", kOfY},
    {"mamba3_scan_backward", "scan.carry_key", kOfY},
    {"mamba3_scan_backward", "scan.diagonal", kOfY},
    {"mamba3_scan_backward", "scan.weight",
     "gradients show the two weights of a token separately"},
    {"ssd_scan", "scan.weight",
     "without a look-ahead it is the step, which was asked for"},
    {"ssd_scan", "tanh_rel", kNoAngles},
    {"ssd_scan", "scan.angle_form", kNoAngles},
    {"ssd_scan", "scan.pairing", kNoAngles},
    {"ssd_scan", "scan.angle", kNoAngles},
    {"ssd_scan", "scan.angle_carry", kNoAngles},
    {"ssd_scan", "scan.trig_abs", kNoAngles},
    {"ssd_scan", "scan.lambda", kNoAngles},
    {"ssd_scan", "scan.sigmoid_rel",
     "of the base: no question has a gate, and there is no other sigmoid"},
    {"ssd_scan", "scan.key", kNoAngles},
    {"ssd_scan", "scan.carry_key", kNoAngles},
    {"", "scan.query", "bf16 queries that nothing turns have no bits to lose"},
    {"", "scan.diagonal", "bf16 outputs do not show it: the strict value"},
    {"", "scan.gate", "the strict value: no question has a gate"},
    {"", "scan.decay", "decays did not show how their sums are formed"},
    {"", "scan.trig_abs",
     "of the base: angles or keys are too coarse to show it"},
    {"", "scan.sigmoid_rel", "of the base: weights are too coarse to show it"},
    {"", "scan.lambda", "the strict value: weights are too coarse to show it"},
    {"", "scan.grad_do", kOfGradients},
    {"", "scan.grad_state", kOfGradients},
    {"", "scan.grad_partial", kOfGradients},
};

}  // namespace

std::string_view WhyNotAsked(std::string_view op, std::string_view key) {
  for (const Reason& reason : kReasons) {
    if (key == reason.key && op.starts_with(reason.op)) return reason.why;
  }
  return {};
}

}  // namespace lockstep::verify

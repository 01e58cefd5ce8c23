// A token's dv and dk by products with the later tokens of its chunk, as a
// kernel forms them on a matrix unit.
#include "verify/emulator/mamba3_scan_backward/head.h"

#include "verify/emulator/mamba3_scan/elements.h"

namespace lockstep::verify {

// `of_keys`: dv of a token's k, by products of q and k; else dk of its v, by
// products of do and v.
Floats GradHead::ByScores(int64_t t, const Floats& own, bool of_keys) const {
  const ScanNumeric& sites = row_.math.sites();
  Floats sum(static_cast<size_t>(of_keys ? p_.head_dim : p_.state_dim), 0.0f);
  float decay = 0;
  for (int64_t s = t; s < chunk_end_; ++s) {
    const auto at = static_cast<size_t>(s);
    if (s > t) decay += row_.a[at];
    const FloatRows& d_o = d_o_[static_cast<size_t>(s - chunk_first_)];
    for (size_t r = 0; r < d_o.size(); ++r) {
      const Floats& from = of_keys ? row_.q[at][r] : d_o[r];
      const Floats& to = of_keys ? d_o[r] : row_.q[at][r];
      const float dot =
          s > t ? row_.math.Exp(decay) * Dot(from, own) : Dot(from, own);
      const float score = Operand(dot, sites.score, sites);
      row_.math.AddScaled(score, to, &sum);
    }
  }
  // What comes from behind the chunk.
  const float all = row_.math.Exp(decay);
  for (size_t n = 0; n < behind_chunk_.size(); ++n) {
    for (size_t c = 0; c < behind_chunk_[n].size(); ++c) {
      const float m =
          Operand(all * behind_chunk_[n][c], sites.grad_state, sites);
      float& to = sum[of_keys ? c : n];
      to = row_.math.MulAdd(m, own[of_keys ? n : c], to);
    }
  }
  return sum;
}

}  // namespace lockstep::verify

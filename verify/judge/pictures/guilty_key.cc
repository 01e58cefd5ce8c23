#include "verify/judge/pictures/guilty_key.h"

#include <array>
#include <string>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/causes/explanation.h"

namespace lockstep::verify {
namespace {

// How probable it may be that the values of some key point along the error by
// chance.
constexpr double kChance = 1e-3;

// An upper limit of the probability that one of so many random directions of
// `channels` numbers has a squared cosine of at least `share` with a given one.
double ChanceOf(double share, int64_t keys, int64_t channels) {
  if (share >= 1) return channels > 1 ? 0 : 1;
  const double one = static_cast<double>(channels - 1) / 2;
  return static_cast<double>(keys) * ExpDouble(one * LogDouble(1 - share));
}

// " b 0, h 2, i 17".
std::string RowText(const OutputSpec& output,
                    const std::array<int64_t, 4>& at) {
  std::string text;
  for (size_t a = 0; a < 3; ++a) {
    if (output.axes[a] == nullptr) continue;
    text += (text.empty() ? " " : ", ") + std::string(output.axes[a]) + " " +
            std::to_string(at[a]);
  }
  return text;
}

bool OneKeyExplains(const RowByKey& row, const OutputSpec& output) {
  const RowByKey::Key& key = row.best[0];
  return row.keys > 1 && row.alike == 1 && key.share >= kCauseStated &&
         ChanceOf(key.share, row.keys, output.shape[3]) < kChance;
}

}  // namespace

bool StandsOut(const RowByKey& row, const OutputSpec& output) {
  const RowByKey::Key& key = row.best[0];
  return OneKeyExplains(row, output) && (!key.visible || !key.heavy);
}

bool BlameAlike(const RowByKey& a, const RowByKey& b,
                const OutputSpec& output) {
  if (!StandsOut(a, output) || !StandsOut(b, output)) return false;
  const int64_t one = a.best[0].key, other = b.best[0].key;
  return a.best[0].visible == b.best[0].visible &&
         (one == other || one - a.at[output.down] == other - b.at[output.down]);
}

bool IsConfirmed(const ErrorPicture& picture) {
  if (picture.by_key.empty()) return false;
  const RowByKey& row = picture.by_key[0];
  const RowByKey::Key& key = row.best[0];
  if (row.agree > 0 && 2 * row.agree >= row.asked) return true;
  // A probe that aims at a key gives it the row; then most rows are right.
  const bool aimed = picture.tier == Tier::kProbes && key.alone &&
                     2 * row.wrong_rows < row.rows;
  return aimed && OneKeyExplains(row, picture.output);
}

void NameKey(CaseResult* failed) {
  if (!failed->causes.empty() || failed->picture == nullptr) return;
  if (!IsConfirmed(*failed->picture)) return;
  const OutputSpec& output = failed->picture->output;
  const RowByKey& row = failed->picture->by_key[0];
  const RowByKey::Key& key = row.best[0];
  Explanation cause;
  cause.bug = "key " + std::to_string(key.key);
  cause.what =
      key.visible ? "which the row sees" : "which the row does not see";
  cause.where = "row" + RowText(output, row.at);
  cause.explained = key.share;
  failed->causes.push_back(std::move(cause));
}

}  // namespace lockstep::verify

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

}  // namespace

void NameKey(CaseResult* failed) {
  if (!failed->causes.empty() || failed->picture == nullptr) return;
  if (failed->picture->by_key.empty()) return;
  const OutputSpec& output = failed->picture->output;
  const RowByKey& row = failed->picture->by_key[0];
  const RowByKey::Key& key = row.best[0];
  // A row whose weight is one key's moves along it whatever is wrong with the
  // weights; then other rows are wrong, too.
  const bool own = !key.visible || !key.alone || 2 * row.wrong_rows < row.rows;
  const bool sure = own && row.keys > 1 && row.alike == 1 &&
                    key.share >= kCauseStated &&
                    ChanceOf(key.share, row.keys, output.shape[3]) < kChance;
  if (!sure) return;
  Explanation cause;
  cause.bug = "key " + std::to_string(key.key);
  cause.what =
      key.visible ? "which the row sees" : "which the row does not see";
  cause.where = "row" + RowText(output, row.at);
  cause.explained = key.share;
  failed->causes.push_back(std::move(cause));
}

}  // namespace lockstep::verify

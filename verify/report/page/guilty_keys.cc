#include "verify/report/page/guilty_keys.h"

#include <algorithm>
#include <string>
#include <vector>

#include "verify/base/format.h"
#include "verify/causes/explanation.h"
#include "verify/judge/pictures/guilty_key.h"
#include "verify/report/block_plan.h"
#include "verify/report/markup/html.h"
#include "verify/report/markup/svg.h"
#include "verify/report/page/block_plan.h"

namespace lockstep::verify {

const char* const kGuiltyKeysStyle = R"(
svg.keys { max-width: 40rem; }
svg.keys .bar { fill: var(--ink); }
svg.keys .axes { stroke: var(--soft); }
)";

namespace {

// Tiles a side of the mask, at most; of a kernel that names none, about.
constexpr int64_t kMostTiles = 96;
constexpr int64_t kOwnTiles = 32;

// The key that is to blame, if one is and more than the worst row says so.
const RowByKey::Key* Culprit(const ErrorPicture& picture) {
  return IsConfirmed(picture) ? &picture.by_key[0].best[0] : nullptr;
}

// The kernel's tile, or so many of them that a side has few enough.
int64_t TileLength(int64_t kernels, int64_t length) {
  if (kernels == 0) return std::max<int64_t>(1, (length - 1) / kOwnTiles + 1);
  const int64_t tiles = (length - 1) / kernels + 1;
  return kernels * ((tiles - 1) / kMostTiles + 1);
}

std::string Named(int64_t n, const char* word) {
  return std::to_string(n) + " " + word + (n == 1 ? "" : "s");
}

}  // namespace

std::string GuiltyTilesHtml(const ErrorPicture& picture,
                            const std::optional<Tile>& tile) {
  const OutputSpec& output = picture.output;
  const std::string axis =
      output.axes[output.down] == nullptr ? "" : output.axes[output.down];
  if (picture.maps.empty() || (axis != "i" && axis != "j")) return "";
  const ErrorMap& map = picture.maps[0];
  // An op with positions of queries or keys along its rows is an attention.
  PlanRequest request;
  request.tiles.blocks = false;
  const auto lengths = MaskLengths(picture.call);
  if (!lengths) return "";
  request.tiles.tile_q = TileLength(tile ? tile->first : 0, lengths->first);
  request.tiles.tile_k = TileLength(tile ? tile->second : 0, lengths->second);
  const Result<PlanReport> plan =
      ReportPlan(picture.call, picture.materialise, request);
  if (!plan.ok()) {
    return "<p>The mask is not drawn: " + HtmlText(plan.message()) + "</p>\n";
  }
  const bool keys_down = axis == "j";
  const int64_t group = plan->payload.problem.group();
  const PlanView view = {map.at[0], keys_down ? map.at[1] * group : map.at[1]};
  PlanMarks marks;
  (keys_down ? marks.keys : marks.queries) = map.wrong;
  const RowByKey::Key* const culprit = Culprit(picture);
  const bool same_part = culprit != nullptr &&
                         picture.by_key[0].at[0] == map.at[0] &&
                         picture.by_key[0].at[1] == map.at[1];
  if (same_part) marks.pair = {picture.by_key[0].at[2], culprit->key};
  const std::string what =
      "the mask of " + PlaceText(output, map.at, false) + ", " +
      Named(static_cast<int64_t>(map.wrong.size()), "stretch") +
      " of wrong rows marked";
  std::string text = "<figure><figcaption>The mask of " +
                     HtmlText(PlaceText(output, map.at, false)) +
                     " in tiles of " + std::to_string(request.tiles.tile_q) +
                     " x " + std::to_string(request.tiles.tile_k) +
                     (tile ? " (the kernel's, or several of them)"
                           : " (the kernel does not say its own)") +
                     ". Framed and pointed at: tiles that hold wrong rows.";
  if (same_part) {
    text += " Crossed out: where query " + std::to_string(marks.pair->first) +
            " meets key " + std::to_string(marks.pair->second) + ".";
  }
  return text + "</figcaption>\n" + PlanLegend(true) +
         PlanFigure(plan.value(), view, marks, what) + "</figure>\n";
}

std::string RowByKeyHtml(const ErrorPicture& picture) {
  if (picture.by_key.empty()) {
    return "<p>The worst row's error by key: not known for " +
           HtmlText(picture.output.name) +
           " of this op, or of errors without a distance.</p>\n";
  }
  constexpr double kBarsLeft = 50, kBarsTop = 10, kBarsHeight = 90,
                   kBarsWidth = 512;
  const RowByKey& row = picture.by_key[0];
  const double bar = kBarsWidth / static_cast<double>(row.bars.size());
  std::string bars = "<path class=\"bar\" d=\"";
  for (size_t n = 0; n < row.bars.size(); ++n) {
    const double height = kBarsHeight * row.bars[n];
    if (height < 0.05) continue;
    bars += Format("M%.1f %.1fv-%.1fh%.1fv%.1fz",
                   kBarsLeft + bar * static_cast<double>(n),
                   kBarsTop + kBarsHeight, height, bar, height);
  }
  bars += "\"/>\n";
  std::string axes = "<g class=\"axes\">\n" +
                     SvgLine(kBarsLeft, kBarsTop + kBarsHeight,
                             kBarsLeft + kBarsWidth, kBarsTop + kBarsHeight);
  std::string labels =
      SvgLabel(kBarsLeft - 6, kBarsTop + 8, "end", "100 %") +
      SvgLabel(kBarsLeft - 6, kBarsTop + kBarsHeight, "end", "0");
  for (const int64_t key : SvgTicks(row.keys, kBarsWidth)) {
    const double x = kBarsLeft + bar * static_cast<double>(key) /
                                     static_cast<double>(row.step);
    axes += SvgLine(x, kBarsTop + kBarsHeight, x, kBarsTop + kBarsHeight + 4);
    labels +=
        SvgLabel(x, kBarsTop + kBarsHeight + 17, "middle", std::to_string(key));
  }
  const std::string where =
      PlaceText({.name = "",
                 .axes = {picture.output.axes[0], picture.output.axes[1],
                          picture.output.axes[2], nullptr}},
                row.at, true);
  const std::string what = "Error of row " + where + " by key";
  const RowByKey::Key* const culprit = Culprit(picture);
  std::string text = "<figure><figcaption>" + HtmlText(what) +
                     ": the share that another weight of this one key "
                     "explains; a bar shows the most of " +
                     Named(row.step, "key") + ". ";
  if (culprit != nullptr) {
    text += Format("Key %lld alone explains %.1f %%.",
                   static_cast<long long>(culprit->key), 100 * culprit->share);
  } else if (row.best[0].share >= kCauseStated) {
    text += row.alike == 1 ? "One key explains it, but no other row blames it."
                           : Named(row.alike, "key") +
                                 " explain it as well as one another.";
  } else {
    text += Format("No single key explains it: the best %.1f %%.",
                   100 * row.best[0].share);
  }
  text +=
      "</figcaption>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "class=\"keys\" role=\"img\" viewBox=\"0 0 580 128\" aria-label=\"" +
      HtmlText(what) + "\">\n" + axes + "</g>\n" + bars + labels +
      "</svg>\n</figure>\n";
  std::vector<std::vector<std::string>> rows;
  for (const RowByKey::Key& key : row.best) {
    rows.push_back({"key " + std::to_string(key.key),
                    Format("%.1f %%", 100 * key.share),
                    key.visible ? "visible" : "masked"});
  }
  return text + HtmlTable({"", "share", "for this row"}, rows);
}

}  // namespace lockstep::verify

#include "verify/judge/pictures/error_picture.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "verify/judge/bounded.h"
#include "verify/judge/pictures/ask_again.h"
#include "verify/judge/pictures/guilty_key.h"
#include "verify/ops/envelopes.h"
#include "verify/ops/pictures.h"

namespace lockstep::verify {
namespace {

using Index = std::array<int64_t, 4>;
// Every judged element of the output, one after the other, the same each time.
using Elements =
    std::function<void(const std::function<void(const ErrorElement&)>&)>;

// Wrong rows beside the worst that are asked which key they blame.
constexpr size_t kRowsAsked = 8;

// A is further from right than B.
bool Worse(const ErrorElement& a, const ErrorElement& b) {
  if (a.outside != b.outside) return a.outside;
  return a.size > b.size;
}

ErrorElement FromSet(const JudgedElement& judged, ErrorUnit unit) {
  const Bounds& bounds = judged.bounds;
  const ValueSet& set = bounds.allowed;
  ErrorElement element = {judged.index, judged.produced, set, bounds.truth,
                          !set.Contains(judged.produced)};
  if (unit == ErrorUnit::kBound) {
    element.size = judged.distance;
  } else if (element.outside) {
    const double away =
        std::max(set.lo - judged.produced, judged.produced - set.hi);
    element.size = away > 0 && set.lo <= set.hi ? away : HUGE_VAL;
  }
  return element;
}

Elements OfSets(const AllowedResults& allowed, const OutputSet& produced,
                const std::string& tensor, ErrorUnit unit) {
  return [&allowed, &produced, tensor, unit](const auto& visit) {
    allowed.JudgeEach(
        produced, [&](const std::string& name, const JudgedElement& judged) {
          if (name == tensor) visit(FromSet(judged, unit));
        });
  };
}

ErrorElement FromBits(Lane lane, uint32_t expected, uint32_t produced) {
  const double right = ElementValue(lane, expected);
  ErrorElement element;
  element.produced = ElementValue(lane, produced);
  element.allowed = {right, right, right != right};
  element.truth = right;
  const PairClass pair = Classify(lane, expected, produced);
  if (pair == PairClass::kEqual || pair == PairClass::kSameNaN) return element;
  element.outside = true;
  element.size =
      pair == PairClass::kFinite
          ? static_cast<double>(UlpDistance(lane, expected, produced))
      : pair == PairClass::kZeroSign ? 0
                                     : HUGE_VAL;
  return element;
}

Elements OfBits(const Trial& trial, const Truth& truth,
                const OutputSet& produced, size_t t) {
  return [&trial, &truth, &produced, t](const auto& visit) {
    const OutputSpec& spec = trial.outputs()[t];
    const LaneView made = produced.tensors[t].const_view();
    size_t next = 0;
    for (const int64_t row : truth.rows) {
      for (const int64_t line : trial.Lines(t, row)) {
        for (int64_t c = 0; c < spec.shape[3]; ++c, ++next) {
          const Index at = LineIndex(spec, line, c);
          ErrorElement element =
              FromBits(spec.lane, truth.bits[t][next], ElementBits(made, at));
          element.index = at;
          visit(element);
        }
      }
    }
  };
}

// Which part of the output an element lies in.
struct Parts {
  const OutputSpec& spec;

  Index PartOf(Index at) const {
    at[spec.down] = 0;
    at[3] = 0;
    return at;
  }
  size_t Number(const Index& at) const {
    int64_t number = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      if (axis != spec.down) number = number * spec.shape[axis] + at[axis];
    }
    return static_cast<size_t>(number);
  }
  size_t Count() const {
    int64_t count = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
      if (axis != spec.down) count *= spec.shape[axis];
    }
    return static_cast<size_t>(count);
  }
};

struct Part {
  ErrorMap map;
  ErrorElement worst;
};

int64_t StepOf(int64_t length) { return (length + kMapCells - 1) / kMapCells; }

// First look: counts of every part, and the worst elements of all.
std::vector<Part> Survey(const Elements& elements, const Parts& parts,
                         ErrorPicture* picture) {
  std::vector<Part> all(parts.Count());
  auto& worst = picture->elements;
  elements([&](const ErrorElement& element) {
    Part& part = all[parts.Number(element.index)];
    part.map.at = parts.PartOf(element.index);
    ++part.map.judged;
    ++picture->judged;
    if (!element.outside) return;
    if (part.map.outside++ == 0 || Worse(element, part.worst)) {
      part.worst = element;
    }
    ++picture->outside;
    // In order, so that of equals the first stay.
    if (worst.size() == kPictureElements && !Worse(element, worst.back())) {
      return;
    }
    worst.insert(std::upper_bound(worst.begin(), worst.end(), element, Worse),
                 element);
    if (worst.size() > kPictureElements) worst.pop_back();
  });
  return all;
}

// Second look: the cells of the parts that are drawn.
void FillMaps(const Elements& elements, const Parts& parts,
              std::vector<ErrorMap>* maps) {
  const OutputSpec& spec = parts.spec;
  std::vector<ErrorMap*> drawn(parts.Count(), nullptr);
  std::vector<std::vector<bool>> wrong(maps->size());
  for (size_t n = 0; n < maps->size(); ++n) {
    ErrorMap& map = (*maps)[n];
    drawn[parts.Number(map.at)] = &map;
    wrong[n].resize(static_cast<size_t>(spec.shape[spec.down]));
    map.row_step = StepOf(spec.shape[spec.down]);
    map.channel_step = StepOf(spec.shape[3]);
    map.rows = (spec.shape[spec.down] + map.row_step - 1) / map.row_step;
    map.columns = (spec.shape[3] + map.channel_step - 1) / map.channel_step;
    map.cells.resize(static_cast<size_t>(map.rows * map.columns));
  }
  elements([&](const ErrorElement& element) {
    ErrorMap* const map = drawn[parts.Number(element.index)];
    if (map == nullptr) return;
    const int64_t row = element.index[spec.down];
    ErrorCell& cell =
        map->cells[static_cast<size_t>(row / map->row_step * map->columns +
                                       element.index[3] / map->channel_step)];
    ++cell.judged;
    cell.outside += element.outside ? 1 : 0;
    cell.largest = std::max(cell.largest, element.size);
    if (element.outside) {
      wrong[static_cast<size_t>(map - maps->data())][static_cast<size_t>(row)] =
          true;
    }
  });
  for (size_t n = 0; n < maps->size(); ++n) {
    auto& stretches = (*maps)[n].wrong;
    for (size_t row = 0; row < wrong[n].size(); ++row) {
      if (!wrong[n][row]) continue;
      const auto at = static_cast<int64_t>(row);
      if (!stretches.empty() && stretches.back().second + 1 == at) {
        stretches.back().second = at;
      } else {
        stretches.emplace_back(at, at);
      }
    }
  }
}

RowByKey Summarise(const KeyErrors& errors, const Index& at) {
  RowByKey row;
  row.at = at;
  const auto keys = errors.share.size();
  row.keys = static_cast<int64_t>(keys);
  const size_t step = (keys + kKeyBins - 1) / kKeyBins;
  row.step = static_cast<int64_t>(step);
  row.bars.resize((keys + step - 1) / step);
  for (size_t j = 0; j < keys; ++j) {
    float& bar = row.bars[j / step];
    bar = std::max(bar, static_cast<float>(errors.share[j]));
    row.best.push_back({static_cast<int64_t>(j), errors.share[j],
                        errors.visible[j], errors.alone[j], errors.heavy[j]});
  }
  std::stable_sort(
      row.best.begin(), row.best.end(),
      [](const auto& a, const auto& b) { return a.share > b.share; });
  for (const auto& key : row.best) {
    row.alike += key.share >= row.best[0].share - 0.01 ? 1 : 0;
  }
  row.best.resize(std::min(row.best.size(), kPictureKeys));
  return row;
}

// Rows with an element outside, each with its worst one, in order; and how many
// rows there are of all.
std::vector<ErrorElement> WrongRows(const Elements& elements, int64_t* rows) {
  std::vector<ErrorElement> wrong;
  Index last = {-1, -1, -1, -1};
  elements([&](ErrorElement element) {  // row by row
    element.index[3] = 0;
    *rows += element.index != last ? 1 : 0;
    last = element.index;
    if (!element.outside) return;
    if (wrong.empty() || wrong.back().index != element.index) {
      wrong.push_back(element);
    } else if (Worse(element, wrong.back())) {
      wrong.back() = element;
    }
  });
  return wrong;
}

// The worst row, and those that are nearly as bad.
std::vector<Index> RowsToAsk(std::vector<ErrorElement> wrong,
                             const Index& worst) {
  std::stable_sort(wrong.begin(), wrong.end(), Worse);
  std::vector<Index> asked = {worst};
  for (const ErrorElement& row : wrong) {
    if (asked.size() > kRowsAsked) break;
    const bool sized = std::isfinite(row.size);
    if (sized && row.index != worst) asked.push_back(row.index);
  }
  return asked;
}

// Third look: the row of the worst element that has a size, and its keys; and
// whether other wrong rows blame the same one.
void BlameKeys(const Elements& elements, const Trial& trial, size_t t,
               ErrorPicture* picture) {
  const auto row = std::find_if(
      picture->elements.begin(), picture->elements.end(),
      [](const ErrorElement& element) { return std::isfinite(element.size); });
  if (row == picture->elements.end()) return;
  Index at = row->index;
  at[3] = 0;
  int64_t rows = 0;
  const std::vector<ErrorElement> wrong = WrongRows(elements, &rows);
  const std::vector<Index> asked = RowsToAsk(wrong, at);
  std::map<Index, std::pair<std::vector<double>, std::vector<double>>> lines;
  for (const Index& one : asked) lines[one];
  elements([&](const ErrorElement& element) {
    Index here = element.index;
    here[3] = 0;
    const auto line = lines.find(here);
    if (line == lines.end()) return;
    line->second.first.push_back(element.produced - element.truth);
    line->second.second.push_back(element.truth);
  });
  for (const Index& one : asked) {
    const auto& [error, truth] = lines[one];
    const KeyErrors errors = trial.pictures().ErrorByKey(t, one, error, truth);
    if (errors.share.empty()) {
      if (one == at) return;
      continue;
    }
    RowByKey by_key = Summarise(errors, one);
    if (picture->by_key.empty()) {
      picture->by_key = {std::move(by_key)};
      continue;
    }
    ++picture->by_key[0].asked;
    picture->by_key[0].agree +=
        BlameAlike(picture->by_key[0], by_key, picture->output) ? 1 : 0;
  }
  picture->by_key[0].rows = rows;
  picture->by_key[0].wrong_rows = std::ssize(wrong);
}

void Draw(const Elements& elements, const Trial& trial, size_t t,
          ErrorPicture* picture) {
  const Parts parts{picture->output};
  std::vector<Part> all = Survey(elements, parts, picture);
  std::stable_sort(all.begin(), all.end(), [](const Part& a, const Part& b) {
    if ((a.map.outside > 0) != (b.map.outside > 0)) return a.map.outside > 0;
    return a.map.outside > 0 && Worse(a.worst, b.worst);
  });
  picture->parts = static_cast<int64_t>(all.size());
  for (const Part& part : all) {
    if (part.map.outside == 0) break;
    ++picture->wrong_parts;
    if (picture->maps.size() == kPictureMaps) continue;
    picture->maps.push_back(part.map);
    picture->maps.back().segments =
        trial.pictures().SegmentStarts(t, part.map.at);
  }
  FillMaps(elements, parts, &picture->maps);
  BlameKeys(elements, trial, t, picture);
}

// The output of that name.
size_t OutputOf(const Trial& trial, const std::string& tensor) {
  const auto& specs = trial.outputs();
  for (size_t t = 0; t < specs.size(); ++t) {
    if (specs[t].name == tensor) return t;
  }
  return specs.size();
}

// The answer, by the sets of the inputs that are a probe.
bool DrawProbe(const PictureRequest& from, const Trial& trial,
               const OutputSet& produced, size_t t, ErrorPicture* picture) {
  const auto allowed = trial.envelopes().Probe(
      from.profile != nullptr ? *from.profile : BuiltinProfiles()[0],
      ProbeRows(trial));
  if (allowed == nullptr) return false;
  picture->unit = ErrorUnit::kBeyond;
  Draw(OfSets(*allowed, produced, picture->output.name, picture->unit), trial,
       t, picture);
  return true;
}

}  // namespace

void DrawError(const PictureRequest& from, CaseResult* failed) {
  const Finding* finding = FindingOfNumbers(*failed);
  if (finding == nullptr) {
    failed->no_picture = "the finding is not a numerical error";
    return;
  }
  const bool own = OnOwnInputs(*failed, *finding);
  AskedAgain asked;
  const auto any = [](const Trial&) { return true; };
  if (!own &&
      !AskAgain(from.request, from.candidate, finding->line, any, &asked)) {
    failed->no_picture =
        "the candidate cannot be asked again for its answer to the probe";
    return;
  }
  const Trial& trial = own ? from.trial : *asked.trial;
  const OutputSet& produced = own ? from.produced : asked.outputs;
  const size_t t = OutputOf(trial, finding->check);
  if (t == trial.outputs().size()) {
    failed->no_picture = "the finding does not belong to one output";
    return;
  }
  auto picture = std::make_shared<ErrorPicture>();
  picture->call = own ? *from.request.call : asked.call;
  picture->line = own ? failed->line : finding->line;
  picture->materialise = own ? from.materialise : MaterialiseOptions{};
  picture->output = trial.outputs()[t];
  picture->tier = finding->tier;
  if (finding->tier == Tier::kBits) {
    Draw(OfBits(trial, from.truth, produced, t), trial, t, picture.get());
  } else if (finding->tier == Tier::kEnvelope && from.allowed != nullptr) {
    picture->unit = ErrorUnit::kBound;
    Draw(OfSets(*from.allowed, produced, finding->check, picture->unit), trial,
         t, picture.get());
  } else {
    DrawProbe(from, trial, produced, t, picture.get());
  }
  if (picture->outside == 0) {
    failed->no_picture =
        "none of the rows that were compared with the truth is wrong";
    return;
  }
  failed->picture = std::move(picture);
}

}  // namespace lockstep::verify

#include "fuzz/corpus.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "fuzz/trial.h"
#include "verify/base/io/files.h"
#include "verify/base/status_macros.h"
#include "verify/emulator/mutants.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"
#include "verify/tables/mutants.h"

namespace lockstep::fuzz {
namespace {

using verify::Case;
using Sequence = std::vector<Case>;

// What a line is worth: features first, then mutants, as numbers.
using Worth = std::set<size_t>;

class Minimiser {
 public:
  Minimiser(const verify::Domain& domain, const std::atomic<bool>* stop)
      : domain_(domain), stop_(stop), features_(domain.features().size()) {
    for (const verify::MutantInfo& mutant : verify::Mutants()) {
      if (mutant.op() == domain.op) Add(mutant.name);
    }
    if (std::string_view(domain.op) != "block_plan") return;
    for (const verify::PlanMutantInfo& mutant : verify::PlanMutants()) {
      Add(mutant.name);
    }
  }

  bool Stopped() const { return stop_ != nullptr && *stop_; }
  size_t features() const { return features_; }
  size_t mutants() const { return targets_.size(); }

  // Of what is not in `known` already.
  Worth WorthOf(const Sequence& sequence, const Worth& known) const {
    Worth worth;
    for (const Case& call : sequence) {
      const verify::FeatureSet set = domain_.features_of(call);
      for (size_t f = 0; f < set.has.size(); ++f) {
        if (set.has[f] && !known.contains(f)) worth.insert(f);
      }
    }
    for (size_t m = 0; m < targets_.size(); ++m) {
      if (known.contains(features_ + m) || Stopped()) continue;
      if (TryCase(sequence, targets_[m], 2).Found()) {
        worth.insert(features_ + m);
      }
    }
    return worth;
  }

 private:
  void Add(const char* mutant) {
    Result<Target> target = Target::Open(std::string("mutant:") + mutant, "");
    if (!target.ok()) return;
    target->variations = 0;
    targets_.push_back(std::move(target.value()));
  }

  const verify::Domain& domain_;
  const std::atomic<bool>* stop_;
  const size_t features_;
  std::vector<Target> targets_;
};

// Greedy cover: the entry that adds most, until all of `whole` is there.
std::vector<size_t> Cover(const std::vector<Worth>& worths,
                          const Worth& whole) {
  std::vector<size_t> chosen;
  Worth have;
  while (have.size() < whole.size()) {
    size_t best = 0;
    size_t best_gain = 0;
    for (size_t n = 0; n < worths.size(); ++n) {
      const auto gain = static_cast<size_t>(
          std::count_if(worths[n].begin(), worths[n].end(),
                        [&](size_t w) { return !have.contains(w); }));
      if (gain > best_gain) {
        best = n;
        best_gain = gain;
      }
    }
    if (best_gain == 0) break;
    chosen.push_back(best);
    have.insert(worths[best].begin(), worths[best].end());
  }
  return chosen;
}

}  // namespace

void Corpus::Add(Corpus more) {
  std::move(more.sequences.begin(), more.sequences.end(),
            std::back_inserter(sequences));
  other_ops += more.other_ops;
  other_ends += more.other_ends;
}

std::string Corpus::Text() const {
  const auto n = static_cast<int64_t>(sequences.size());
  std::string text = std::to_string(n) + (n == 1 ? " line" : " lines");
  if (other_ops + other_ends == 0) return text;
  text += "; left aside: ";
  if (other_ops > 0) text += std::to_string(other_ops) + " of other ops";
  if (other_ops > 0 && other_ends > 0) text += ", ";
  if (other_ends > 0) {
    text +=
        std::to_string(other_ends) +
        (other_ends == 1 ? " that expects no pass" : " that expect no pass");
  }
  return text;
}

Result<Corpus> ReadCorpus(const std::string& path, std::string_view op) {
  std::error_code error;
  std::vector<std::string> files;
  if (std::filesystem::is_directory(path, error)) {
    ASSIGN_OR_RETURN(const std::vector<std::string> below,
                     verify::FilesBelow(path));
    for (const std::string& file : below) {
      if (file.ends_with(".cases")) files.push_back(file);
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) {
      return Status::Error("corpus " + path + ": no file *.cases below it");
    }
  } else {
    files.push_back(path);
  }
  Corpus corpus;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(verify::CaseFile read,
                     verify::ReadCaseFile(file, verify::Ops()));
    for (verify::CaseFileEntry& entry : read.entries) {
      const auto all = [&](auto&& is) {
        return std::all_of(entry.sequence.begin(), entry.sequence.end(), is);
      };
      if (!all([&](const Case& c) { return verify::OpName(c) == op; })) {
        ++corpus.other_ops;
      } else if (!all([](const Case& c) {
                   return c.expect == verify::Expect::kPass;
                 })) {
        ++corpus.other_ends;
      } else {
        corpus.sequences.push_back(std::move(entry.sequence));
      }
    }
  }
  return corpus;
}

Minimum MinimiseCorpus(const verify::Domain& domain,
                       std::vector<Sequence> sequences,
                       const std::atomic<bool>* stop,
                       const std::function<void(int64_t, int64_t)>& progress) {
  const Minimiser minimiser(domain, stop);
  std::vector<std::pair<std::string, Sequence>> lines;
  for (Sequence& sequence : sequences) {
    std::string line = verify::MinimalLine(sequence);
    lines.emplace_back(std::move(line), std::move(sequence));
  }
  // By length, so that short lines speak first; equal lines are neighbours.
  std::sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.size(), a.first) <
           std::pair(b.first.size(), b.first);
  });
  lines.erase(std::unique(lines.begin(), lines.end(),
                          [](const auto& a, const auto& b) {
                            return a.first == b.first;
                          }),
              lines.end());
  Minimum minimum;
  minimum.offered = static_cast<int64_t>(lines.size());
  minimum.mutants = static_cast<int64_t>(minimiser.mutants());
  // One pass keeps what adds something; only those are measured in full.
  Worth whole;
  std::vector<size_t> useful;
  for (size_t n = 0; n < lines.size() && !minimiser.Stopped(); ++n) {
    const Worth worth = minimiser.WorthOf(lines[n].second, whole);
    if (!worth.empty()) useful.push_back(n);
    whole.insert(worth.begin(), worth.end());
    if (progress) progress(static_cast<int64_t>(n) + 1, minimum.offered);
  }
  std::vector<Worth> worths;
  for (const size_t n : useful) {
    worths.push_back(minimiser.WorthOf(lines[n].second, {}));
  }
  minimum.interrupted = minimiser.Stopped();
  for (const size_t n : Cover(worths, whole)) {
    minimum.lines.push_back(lines[useful[n]].first);
  }
  std::sort(minimum.lines.begin(), minimum.lines.end());
  for (const size_t w : whole) {
    ++(w < minimiser.features() ? minimum.features : minimum.kills);
  }
  return minimum;
}

}  // namespace lockstep::fuzz

// Kernels that are told of each call what it asks for: shared objects,
// programs, Python kernels with a parameter `call`. What they compute is every
// call that they do not refuse.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "fuzz/check/arithmetic.h"
#include "fuzz/check/judging.h"
#include "fuzz/check/look.h"
#include "fuzz/check/screen.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/wire/candidate.h"
#include "verify/identify/identify.h"

namespace lockstep::fuzz::check {
namespace {

using verify::Candidate;

constexpr const char* kAttention = "attention_forward";
constexpr const char* kPlain =
    "q_seg=none kv_seg=none valid_q=sq valid_kv=skv sinklogit=none page=none "
    "alias=none layout=bhsd kvlane=none qlane=none shard=none p=default "
    "order=default split=default scale=default";

// A kernel is asked for each mask with each alignment and each cap.
constexpr const char* kMasks[] = {"full", "causal", "causal&window:5,0",
                                  "window:7,3"};
constexpr const char* kAligned[] = {"tl", "br"};
constexpr const char* kCaps[] = {"none", "50"};

std::string NameOf(const Candidate& candidate, const std::string& spec) {
  for (const verify::Fact& fact : candidate.Introduce().identity) {
    if (fact.name == "name") return fact.value;
  }
  return spec;
}

// The readings that the kernel does not refuse, as values of mask, align, cap.
struct Taken {
  std::vector<std::string> masks, aligns, caps;
  std::string refusal;
};

void Keep(const std::string& value, std::vector<std::string>* list) {
  if (std::find(list->begin(), list->end(), value) == list->end()) {
    list->push_back(value);
  }
}

// Asks for each reading on a small shape. Errors: the kernel cannot be asked.
Result<Taken> TakenBy(const Looked& looked) {
  Taken taken;
  for (const char* mask : kMasks) {
    for (const char* align : kAligned) {
      for (const char* cap : kCaps) {
        if (std::string(mask) == "full" && std::string(align) == "br") continue;
        const std::string& lane = looked.lanes.front();
        const std::string line =
            std::string(kAttention) + " sq=11 skv=13 d=16 lane=" + lane +
            " mask=" + mask + " align=" + align + " cap=" + cap;
        Judging how;
        how.spec = looked.spec;
        how.profile = ProfileOf(ArithmeticsOf(looked, lane).front(), looked);
        how.thorough = false;
        ASSIGN_OR_RETURN(const Answers answers, JudgeLines({line}, how));
        if (answers.totals.skipped > 0) {
          taken.refusal = answers.cases.front().reason;
          continue;
        }
        Keep(mask, &taken.masks);
        Keep(align, &taken.aligns);
        Keep(cap, &taken.caps);
      }
    }
  }
  if (!taken.masks.empty()) return taken;
  return Status::Error(looked.name +
                       " takes no case of check: " + taken.refusal);
}

std::string Bars(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    text += (text.empty() ? "" : "|") + value;
  }
  return text;
}

Status ReadAttention(const Keys& stated, Looked* looked) {
  Keys keys = stated;
  if (stated.empty()) {
    ASSIGN_OR_RETURN(const Taken taken, TakenBy(*looked));
    keys = {{"mask", Bars(taken.masks)},
            {"align", Bars(taken.aligns)},
            {"cap", Bars(taken.caps)}};
    std::vector<std::string> words = {"masks " + Listed(taken.masks)};
    if (taken.caps.size() > 1) words.emplace_back("softcaps");
    if (taken.aligns.size() > 1) words.emplace_back("both alignments");
    looked->computes = "what each call says: " + Listed(words);
    looked->is = "what each call says";
    if (!taken.refusal.empty()) looked->limits.push_back(taken.refusal);
  } else {
    keys.insert({"mask", "full"});
    keys.insert({"align", "tl"});
    keys.insert({"cap", "none"});
    looked->computes = "what each call says";
  }
  const bool scaled = keys.contains("scale");
  for (const auto& [key, value] : keys) {
    looked->where += key + "=" + value + " ";
  }
  const std::string plain = kPlain;
  looked->where += scaled ? plain.substr(0, plain.rfind(' ')) : plain;
  return {};
}

}  // namespace

Result<Looked> LookAtCalls(const std::string& spec, const Keys& stated) {
  ASSIGN_OR_RETURN(const auto candidate, verify::ParseCandidate(spec));
  RETURN_IF_ERROR(candidate->Start());
  const verify::Introduction says = candidate->Introduce();
  Looked looked;
  looked.spec = spec;
  looked.name = NameOf(*candidate, spec);
  looked.place = spec;
  looked.takes_calls = true;
  looked.own_profile = !says.profile.empty();
  if (!says.usual_op.empty()) looked.op = says.usual_op;
  for (const Lane lane : verify::LanesToAsk(*candidate)) {
    looked.lanes.emplace_back(LaneName(lane));
  }
  if (looked.own_profile) {
    ASSIGN_OR_RETURN(const auto own, verify::StatedProfileOf(*candidate));
    if (own.lane) looked.lanes = {LaneName(*own.lane)};
  }
  const bool lse = std::find(says.lacks.begin(), says.lacks.end(), "lse") ==
                   says.lacks.end();
  looked.fields = {"repeat = no", "masked_nan_safe = no", "nan = unspecified",
                   "empty_row = unspecified"};
  if (looked.op == kAttention) {
    looked.lse_base = lse ? "e" : "";
    looked.returns = lse ? "o and lse" : "o";
    RETURN_IF_ERROR(ReadAttention(stated, &looked));
  } else if (!stated.empty()) {
    return Status::Error("--is: " + looked.name + " computes " + looked.op +
                         ", which is told of each call what to compute");
  } else {
    looked.returns = "what " + looked.op + " has";
    looked.computes = looked.op + ", as each call says";
    looked.is = looked.op;
  }
  return looked;
}

}  // namespace lockstep::fuzz::check

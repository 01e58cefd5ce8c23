#include "verify/profile/claims.h"

#include <algorithm>
#include <iterator>

#include "verify/base/nearest_name.h"
#include "verify/profile/fields.h"

namespace lockstep::verify {
namespace {

constexpr ClaimInfo kInfos[] = {
    {"repeat",
     "the same call again has the same bits, at other addresses and after "
     "other calls"},
    {"batch",
     "a batch row, or a packed run, has the same bits alone and among others "
     "of any length"},
    {"padding",
     "more padding behind a sequence, and other values in it, change no bit"},
    {"chunk",
     "a prefill at once and in chunks, each with all that came before it, have "
     "the same bits"},
    {"decode",
     "a position of a prefill and the same position decoded alone have the "
     "same bits"},
    {"heads", "a head has the same bits alone and among others"},
    {"split",
     "the number of splits, threads or workers that the kernel takes changes "
     "no bit"},
};
static_assert(std::size(kInfos) == kClaims);

// Words that will be claims once the judge has pairs for them.
struct FutureClaim {
  const char* name;
  const char* why;
};
constexpr FutureClaim kFuture[] = {
    {"pages", "no op here reads keys in pages"},
    {"merge", "no op here merges parts that were computed apart"},
};

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Why a word is no claim, though it will be; empty: it is no such word.
std::string NotYet(std::string_view word) {
  for (const FutureClaim& future : kFuture) {
    if (word != future.name) continue;
    return std::string("claim '") + future.name +
           "' cannot be judged yet: " + future.why;
  }
  return "";
}

std::string KnownClaims() {
  std::string known;
  for (const ClaimInfo& info : kInfos) {
    known += (known.empty() ? "" : " ") + std::string(info.name);
  }
  return known;
}

// Words between commas; the first that is no claim ends them.
struct ReadClaims {
  ClaimSet claims;
  std::string_view unknown;
  bool good = true;
};
ReadClaims Read(std::string_view text) {
  ReadClaims read;
  const bool all = TrimBlanks(text) == "all";
  for (size_t n = 0; all && n < kClaims; ++n) {
    read.claims.Add(static_cast<Claim>(n));
  }
  if (all || TrimBlanks(text) == "none") return read;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = TrimBlanks(text.substr(0, comma));
    size_t n = 0;
    while (n < kClaims && word != kInfos[n].name) ++n;
    if (n == kClaims) return {{}, word, false};
    read.claims.Add(static_cast<Claim>(n));
    if (comma == text.size()) return read;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::span<const ClaimInfo> ClaimInfos() { return kInfos; }

const char* ClaimName(Claim claim) {
  return kInfos[static_cast<size_t>(claim)].name;
}

std::string ClaimCheck(Claim claim) {
  return std::string("claim_") + ClaimName(claim);
}

Result<ClaimSet> ParseClaims(std::string_view text) {
  const ReadClaims read = Read(text);
  if (read.good) return read.claims;
  const std::string not_yet = NotYet(read.unknown);
  if (!not_yet.empty()) return Status::Error(not_yet);
  return Status::Error("claim '" + std::string(read.unknown) +
                       "' is not known; " +
                       NearestIs(read.unknown, kInfos,
                                 [](const auto& info) { return info.name; }) +
                       "; known: " + KnownClaims() + ", or all, or none");
}

std::string PrintClaims(ClaimSet claims) {
  std::string text;
  for (size_t n = 0; n < kClaims; ++n) {
    if (!claims.Has(static_cast<Claim>(n))) continue;
    text += (text.empty() ? "" : ", ") + std::string(kInfos[n].name);
  }
  return text.empty() ? "none" : text;
}

ProfileField ClaimsField() {
  return {"claims",
          [](const NumericProfile& p) {
            return p.claims.Empty() ? "" : PrintClaims(p.claims);
          },
          [](std::string_view text, NumericProfile* p) -> std::string {
            const ReadClaims read = Read(text);
            p->claims = read.claims;
            if (read.good) return "";
            // Of a file no other word is shown: it may be no profile.
            const std::string not_yet = NotYet(read.unknown);
            return "some of " + KnownClaims() +
                   " with commas between, or all, or none" +
                   (not_yet.empty() ? "" : "; " + not_yet);
          }};
}

}  // namespace lockstep::verify

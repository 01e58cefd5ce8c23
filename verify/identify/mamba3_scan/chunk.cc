#include "verify/identify/mamba3_scan/chunk.h"

#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/identify/mamba3_scan/learned_chunks.h"

namespace lockstep::verify {
namespace {

constexpr size_t kPairs = 8;
// About one pair in two rounds otherwise than its sum.
constexpr size_t kDrawn = 48;

constexpr double kLarge = 0x1p13, kSmall = 0x1p-12;
// The small term stands before, between and behind the two others.
constexpr double kOrders[][3] = {
    {kSmall, kLarge, -kLarge}, {kLarge, kSmall, -kLarge},
    {kLarge, -kLarge, kSmall}, {kSmall, -kLarge, kLarge},
    {-kLarge, kSmall, kLarge}, {-kLarge, kLarge, kSmall}};

const double* OrderOf(int64_t column) {
  return kOrders[static_cast<size_t>(column) % std::size(kOrders)];
}

// Two decays that a product rounds otherwise than the exp of their sum.
struct ToldPair {
  double a = 0, b = 0;
  Numbers product;  // by answer
};

// Numbers of 12 bits, whose sums are exact in every order.
Result<std::vector<ToldPair>> ToldPairs(const ChunkQuestions& ask) {
  const auto drawn = Doubles(DrawnNumbers(2 * kDrawn, 12, 371));
  std::vector<TwoDecays> firsts, seconds, sums;
  for (size_t i = 0; i < kDrawn; ++i) {
    const double a = -drawn[2 * i], b = -drawn[2 * i + 1];
    firsts.push_back({0, 1, a, 0});
    seconds.push_back({0, 1, b, 0});
    sums.push_back({0, 1, a + b, 0});
  }
  ASSIGN_OR_RETURN(const auto first, ask.decays(firsts, 3));
  ASSIGN_OR_RETURN(const auto second, ask.decays(seconds, 3));
  ASSIGN_OR_RETURN(const auto sum, ask.decays(sums, 3));
  std::vector<ToldPair> told;
  for (size_t i = 0; i < kDrawn; ++i) {
    ToldPair pair = {firsts[i].a, seconds[i].a, {}};
    bool differs = true;
    for (size_t n = 0; n < first.size(); ++n) {
      const auto product =
          static_cast<float>(first[n][i]) * static_cast<float>(second[n][i]);
      pair.product.push_back(double{product});
      differs = differs && pair.product.back() != sum[n][i];
    }
    if (differs) told.push_back(std::move(pair));
  }
  return told;
}

// What two decays that far apart came to, wherever they stood.
enum class Decayed : uint8_t {
  kProduct,  // of two exps, bit by bit
  kNear,     // it, up to roundings: an exp of a sum
  kOther     // no chunk's
};
// Of roundings, and of three exps, whose errors are 2^-16 at most where they
// are legal (AskDecay).
constexpr double kNearTo = 0x1p-14;

Result<Decayed> DecayedBy(const ChunkQuestions& ask,
                          const std::vector<ToldPair>& pairs, int64_t apart) {
  std::vector<TwoDecays> decays;
  for (size_t i = 0; i < kPairs; ++i) {
    const int64_t place = i % 2 == 0 ? 0 : apart - 1;
    decays.push_back({place, place + apart, pairs[i].a, pairs[i].b});
  }
  ASSIGN_OR_RETURN(const auto came, ask.decays(decays, 2 * apart + 1));
  bool equal = true, near = true;
  for (size_t n = 0; n < came.size(); ++n) {
    for (size_t i = 0; i < kPairs; ++i) {
      const double x = came[n][i], product = pairs[i].product[n];
      equal = equal && x == product;
      near = near && std::fabs(x - product) <= kNearTo * product;
    }
  }
  return equal ? Decayed::kProduct : near ? Decayed::kNear : Decayed::kOther;
}

}  // namespace

ScanElement DecaysOf(const std::vector<TwoDecays>& of_heads) {
  return [of_heads](int64_t h, int64_t t, int64_t) {
    const TwoDecays& two = of_heads[static_cast<size_t>(h)];
    return t == two.first ? two.a : t == two.second ? two.b : 0.0;
  };
}

ScanElement ThreeTerms(int64_t apart) {
  return [apart](int64_t, int64_t t, int64_t c) {
    if (t % apart != 0 || t > 2 * apart) return 0.0;
    return OrderOf(c)[static_cast<size_t>(t / apart)];
  };
}

double LeftOfThree(int64_t column, bool ascending) {
  const double last = OrderOf(column)[ascending ? 2 : 0];
  return last == kSmall ? kSmall : 0;
}

int64_t TokensOfThree(int64_t apart) { return 2 * apart + 2; }

void LearnChunk(ScanAsker* kernel, const ChunkQuestions& ask) {
  const auto assume = [kernel](const std::string& why) {
    kernel->Say("scan.chunk", Word::kAssumed, why);
  };
  if (kernel->lane() != Lane::kF32) {
    return assume("16-bit tensors do not show what a token reads of another");
  }
  const auto pairs = ToldPairs(ask);
  if (!pairs.ok()) return assume(pairs.message());
  if (pairs->size() < kPairs) {
    return assume("decays are too coarse to tell a product from their sum");
  }
  for (const int64_t chunk : kLearnedChunks) {
    const auto decayed = DecayedBy(ask, pairs.value(), chunk);
    if (!decayed.ok()) return assume(decayed.message());
    if (decayed.value() == Decayed::kOther) {
      kernel->scan().chunk = kLearnedChunks[0];
      return kernel->Say("scan.chunk", Word::kCannotTell,
                         "two decays were neither a product of two exps nor "
                         "the exp of a sum");
    }
    if (decayed.value() == Decayed::kNear) continue;
    const auto by_state = ask.by_state(chunk);
    if (!by_state.ok()) return assume(by_state.message());
    if (!by_state.value()) continue;
    kernel->scan().chunk = chunk;
    return kernel->Say(
        "scan.chunk", Word::kSeen,
        Format("decays of tokens %lld apart were products of two exps, and "
               "such tokens met by the state alone",
               static_cast<long long>(chunk)));
  }
  assume("tokens 256 apart did not meet by the state alone");
}

}  // namespace lockstep::verify

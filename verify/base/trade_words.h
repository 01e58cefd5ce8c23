// What people of the trade type for what has another name here: `dtype`,
// `softcap`, `window_size`, `sdpa`. A neighbour by letters would mislead.
#ifndef LOCKSTEP_VERIFY_BASE_TRADE_WORDS_H_
#define LOCKSTEP_VERIFY_BASE_TRADE_WORDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::verify {

enum class WordFor : uint8_t {
  kOp,
  kKey,  // of a case line
  kMaskTerm,
  kLane,  // a number type
  kProfile,
  kVerb,
  kOption,
};

struct TradeWord {
  WordFor place;
  const char* words;    // lower case, '_' for '-', with spaces between
  const char* nearest;  // the name here, "mask=causal"; empty: there is none
  const char* hint;     // how it is written, or why there is none; may be empty
};

// "nearest is 'lane' (lane=f32 or lane=bf16)", or why there is no such thing;
// empty: the word is not in the table. A row whose name is not among `known`
// does not count: keys differ from op to op. No names: every row counts.
std::string InTrade(WordFor place, std::string_view word,
                    std::span<const std::string_view> known = {});

// The same, or `otherwise` where the table says nothing.
inline std::string InTradeOr(WordFor place, std::string_view word,
                             const std::string& otherwise) {
  const std::string known = InTrade(place, word);
  return known.empty() ? otherwise : known;
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_TRADE_WORDS_H_

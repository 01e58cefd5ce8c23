// How long a chunk is: two decays within one are the exp of their sum, and two
// of different chunks are a product.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_CHUNK_H_
#define LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_CHUNK_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "verify/identify/mamba3_scan/scan_asker.h"

namespace lockstep::verify {

// The decays of one head: e^a at `first`, e^b at `second`, 1 at every other
// token. The last token of a question decays nothing.
struct TwoDecays {
  int64_t first = 0, second = 0;
  double a = 0, b = 0;
};
// `a` by head and token.
ScanElement DecaysOf(const std::vector<TwoDecays>& of_heads);

// Three terms of a sum over tokens, `apart` tokens from each other: a large
// number, its negative and a small one that is lost beside them. Every column
// has them in another order.
ScanElement ThreeTerms(int64_t apart);
// What is left of that column where tokens are added one after the other.
// `ascending`: the first token first.
double LeftOfThree(int64_t column, bool ascending);
// Tokens of a question with these terms; a last one has none.
int64_t TokensOfThree(int64_t apart);

// How to ask a kernel.
struct ChunkQuestions {
  // What is left of 1 behind the decays of each head; each answer of a kernel
  // that has two such numbers, such as a state and its cotangent.
  std::function<Result<std::vector<Numbers>>(
      const std::vector<TwoDecays>& of_heads, int64_t tokens)>
      decays;
  // Whether sums over tokens that far apart were added in the order of tokens,
  // and whether the later one reads of the earlier what the state has, bit by
  // bit: within a chunk it may be a product with the score of the two.
  std::function<Result<bool>(int64_t apart)> by_state;
};
// Learns scan.chunk of f32 tensors, or keeps the base's.
void LearnChunk(ScanAsker* kernel, const ChunkQuestions& ask);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_CHUNK_H_

// Parts of the domain of attention_forward: lengths, masks, payload.
#ifndef LOCKSTEP_VERIFY_DOMAIN_ATTENTION_FORWARD_PARTS_H_
#define LOCKSTEP_VERIFY_DOMAIN_ATTENTION_FORWARD_PARTS_H_

#include <cstdint>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/domain.h"

namespace lockstep::verify {

// Mostly below 18, often one off a multiple of the tile edge.
int64_t DrawLength(Draw* draw, int64_t edge);
// mask, head masks, dense sources, alignment. Requires: the shape is drawn.
void DrawMasks(Draw* draw, const DomainOptions& options,
               AttentionForwardCase* c);
// Segments and valid counts.
void DrawPayload(Draw* draw, const DomainOptions& options,
                 AttentionForwardCase* c);

// attention_forward/sizes.cc: multiply-adds of a case, dense masks counted like
// a product.
int64_t WorkOf(const AttentionForwardCase& c);
// Another length of queries or of keys; runs are cut off or end early, counts
// of all tokens stay counts of all.
void SetLength(bool q, int64_t length, AttentionForwardCase* c);
// Fewer batch rows: the first ones. Fewer heads: the first ones.
void SetBatch(int64_t batch, AttentionForwardCase* c);
void SetHeads(int64_t q_heads, int64_t kv_heads, AttentionForwardCase* c);
// Other channels; a scale that is that of the channels follows them.
void SetChannels(int64_t d, int64_t dv, AttentionForwardCase* c);
// Half of the products of bf16 get order=amx. Each call of a sequence has its
// own order, since panels that one order has packed may be left to the other.
std::vector<Case> WithOrders(Draw* draw, std::vector<Case> sequence);
// Now and then the head sizes of real models, and a long axis.
std::vector<Case> WithSizes(Draw* draw, std::vector<Case> sequence);
// attention_forward/far.cc: now and then one of q, k, v and o reaches over 2^31
// elements.
std::vector<Case> WithFar(Draw* draw, std::vector<Case> sequence);
// attention_forward/paged.cc: now and then keys lie in pages.
std::vector<Case> WithPages(Draw* draw, std::vector<Case> sequence);
// attention_forward/varlen.cc: now and then a batch is ragged.
std::vector<Case> WithVarlen(Draw* draw, std::vector<Case> sequence);
// attention_forward/alias.cc: now and then v lies in k.
std::vector<Case> WithAlias(Draw* draw, std::vector<Case> sequence);
// attention_forward/fp8.cc: now and then k and v are in fp8.
std::vector<Case> WithFp8(Draw* draw, std::vector<Case> sequence);
// Half of these have q in fp8, too.
std::vector<Case> WithFp8Queries(Draw* draw, std::vector<Case> sequence);
// attention_forward/lists.cc: now and then the mask has a term of index lists.
std::vector<Case> WithLists(Draw* draw, std::vector<Case> sequence);

// attention_forward/paged.cc: pools with strides of their own.
std::vector<Case> WithPoolStrides(Draw* draw, std::vector<Case> sequence);
// attention_forward/served.cc: shapes that people serve, and train.
std::vector<Case> WithServedForward(Draw* draw, const DomainOptions& options,
                                    std::vector<Case> sequence);
std::vector<Case> WithServedBackward(Draw* draw, const DomainOptions& options,
                                     std::vector<Case> sequence);

// attention_forward/range.cc: numbers that the lanes hold, gradients' too.
void KeepInRange(Case* c);

// attention_forward/alias.cc: v in k has no numbers of its own, so terms of v
// alone have nothing to fill.
void DropValueTerms(AttentionForwardCase* a);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_ATTENTION_FORWARD_PARTS_H_

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
// Another length of queries or of keys; runs are cut off or end early, counts
// of all tokens stay counts of all.
void SetLength(bool q, int64_t length, AttentionForwardCase* c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_ATTENTION_FORWARD_PARTS_H_

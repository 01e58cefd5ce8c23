#include "verify/emulator/mutants_claims.h"

#include "verify/base/mixing.h"
#include "verify/emulator/catalogue.h"

namespace lockstep::verify {
namespace {

using Scene = ClaimScene;

// One call in four, by a hash of its number.
bool OneInFour(const Scene& s) {
  return Mix(static_cast<uint64_t>(s.call)) % 4 == 0;
}

constexpr const char* kPrefill =
    "attention_forward hq=2 hkv=2 sq=24 skv=24 d=8 mask=causal";
constexpr const char* kGradient =
    "attention_backward hq=2 hkv=2 sq=12 skv=12 d=8 mask=causal";
constexpr const char* kScan = "mamba3_scan h=2 g=2 t=24 n=4 p=4 s=2";
constexpr const char* kScanGradient =
    "mamba3_scan_backward h=2 g=2 t=12 n=4 p=4 s=2";

constexpr ClaimBug kBugs[] = {
    {"claim.split_by_batch", Claim::kBatch, "chunk",
     "small batches split their keys in three", "cpu", "cpu-split3",
     [](const Scene& s) { return s.batch < 4; }, kPrefill},
    {"claim.split_by_work", Claim::kBatch, "padding, chunk, decode, heads",
     "keys are split in three where rows and heads leave cores idle", "cpu",
     "cpu-split3",
     [](const Scene& s) { return s.batch * s.heads * s.queries < 64; },
     kPrefill},
    {"claim.ragged_path", Claim::kBatch, "none",
     "rows of several lengths are computed by another kernel", "cpu",
     "cpu-tile128", [](const Scene& s) { return s.shortest != s.longest; },
     kPrefill},
    {"claim.tile_of_longest_row", Claim::kBatch, "chunk, decode",
     "the tile follows from the longest row of the batch", "cpu", "cpu-tile128",
     [](const Scene& s) { return s.longest > 12; }, kPrefill},
    {"claim.split_by_heads", Claim::kHeads, "none",
     "few heads split their keys in three", "cpu", "cpu-split3",
     [](const Scene& s) { return s.heads < 4; },
     "attention_forward hq=4 hkv=4 sq=24 skv=24 d=8 mask=causal"},
    {"claim.lanes_by_heads", Claim::kHeads, "none",
     "an even number of heads adds in eight lanes", "cpu", "cpu-lanes",
     [](const Scene& s) { return s.heads % 2 == 0; }, kPrefill},
    {"claim.tile_of_padded_length", Claim::kPadding, "chunk, decode",
     "the tile follows from the padded length", "cpu", "cpu-tile128",
     [](const Scene& s) { return s.keys > 20; }, kPrefill},
    {"claim.padding_in_maximum", Claim::kPadding, "none",
     "keys of the padding count in the maximum that is subtracted", "cpu",
     "cpu", [](const Scene&) { return true; }, kPrefill, true},
    {"claim.padded_path", Claim::kPadding, "batch",
     "calls with padding are computed by another kernel", "cpu", "cpu-l-lanes",
     [](const Scene& s) { return s.longest != s.keys; }, kPrefill},
    {"claim.decode_path", Claim::kDecode, "chunk",
     "a call of one query adds in eight lanes", "cpu", "cpu-lanes",
     [](const Scene& s) { return s.queries == 1; }, kPrefill},
    {"claim.decode_exp", Claim::kDecode, "chunk",
     "few queries take another exp", "cpu-exp-zero", "cpu",
     [](const Scene& s) { return s.queries <= 8; }, kPrefill},
    {"claim.chunk_descends", Claim::kChunk, "decode",
     "a chunk goes through its keys from the last to the first", "cpu",
     "cpu-descending", [](const Scene& s) { return s.queries < s.keys; },
     kPrefill},
    {"claim.long_prefill", Claim::kChunk, "decode",
     "more than 16 queries take wider tiles", "cpu", "cpu-tile128",
     [](const Scene& s) { return s.queries > 16; }, kPrefill},
    {"claim.splits_as_asked", Claim::kSplit, "none",
     "the keys are cut into the parts that were asked for", "cpu", "cpu-split3",
     [](const Scene& s) { return s.splits > 1; }, kPrefill},
    {"claim.merged_by_arrival", Claim::kRepeat, "none",
     "parts are merged as they arrive: one call in four differs", "cpu",
     "cpu-split3", &OneInFour, kPrefill},
    {"claim.stale_workspace", Claim::kRepeat, "none",
     "a call behind a longer one finds its parts in the workspace", "cpu",
     "cpu-split3", [](const Scene& s) { return s.keys_before > s.keys; },
     kPrefill},
    {"claim.grad_parts_by_batch", Claim::kBatch, "padding",
     "gradients of small batches are summed in parts", "grad-cpu",
     "grad-cpu-split3", [](const Scene& s) { return s.batch < 4; }, kGradient},
    {"claim.grad_order_by_heads", Claim::kHeads, "none",
     "few heads walk their tiles backwards", "grad-cpu", "grad-cpu-descending",
     [](const Scene& s) { return s.heads < 2; }, kGradient},
    {"claim.grad_parts_by_padding", Claim::kPadding, "none",
     "gradients of padded lengths are summed in parts", "grad-cpu",
     "grad-cpu-split3", [](const Scene& s) { return s.keys > 20; }, kGradient},
    {"claim.grad_dq_by_arrival", Claim::kRepeat, "none",
     "dq is summed as tiles arrive: one call in four differs", "grad-cpu",
     "grad-cpu-descending", &OneInFour, kGradient},
    {"claim.scan_chunk_by_length", Claim::kChunk, "batch, padding, decode",
     "long calls are computed in chunks", "scan-recurrent-turns", "scan-turns",
     [](const Scene& s) { return s.keys > 20; }, kScan},
    {"claim.scan_whole_chunks", Claim::kPadding, "batch, chunk, decode",
     "lengths of whole chunks are computed in chunks", "scan-recurrent-turns",
     "scan-turns", [](const Scene& s) { return s.keys % 5 == 0; }, kScan},
    {"claim.scan_carry_path", Claim::kChunk, "decode",
     "a call that goes on from a carry takes chunks", "scan-recurrent-turns",
     "scan-turns", [](const Scene& s) { return s.carry; }, kScan},
    {"claim.scan_step_path", Claim::kDecode, "none",
     "steps are computed in chunks", "scan-recurrent-turns", "scan-turns",
     [](const Scene& s) { return s.steps; }, kScan},
    {"claim.scan_chunk_by_batch", Claim::kBatch, "none",
     "large batches are computed in chunks", "scan-recurrent-turns",
     "scan-turns", [](const Scene& s) { return s.batch > 5; }, kScan},
    {"claim.scan_packed_path", Claim::kBatch, "none",
     "packed runs are computed in chunks", "scan-recurrent-turns", "scan-turns",
     [](const Scene& s) { return s.runs > 1; }, kScan},
    {"claim.scan_chunk_by_heads", Claim::kHeads, "none",
     "few heads are computed in chunks", "scan-recurrent-turns", "scan-turns",
     [](const Scene& s) { return s.heads < 2; }, kScan},
    {"claim.scan_grad_by_batch", Claim::kBatch, "none",
     "gradients of small batches are summed in parts", "scan-grad-run-grid",
     "scan-grad-split", [](const Scene& s) { return s.batch < 3; },
     kScanGradient},
};

}  // namespace

std::string ClaimBug::op() const { return OpOfPattern(pattern); }

std::span<const ClaimBug> ClaimBugs() { return kBugs; }

Result<const ClaimBug*> FindClaimBug(std::string_view name) {
  return FindBug(ClaimBugs(), name);
}

}  // namespace lockstep::verify

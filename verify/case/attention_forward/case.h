// What an attention_forward case says, as a value. Keys: docs/cases.md.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_CASE_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_CASE_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"
#include "reference/contract/tensor_view.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// Order of the axes in memory; all are views of [batch, head, position,
// channel]. kThd is packed tokens: [batch * position, head, channel]. kVarlen
// is kThd without absent positions: a kernel gets a ragged batch.
enum class Layout : uint8_t { kBhsd, kBshd, kThd, kVarlen };

// Where the bits of a dense mask term come from.
struct DenseSource {
  enum class Kind : uint8_t {
    kFile,    // dense:PATH[#DIGEST]: tensor dense_mask of a safetensors file
    kRandom,  // random:DENSITY: every element on its own, per row and head
    kBlocks,  // blocks:BQxBK:DENSITY: whole blocks, one pattern for all
    // blocks:BQxBK:file:PATH[#DIGEST]: tensor block_mask, an element a block
    kBlockFile,
    kIndex,  // index:K[:DIST]: the keys of a list for each query and kv head
    kIndexFile,  // index:K:file:PATH[#DIGEST]: tensor indices
  };
  // How the keys of a list are drawn, from all keys or from near ones.
  enum class ListDraw : uint8_t { kUniform, kAscending, kRecent };
  Kind kind = Kind::kRandom;
  std::string path;
  std::string digest;  // empty: not pinned
  int64_t block_q = 0;
  int64_t block_k = 0;
  Number density;
  int64_t entries = 0;  // of a list
  ListDraw draw = ListDraw::kUniform;
  bool listed() const {
    return kind == Kind::kIndex || kind == Kind::kIndexFile;
  }
  bool from_file() const {
    return kind == Kind::kFile || kind == Kind::kBlockFile ||
           kind == Kind::kIndexFile;
  }
  friend bool operator==(const DenseSource&, const DenseSource&) = default;
};

// Memory strides of the lane tensors, in elements, axes [b, h, s, d];
// absent: dense in the case's layout.
struct StrideOverrides {
  std::optional<std::array<int64_t, 4>> q, k, v, o;
  friend bool operator==(const StrideOverrides&,
                         const StrideOverrides&) = default;
};

// Keys and values in pages of a pool (reference/contract/attention_pages.h).
struct PagedKeys {
  int64_t size = 0;    // keys of a page; 0: they lie together
  bool nhd = false;    // a page is [size, hkv, d] in memory, not [hkv, size, d]
  int64_t shared = 0;  // first pages of every batch row that are the same ones
  // Of a table of one's own: pages of the pool, tensor page_table of a file.
  int64_t pool = 0;
  std::string path;
  std::string digest;  // empty: not pinned
  bool any() const { return size > 0; }
  bool from_file() const { return !path.empty(); }
  // Such pages where they are drawn, and no row shares one.
  PagedKeys Drawn() const {
    PagedKeys drawn;
    drawn.size = size;
    drawn.nhd = nhd;
    return drawn;
  }
  friend bool operator==(const PagedKeys&, const PagedKeys&) = default;
};

// Scales of keys, values or queries in fp8
// (reference/contract/key_scales.h).
struct ScaleSpec {
  KeyScales layout;
  FillTerm values;  // const or uniform
  bool any() const { return layout.any(); }
  friend bool operator==(const ScaleSpec&, const ScaleSpec&) = default;
};
// The middle of the scales' range; 1 without scales.
double TypicalScale(const ScaleSpec& spec);
// One scale per tensor.
ScaleSpec ConstantScales(double scale);

struct AttentionForwardCase : OpValuesAs<AttentionForwardCase> {
  int64_t batch = 1;
  int64_t q_heads = 1;
  int64_t kv_heads = 1;
  int64_t q_len = 1;
  int64_t kv_len = 1;
  int64_t head_dim = 1;
  int64_t value_dim = 1;
  Lane lane = Lane::kF32;
  Lane p_lane = Lane::kF32;
  ProductOrder order = ProductOrder::kChain;
  int64_t split = 1;            // parts of the key axis (N22)
  std::optional<Lane> kv_lane;  // fp8 of k and v (N25)
  ScaleSpec k_scale, v_scale;
  std::optional<Lane> q_lane;  // fp8 of q, with kv_lane
  ScaleSpec q_scale;
  Number scale{1.0};
  std::optional<Number> softcap;
  MaskExpr mask;                          // of every head without its own
  std::map<int64_t, MaskExpr> head_mask;  // mask.hN
  // By dense index: order of appearance in mask, then in head_mask.
  std::vector<DenseSource> dense;
  Alignment align;
  Segments q_seg;
  Segments kv_seg;
  std::vector<int64_t> valid_q;   // one count for all rows, or one per row
  std::vector<int64_t> valid_kv;  // never empty
  Layout layout = Layout::kBhsd;
  StrideOverrides strides;  // with pages, k's and v's are those of the pool:
                            // [page, h, slot, d]
  PagedKeys page;
  // alias=v_in_k:DV: v is the first v_in_k channels of k; 0: v has own memory.
  int64_t v_in_k = 0;
  std::vector<FillTerm> fill = {FillTerm{FillKind::kNormal, kFillAll, {1.0}}};
  std::optional<FillTerm> sinklogit;
  friend bool operator==(const AttentionForwardCase&,
                         const AttentionForwardCase&) = default;
};

// The probe whose inputs the case has, if any.
std::optional<ProbeKind> ProbeOf(const AttentionForwardCase& c);

// The static problem. Requires: ValidateCase passes for a meaningful one.
AttentionForwardProblem ToProblem(const AttentionForwardCase& c);

// Strides of one lane tensor [b, h, s, d] in a layout, dense.
std::array<int64_t, 4> LayoutStrides(Layout layout,
                                     const std::array<int64_t, 4>& shape);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_CASE_H_

// A case: everything that decides one verification, as a value, and its text.
// Grammar, defaults and examples: docs/cases.md.
#ifndef LOCKSTEP_VERIFY_CASE_H_
#define LOCKSTEP_VERIFY_CASE_H_

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/mask.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/probe_kind.h"

namespace lockstep::verify {

// A real number of a case line; compared by bits, so that NaN equals NaN and
// a case equals itself.
struct Number {
  double value = 0;
  friend bool operator==(Number a, Number b) {
    return std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value);
  }
};

// What the author of the case claims.
enum class Expect : uint8_t { kPass, kFail, kVacuous, kRefuse };

// Order of the axes in memory; all are views of [batch, head, position,
// channel]. kThd is packed tokens: [batch * position, head, channel].
enum class Layout : uint8_t { kBhsd, kBshd, kThd };

// Where the bits of a dense mask term come from.
struct DenseSource {
  enum class Kind : uint8_t {
    kFile,    // dense:PATH[#DIGEST]: tensor dense_mask of a safetensors file
    kRandom,  // random:DENSITY: every element on its own, per row and head
    kBlocks,  // blocks:BQxBK:DENSITY: whole blocks, one pattern for all
  };
  Kind kind = Kind::kRandom;
  std::string path;
  std::string digest;  // empty: not pinned
  int64_t block_q = 0;
  int64_t block_k = 0;
  Number density;
  friend bool operator==(const DenseSource&, const DenseSource&) = default;
};

// Consecutive positions with one segment id.
struct SegmentRun {
  int32_t id = 0;
  int64_t length = 0;
  friend bool operator==(const SegmentRun&, const SegmentRun&) = default;
};

// Segment ids of one side.
struct Segments {
  enum class Kind : uint8_t { kNone, kRuns, kFile };
  Kind kind = Kind::kNone;
  // kRuns: one list for every batch row, or one per batch row. Neighbouring
  // runs of one list have different ids.
  std::vector<std::vector<SegmentRun>> rows;
  friend bool operator==(const Segments&, const Segments&) = default;
};

// The families of input values: distributions first, then modifiers, which
// change part of what a distribution (or a file) gave. FillFamilies() says
// what each does.
enum class FillKind : uint8_t {
  kNormal,
  kUniform,
  kConst,
  kInt,
  kOneHot,
  kSignature,
  kFile,
  kSpread,
  kRamp,
  kSubnormal,
  kTiny,
  kHuge,
  kZero,
  kSpecial,
  kPoison,
  kProbe,  // a distribution
  kSigns,  // appended: streams count the families before it
};

// Tensors that a fill term applies to: bits, may be combined.
inline constexpr uint8_t kFillQ = 1;
inline constexpr uint8_t kFillK = 2;
inline constexpr uint8_t kFillV = 4;
inline constexpr uint8_t kFillAll = 7;

struct FillTerm {
  FillKind kind = FillKind::kNormal;
  uint8_t tensors = kFillAll;
  Number a{};  // first and second argument, where the family has them
  Number b{};
  std::string path{};    // kFile
  std::string digest{};  // kFile
  ProbeKind probe{};     // kProbe
  friend bool operator==(const FillTerm&, const FillTerm&) = default;
};

// One row of `lockstep list families`.
struct FillFamily {
  FillKind kind;
  const char* name;
  const char* arguments;  // as written after the colon; "" if there are none
  int numbers;            // how many numbers the arguments hold
  bool modifier;
  const char* description;
};
std::span<const FillFamily> FillFamilies();
const FillFamily& FamilyOf(FillKind kind);

// Memory strides of the lane tensors, in elements, axes [b, h, s, d];
// absent: dense in the case's layout.
struct StrideOverrides {
  std::optional<std::array<int64_t, 4>> q, k, v, o;
  friend bool operator==(const StrideOverrides&,
                         const StrideOverrides&) = default;
};

struct AttentionForwardCase {
  int64_t batch = 1;
  int64_t q_heads = 1;
  int64_t kv_heads = 1;
  int64_t q_len = 1;
  int64_t kv_len = 1;
  int64_t head_dim = 1;
  int64_t value_dim = 1;
  Lane lane = Lane::kF32;
  Lane p_lane = Lane::kF32;
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
  StrideOverrides strides;
  std::vector<FillTerm> fill = {FillTerm{FillKind::kNormal, kFillAll, {1.0}}};
  std::optional<FillTerm> sinklogit;
  friend bool operator==(const AttentionForwardCase&,
                         const AttentionForwardCase&) = default;
};

// Step sizes, decays and mixing weights of a scan: what one regime shows,
// another hides. Numbers: docs/cases.md.
enum class ScanRegime : uint8_t { kTypical, kShort, kLong, kStrong };

// Order of the axes in memory; all are views in the contract's order.
enum class ScanLayout : uint8_t {
  kBthp,  // rows, tokens, heads; a, dt and tau with time last
  kBhtp,  // rows, heads, tokens; a, dt and tau with heads last
};

struct Mamba3ScanCase {
  // Its runs, carry_in and norm_epsilon follow from the fields below.
  Mamba3ScanProblem problem;
  Segments seg;
  std::vector<int64_t> cu;  // cu_seqlens; empty: none
  std::string carry;        // parts of the initial one: "thkv", some, or none
  ScanLayout layout = ScanLayout::kBthp;
  int64_t pad = 0;  // elements between neighbouring innermost rows
  ScanRegime regime = ScanRegime::kTypical;
  // Absent: what the regime says.
  std::optional<FillTerm> a, dt, tau, rate;
  std::vector<FillTerm> fill = {FillTerm{FillKind::kNormal, kFillAll, {1.0}}};
  std::optional<Number> norm;     // epsilon of the output norm
  std::optional<int64_t> poison;  // a run that holds NaN and infinities
  friend bool operator==(const Mamba3ScanCase&,
                         const Mamba3ScanCase&) = default;
};

// The same problem, decoded token by token, from carry to carry.
struct Mamba3StepCase : Mamba3ScanCase {
  friend bool operator==(const Mamba3StepCase&,
                         const Mamba3StepCase&) = default;
};

// How tables of block-sparse kernels are laid out: verify/dialects.
enum class PlanDialect : uint8_t { kShrunk, kSplash, kFlatList, kBlockMask };

// The tables that a planner makes from the masks of one batch row. Of the
// attention case only masks, lengths, heads, ids and counts say something.
struct BlockPlanCase : AttentionForwardCase {
  int64_t tile_q = 256;
  int64_t tile_k = 256;
  PlanDialect dialect = PlanDialect::kShrunk;
  bool blocks = true;    // element masks are stored, not computed
  bool padded = false;   // ragged tiles are never full
  bool segments = true;  // the tables account for the segment ids
  int64_t width = 0;     // steps the tables have room for; 0: as needed
  int64_t width_t = 0;
  int64_t q_shards = 1;
  int64_t kv_shards = 1;
  int64_t slack = 0;  // empty tiles that may be visited
  friend bool operator==(const BlockPlanCase&, const BlockPlanCase&) = default;
};

struct Case {
  // One alternative per op.
  std::variant<AttentionForwardCase, Mamba3ScanCase, Mamba3StepCase,
               BlockPlanCase>
      op;
  uint64_t gen = 1;   // version of the input generator
  uint64_t seed = 0;  // of every random number of the case
  Expect expect = Expect::kPass;

  // Of a block_plan case, its masks and payload.
  const AttentionForwardCase& attention_forward() const {
    const auto* plan = std::get_if<BlockPlanCase>(&op);
    return plan != nullptr ? *plan : std::get<AttentionForwardCase>(op);
  }
  const BlockPlanCase& block_plan() const {
    return std::get<BlockPlanCase>(op);
  }
  // The scan that a mamba3_scan or mamba3_step case asks for.
  const Mamba3ScanCase& scan() const {
    const auto* step = std::get_if<Mamba3StepCase>(&op);
    return step != nullptr ? *step : std::get<Mamba3ScanCase>(op);
  }
  friend bool operator==(const Case&, const Case&) = default;
};

// The input generator this library has; older ones stay when it grows.
inline constexpr uint64_t kGenerator = 1;

// Longest case line accepted, in bytes.
inline constexpr size_t kMaxCaseLine = size_t{1} << 20;

// One case. Errors: one line with the column and what would be right. Only
// the grammar is judged here: a parsed case may still have no meaning (see
// ValidateCase), so that `expect=refuse` can be written.
Result<Case> ParseCase(std::string_view line);

// The probe whose inputs the case has, if any.
std::optional<ProbeKind> ProbeOf(const AttentionForwardCase& c);

// `A ;; B ;; ...`: a call sequence, one or more cases.
Result<std::vector<Case>> ParseCaseSequence(std::string_view line);

// Every key in a fixed order; inverse of ParseCase.
std::string CanonicalLine(const Case& c);
// Only what differs from the defaults; inverse of ParseCase.
std::string MinimalLine(const Case& c);
// The same for call sequences.
std::string CanonicalLine(std::span<const Case> sequence);
std::string MinimalLine(std::span<const Case> sequence);

// "attention_forward".
const char* OpName(const Case& c);

// What the contract's Validate refuses, and what only a case can get wrong:
// segment lengths, valid counts, strides, head numbers, generator version.
// Allocates nothing that grows with the extents. Reads no file.
Status ValidateCase(const Case& c);

// The static problem. Requires: ValidateCase(c).ok() for a meaningful one.
AttentionForwardProblem ToProblem(const AttentionForwardCase& c);
Mamba3ScanProblem ToProblem(const Mamba3ScanCase& c);

// Whether files stand behind the case's tensors.
bool NamesFiles(const Case& c);

// Strides of one lane tensor [b, h, s, d] in a layout, dense.
std::array<int64_t, 4> LayoutStrides(Layout layout,
                                     const std::array<int64_t, 4>& shape);

// Memory of inputs and outputs in bytes, strides and dense masks counted, once
// each. Saturates at INT64_MAX. Requires: nothing.
int64_t EstimateBytes(const Case& c);

// Names for `lockstep list ops` and for error messages.
struct OpInfo {
  const char* name;
  const char* description;
};
std::span<const OpInfo> KnownOps();

const char* ExpectName(Expect expect);
const char* LayoutName(Layout layout);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_H_

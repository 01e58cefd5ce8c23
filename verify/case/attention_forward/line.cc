#include "verify/case/attention_forward/line.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/pages.h"
#include "verify/case/attention_forward/scales.h"
#include "verify/case/block_plan.h"
#include "verify/case/fill.h"
#include "verify/case/keys.h"
#include "verify/case/lists.h"
#include "verify/case/mask_text.h"

namespace lockstep::verify {
namespace {

using Af = AttentionForwardCase;

// block_plan has the keys of masks and payload, too.
Af& Get(Case& c) { return c.Get<Af>(); }
const Af& Get(const Case& c) { return c.Get<AttentionForwardCase>(); }

constexpr std::string_view kOrders[] = {"chain", "amx", "ampere", "hopper"};
constexpr std::string_view kLayouts[] = {"bhsd", "bshd", "thd", "varlen"};

// The word of a chip whose matrix unit has the step of another's, or which has
// no unit for bf16.
struct ChipWord {
  std::string_view word;
  std::optional<ProductOrder> order;
};
constexpr ChipWord kChips[] = {{"ada", ProductOrder::kAmpere},
                               {"blackwell", ProductOrder::kHopper},
                               {"volta", std::nullopt},
                               {"turing", std::nullopt}};

Status ParseOrder(Scanner& in, int64_t place, Case& c) {
  for (const ChipWord& chip : kChips) {
    const size_t at = in.position();
    if (!in.AcceptWord(chip.word)) continue;
    if (chip.order) {
      Get(c).order = *chip.order;
      return {};
    }
    return in.ErrorAt(at, "order=" + std::string(chip.word) +
                              ": its matrix unit takes only f16, and these "
                              "orders are for bf16; want " +
                              ListNames(kOrders));
  }
  return keys::ParseWord<kOrders, &Af::order>(in, place, c);
}

void SetScale(Case& c) {
  // A head dimension without a square root is refused later, by its name.
  const int64_t d = Get(c).head_dim;
  Get(c).scale.value = d > 0 ? 1.0 / std::sqrt(static_cast<double>(d)) : 1.0;
}

Status ParseScale(Scanner& in, int64_t, Case& c) {
  ASSIGN_OR_RETURN(const auto value, in.Real());
  Get(c).scale = value;
  return {};
}

Status ParseCap(Scanner& in, int64_t, Case& c) {
  if (in.AcceptWord("none")) {
    Get(c).softcap.reset();
    return {};
  }
  ASSIGN_OR_RETURN(const auto value, in.Real());
  Get(c).softcap = value;
  return {};
}

std::string PrintCap(const Case& c, int64_t) {
  return Get(c).softcap ? FormatNumber(*Get(c).softcap) : "none";
}

Status ParseBaseMask(Scanner& in, int64_t, Case& c) {
  ASSIGN_OR_RETURN(Get(c).mask, ParseMask(in, &Get(c).dense));
  return {};
}

Status ParseHeadMask(Scanner& in, int64_t head, Case& c) {
  ASSIGN_OR_RETURN(auto mask, ParseMask(in, &Get(c).dense));
  Get(c).head_mask[head] = std::move(mask);
  return {};
}

std::vector<int64_t> HeadMaskIndices(const Case& c) {
  std::vector<int64_t> heads;
  for (const auto& [head, mask] : Get(c).head_mask) heads.push_back(head);
  return heads;
}

Status ParseAlign(Scanner& in, int64_t, Case& c) {
  Alignment align;
  if (in.AcceptWord("br")) {
    align.kind = Alignment::Kind::kBottomRight;
  } else if (!in.AcceptWord("tl")) {
    const size_t start = in.position();
    const auto offset = in.Int();
    if (!offset.ok()) {
      return in.ErrorAt(start,
                        "expected 'tl', 'br' or an offset that fits 64 "
                        "bits, found " +
                            Quote(in.Rest()));
    }
    align.kind = Alignment::Kind::kOffset;
    align.offset = offset.value();
  }
  Get(c).align = align;
  return {};
}

std::string PrintAlign(const Case& c, int64_t) {
  switch (Get(c).align.kind) {
    case Alignment::Kind::kTopLeft:
      return "tl";
    case Alignment::Kind::kBottomRight:
      return "br";
    case Alignment::Kind::kOffset:
      break;
  }
  return std::to_string(Get(c).align.offset);
}

template <auto kMember>
Status ParseSegmentsKey(Scanner& in, int64_t, Case& c) {
  ASSIGN_OR_RETURN(auto segments, ParseSegments(in));
  Get(c).*kMember = std::move(segments);
  return {};
}

template <auto kMember>
std::string PrintSegments(const Case& c, int64_t) {
  return FormatSegments(Get(c).*kMember);
}

template <auto kMember>
void SetNoSegments(Case& c) {
  Get(c).*kMember = {};
}

template <auto kMember>
Status ParseCountsKey(Scanner& in, int64_t, Case& c) {
  ASSIGN_OR_RETURN(auto counts, ParseCounts(in));
  Get(c).*kMember = std::move(counts);
  return {};
}

template <auto kMember>
std::string PrintCounts(const Case& c, int64_t) {
  return FormatCounts(Get(c).*kMember);
}

template <auto kMember, auto kParse>
Status ParseMember(Scanner& in, int64_t, Case& c) {
  ASSIGN_OR_RETURN(Get(c).*kMember, kParse(in));
  return {};
}

Status ParseAlias(Scanner& in, int64_t, Case& c) {
  int64_t channels = 0;
  if (!in.AcceptWord("none")) {
    if (!in.AcceptWord("v_in_k") || !in.Accept(':')) {
      return in.Error("expected none or v_in_k:DV, found " + Quote(in.Rest()));
    }
    const size_t start = in.position();
    ASSIGN_OR_RETURN(channels, in.Int());
    if (channels < 1) {
      return in.ErrorAt(start, "v has " + std::to_string(channels) +
                                   " channels of k; want 1 or more");
    }
  }
  Get(c).v_in_k = channels;
  return {};
}

std::string PrintAlias(const Case& c, int64_t) {
  const int64_t channels = Get(c).v_in_k;
  return channels == 0 ? "none" : "v_in_k:" + std::to_string(channels);
}

// Either all channels of k, or the number that alias= gives.
void SetValueDim(Case& c) {
  const int64_t channels = Get(c).v_in_k;
  Get(c).value_dim = channels == 0 ? Get(c).head_dim : channels;
}

Status ParseFillKey(Scanner& in, int64_t, Case& c) {
  ASSIGN_OR_RETURN(auto terms, ParseFill(in));
  Get(c).fill = std::move(terms);
  return {};
}

Status ParseSink(Scanner& in, int64_t, Case& c) {
  if (in.AcceptWord("none")) {
    Get(c).sinklogit.reset();
    return {};
  }
  ASSIGN_OR_RETURN(auto term, ParseSingleFill(in, "a sink logit"));
  Get(c).sinklogit = std::move(term);
  return {};
}

template <auto kMember>
Status ParseWideLane(Scanner& in, int64_t place, Case& c) {
  RETURN_IF_ERROR(RefuseFp8Lane(in));
  return keys::ParseLane<kMember>(in, place, c);
}

template <auto kMember>
constexpr CaseKey Fp8LaneKey(const char* name) {
  return {name,
          "none|e4m3|e5m2",
          [](Case& c) { (Get(c).*kMember).reset(); },
          &ParseMember<kMember, &ParseFp8Lane>,
          [](const Case& c, int64_t) -> std::string {
            return Get(c).*kMember ? LaneName(*(Get(c).*kMember)) : "none";
          },
          nullptr};
}

template <auto kMember>
constexpr CaseKey WideLaneKey(const char* name) {
  CaseKey key = keys::LaneKey<kMember>(name);
  key.parse = &ParseWideLane<kMember>;
  return key;
}

template <auto kMember>
constexpr CaseKey ScaleKey(const char* name) {
  return {name,
          kScaleForm,
          [](Case& c) { Get(c).*kMember = {}; },
          &ParseMember<kMember, &ParseScales>,
          [](const Case& c, int64_t) { return FormatScales(Get(c).*kMember); },
          nullptr};
}

constexpr const char* kMask = "a mask expression such as causal&window:32,0";
constexpr const char* kSegments = "none|file|runs:LEN,...|ids:ID*LEN,...";
constexpr const char* kCounts = "a count, or one per batch row: 3,5";

constexpr CaseKey Younger(CaseKey key) {
  key.younger = true;
  return key;
}

const CaseKey kKeys[] = {
    keys::IntKey<&Af::batch>("b", &keys::Set<1, &Af::batch>),
    keys::IntKey<&Af::q_heads>("hq", &keys::Set<1, &Af::q_heads>),
    keys::IntKey<&Af::kv_heads>(
        "hkv", [](Case& c) { Get(c).kv_heads = Get(c).q_heads; }),
    keys::IntKey<&Af::q_len>("sq", nullptr),
    keys::IntKey<&Af::kv_len>("skv", nullptr),
    keys::IntKey<&Af::head_dim>("d", nullptr),
    Younger({"alias", "none|v_in_k:DV", &keys::Set<0, &Af::v_in_k>, ParseAlias,
             PrintAlias, nullptr}),
    keys::IntKey<&Af::value_dim>("dv", SetValueDim),
    WideLaneKey<&Af::lane>("lane"),
    WideLaneKey<&Af::p_lane>("p"),
    Younger({"order", "chain|amx|ampere|hopper|ada|blackwell",
             &keys::Set<ProductOrder::kChain, &Af::order>, ParseOrder,
             [](const Case& c, int64_t) {
               return std::string(OrderName(Get(c).order));
             },
             nullptr}),
    Younger(keys::IntKey<&Af::split>("split", &keys::Set<1, &Af::split>)),
    Younger(Fp8LaneKey<&Af::kv_lane>("kvlane")),
    Younger(ScaleKey<&Af::k_scale>("kscale")),
    Younger(ScaleKey<&Af::v_scale>("vscale")),
    Younger(Fp8LaneKey<&Af::q_lane>("qlane")),
    Younger(ScaleKey<&Af::q_scale>("qscale")),
    {"scale", "a number", SetScale, ParseScale,
     [](const Case& c, int64_t) { return FormatNumber(Get(c).scale); },
     nullptr},
    {"cap", "a number or none", [](Case& c) { Get(c).softcap.reset(); },
     ParseCap, PrintCap, nullptr},
    {"mask", kMask, [](Case& c) { Get(c).mask = {}; }, ParseBaseMask,
     [](const Case& c, int64_t) {
       return FormatMask(Get(c).mask, Get(c).dense);
     },
     nullptr},
    {"mask.h", kMask, [](Case& c) { Get(c).head_mask.clear(); }, ParseHeadMask,
     [](const Case& c, int64_t head) {
       return FormatMask(Get(c).head_mask.at(head), Get(c).dense);
     },
     HeadMaskIndices},
    {"align", "tl|br|OFFSET", [](Case& c) { Get(c).align = {}; }, ParseAlign,
     PrintAlign, nullptr},
    {"q_seg", kSegments, SetNoSegments<&Af::q_seg>,
     ParseSegmentsKey<&Af::q_seg>, PrintSegments<&Af::q_seg>, nullptr},
    {"kv_seg", kSegments, SetNoSegments<&Af::kv_seg>,
     ParseSegmentsKey<&Af::kv_seg>, PrintSegments<&Af::kv_seg>, nullptr},
    {"valid_q", kCounts, [](Case& c) { Get(c).valid_q = {Get(c).q_len}; },
     ParseCountsKey<&Af::valid_q>, PrintCounts<&Af::valid_q>, nullptr},
    {"valid_kv", kCounts, [](Case& c) { Get(c).valid_kv = {Get(c).kv_len}; },
     ParseCountsKey<&Af::valid_kv>, PrintCounts<&Af::valid_kv>, nullptr},
    keys::WordKey<kLayouts, &Af::layout>(
        "layout", "bhsd|bshd|thd|varlen",
        &keys::Set<Layout::kBhsd, &Af::layout>),
    {"strides", "none|q:SB/SH/SS/SD,...", [](Case& c) { Get(c).strides = {}; },
     &ParseMember<&Af::strides, &ParseStrides>,
     [](const Case& c, int64_t) { return FormatStrides(Get(c).strides); },
     nullptr},
    Younger({"page", kPagesForm, [](Case& c) { Get(c).page = {}; },
             &ParseMember<&Af::page, &ParsePages>,
             [](const Case& c, int64_t) { return FormatPages(Get(c).page); },
             nullptr}),
    {"fill", "FAMILY:ARGUMENTS joined by +",
     [](Case& c) { Get(c).fill = Af().fill; }, ParseFillKey,
     [](const Case& c, int64_t) { return FormatFill(Get(c).fill); }, nullptr},
    kGenKey,
    kSeedKey,
    {"sinklogit", "none|normal:SIGMA|const:X",
     [](Case& c) { Get(c).sinklogit.reset(); }, ParseSink,
     [](const Case& c, int64_t) {
       const auto& sink = Get(c).sinklogit;
       return sink ? FormatFillTerm(*sink) : std::string("none");
     },
     nullptr},
    kShardKey,
    kExpectKey,
};

}  // namespace

std::span<const CaseKey> AttentionForwardKeys() { return kKeys; }

std::array<int64_t, 4> LayoutStrides(Layout layout,
                                     const std::array<int64_t, 4>& shape) {
  if (layout == Layout::kBhsd) return DenseStrides(shape);
  // bshd, and thd, which is the same memory with its first two axes joined.
  // varlen also has it where the judge holds it: the truth reads padded rows.
  const int64_t token = shape[1] * shape[3];
  return {shape[2] * token, shape[3], token, 1};
}

}  // namespace lockstep::verify

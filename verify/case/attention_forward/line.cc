#include "verify/case/attention_forward/line.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "verify/case/attention_forward/case.h"
#include "verify/case/block_plan.h"
#include "verify/case/fill.h"
#include "verify/case/lists.h"
#include "verify/case/mask_text.h"

namespace lockstep::verify {
namespace {

using Af = AttentionForwardCase;

// block_plan has the keys of masks and payload, too.
Af& Get(Case& c) { return c.Get<Af>(); }
const Af& Get(const Case& c) { return c.Get<AttentionForwardCase>(); }

template <auto kMember>
Status ParseInt(Scanner& in, int64_t, Case& c) {
  const auto value = in.Int();
  if (!value.ok()) return value.status();
  Get(c).*kMember = value.value();
  return {};
}

template <auto kMember>
std::string PrintInt(const Case& c, int64_t) {
  return std::to_string(Get(c).*kMember);
}

template <auto kMember>
void SetOne(Case& c) {
  Get(c).*kMember = 1;
}

template <auto kMember>
Status ParseLane(Scanner& in, int64_t, Case& c) {
  if (in.AcceptWord("f32")) {
    Get(c).*kMember = Lane::kF32;
  } else if (in.AcceptWord("bf16")) {
    Get(c).*kMember = Lane::kBf16;
  } else {
    return in.Error("expected 'f32' or 'bf16', found " + Quote(in.Rest()));
  }
  return {};
}

template <auto kMember>
std::string PrintLane(const Case& c, int64_t) {
  return LaneName(Get(c).*kMember);
}

template <auto kMember>
void SetF32(Case& c) {
  Get(c).*kMember = Lane::kF32;
}

Status ParseOrder(Scanner& in, int64_t, Case& c) {
  for (const ProductOrder order : {ProductOrder::kChain, ProductOrder::kAmx}) {
    if (!in.AcceptWord(OrderName(order))) continue;
    Get(c).order = order;
    return {};
  }
  return in.Error("expected 'chain' or 'amx', found " + Quote(in.Rest()));
}

void SetScale(Case& c) {
  // A head dimension without a square root is refused later, by its name.
  const int64_t d = Get(c).head_dim;
  Get(c).scale.value = d > 0 ? 1.0 / std::sqrt(static_cast<double>(d)) : 1.0;
}

Status ParseScale(Scanner& in, int64_t, Case& c) {
  const auto value = in.Real();
  if (!value.ok()) return value.status();
  Get(c).scale = value.value();
  return {};
}

Status ParseCap(Scanner& in, int64_t, Case& c) {
  if (in.AcceptWord("none")) {
    Get(c).softcap.reset();
    return {};
  }
  const auto value = in.Real();
  if (!value.ok()) return value.status();
  Get(c).softcap = value.value();
  return {};
}

std::string PrintCap(const Case& c, int64_t) {
  return Get(c).softcap ? FormatNumber(*Get(c).softcap) : "none";
}

Status ParseBaseMask(Scanner& in, int64_t, Case& c) {
  auto mask = ParseMask(in, &Get(c).dense);
  if (!mask.ok()) return mask.status();
  Get(c).mask = std::move(mask.value());
  return {};
}

Status ParseHeadMask(Scanner& in, int64_t head, Case& c) {
  auto mask = ParseMask(in, &Get(c).dense);
  if (!mask.ok()) return mask.status();
  Get(c).head_mask[head] = std::move(mask.value());
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
  auto segments = ParseSegments(in);
  if (!segments.ok()) return segments.status();
  Get(c).*kMember = std::move(segments.value());
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
  auto counts = ParseCounts(in);
  if (!counts.ok()) return counts.status();
  Get(c).*kMember = std::move(counts.value());
  return {};
}

template <auto kMember>
std::string PrintCounts(const Case& c, int64_t) {
  return FormatCounts(Get(c).*kMember);
}

Status ParseLayout(Scanner& in, int64_t, Case& c) {
  for (const Layout layout : {Layout::kBhsd, Layout::kBshd, Layout::kThd}) {
    if (!in.AcceptWord(LayoutName(layout))) continue;
    Get(c).layout = layout;
    return {};
  }
  return in.Error("expected 'bhsd', 'bshd' or 'thd', found " +
                  Quote(in.Rest()));
}

Status ParseStridesKey(Scanner& in, int64_t, Case& c) {
  const auto strides = ParseStrides(in);
  if (!strides.ok()) return strides.status();
  Get(c).strides = strides.value();
  return {};
}

Status ParseFillKey(Scanner& in, int64_t, Case& c) {
  auto terms = ParseFill(in);
  if (!terms.ok()) return terms.status();
  Get(c).fill = std::move(terms.value());
  return {};
}

Status ParseSink(Scanner& in, int64_t, Case& c) {
  if (in.AcceptWord("none")) {
    Get(c).sinklogit.reset();
    return {};
  }
  auto term = ParseSingleFill(in, "a sink logit");
  if (!term.ok()) return term.status();
  Get(c).sinklogit = std::move(term.value());
  return {};
}

constexpr const char* kInteger = "an integer";
constexpr const char* kLane = "f32|bf16";
constexpr const char* kMask = "a mask expression such as causal&window:32,0";
constexpr const char* kSegments = "none|file|runs:LEN,...|ids:ID*LEN,...";
constexpr const char* kCounts = "a count, or one per batch row: 3,5";

const CaseKey kKeys[] = {
    {"b", kInteger, SetOne<&Af::batch>, ParseInt<&Af::batch>,
     PrintInt<&Af::batch>, nullptr},
    {"hq", kInteger, SetOne<&Af::q_heads>, ParseInt<&Af::q_heads>,
     PrintInt<&Af::q_heads>, nullptr},
    {"hkv", kInteger, [](Case& c) { Get(c).kv_heads = Get(c).q_heads; },
     ParseInt<&Af::kv_heads>, PrintInt<&Af::kv_heads>, nullptr},
    {"sq", kInteger, nullptr, ParseInt<&Af::q_len>, PrintInt<&Af::q_len>,
     nullptr},
    {"skv", kInteger, nullptr, ParseInt<&Af::kv_len>, PrintInt<&Af::kv_len>,
     nullptr},
    {"d", kInteger, nullptr, ParseInt<&Af::head_dim>, PrintInt<&Af::head_dim>,
     nullptr},
    {"dv", kInteger, [](Case& c) { Get(c).value_dim = Get(c).head_dim; },
     ParseInt<&Af::value_dim>, PrintInt<&Af::value_dim>, nullptr},
    {"lane", kLane, SetF32<&Af::lane>, ParseLane<&Af::lane>,
     PrintLane<&Af::lane>, nullptr},
    {"p", kLane, SetF32<&Af::p_lane>, ParseLane<&Af::p_lane>,
     PrintLane<&Af::p_lane>, nullptr},
    {"order", "chain|amx", [](Case& c) { Get(c).order = ProductOrder::kChain; },
     ParseOrder,
     [](const Case& c, int64_t) {
       return std::string(OrderName(Get(c).order));
     },
     nullptr, true},
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
    {"layout", "bhsd|bshd|thd", [](Case& c) { Get(c).layout = Layout::kBhsd; },
     ParseLayout,
     [](const Case& c, int64_t) {
       return std::string(LayoutName(Get(c).layout));
     },
     nullptr},
    {"strides", "none|q:SB/SH/SS/SD,...", [](Case& c) { Get(c).strides = {}; },
     ParseStridesKey,
     [](const Case& c, int64_t) { return FormatStrides(Get(c).strides); },
     nullptr},
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
    kExpectKey,
};

}  // namespace

std::span<const CaseKey> AttentionForwardKeys() { return kKeys; }

}  // namespace lockstep::verify

#include "verify/identify/rows.h"

#include "verify/identify/attention_forward/identify.h"

namespace lockstep::verify {
namespace {

constexpr IdentifyRow kRows[] = {
    {"attention_forward", &IdentifyAttention},
};

}  // namespace

std::span<const IdentifyRow> IdentifyRows() { return kRows; }

}  // namespace lockstep::verify

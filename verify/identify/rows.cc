#include "verify/identify/rows.h"

#include "verify/identify/attention_backward/identify.h"
#include "verify/identify/attention_forward/identify.h"
#include "verify/identify/mamba3_scan/identify.h"
#include "verify/identify/mamba3_scan_backward/identify.h"

namespace lockstep::verify {
namespace {

constexpr IdentifyRow kRows[] = {
    {"attention_forward", &IdentifyAttention},
    {"attention_backward", &IdentifyGradients},
    {"mamba3_scan", &IdentifyScan},
    {"mamba3_scan_backward", &IdentifyScanGradients},
    {"mamba3_step", &IdentifyScan},
    {"ssd_scan", &IdentifyScan},
};

}  // namespace

std::span<const IdentifyRow> IdentifyRows() { return kRows; }

}  // namespace lockstep::verify

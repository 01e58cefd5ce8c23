// The domains of mamba3_scan and mamba3_step: see domain.h.
#ifndef LOCKSTEP_VERIFY_DOMAIN_MAMBA3_SCAN_H_
#define LOCKSTEP_VERIFY_DOMAIN_MAMBA3_SCAN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verify/domain/domain.h"

namespace lockstep::verify {

std::vector<Case> DrawMamba3(const OpRow& op, Draw* draw,
                             const DomainOptions& options);
std::span<const char* const> Mamba3ScanFeatures();
std::span<const char* const> Mamba3StepFeatures();
FeatureSet Mamba3ScanFeaturesOf(const Case& c);
FeatureSet Mamba3StepFeaturesOf(const Case& c);
// Of both.
std::vector<std::vector<Case>> ReduceMamba3(std::span<const Case> sequence,
                                            size_t call);

// Of all scans and their gradients.
std::optional<Case> FurtherScan(const Case& from, uint64_t number, int64_t n);
std::optional<Case> ShortScan(const Case& from, uint64_t number);

std::optional<Case> SmallScan(const Case& c, int64_t side);

inline constexpr DomainRow kMamba3ScanDomain = {
    &DrawMamba3,   &Mamba3ScanFeatures, &Mamba3ScanFeaturesOf,
    &ReduceMamba3, &FurtherScan,        &ShortScan,
    nullptr,       &SmallScan};
inline constexpr DomainRow kMamba3StepDomain = {
    &DrawMamba3,   &Mamba3StepFeatures, &Mamba3StepFeaturesOf,
    &ReduceMamba3, &FurtherScan,        &ShortScan,
    nullptr,       &SmallScan};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_MAMBA3_SCAN_H_

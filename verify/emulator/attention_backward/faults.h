// The places at which a kernel of attention's gradients can be broken. What
// each breaks is said by the catalogue (mutants.h).
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_FAULTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_FAULTS_H_

#include <cstdint>

namespace lockstep::verify {

enum class GradFault : uint8_t {
  kNone,
  // The softcap.
  kSlopeMissing,
  kSlopeOfUncapped,
  kSlopeWithoutSquare,
  kSlopeTwice,
  kSlopeOnP,
  kCapBeforeScale,
  // The scale.
  kScaleMissingDq,
  kScaleMissingDk,
  kScaleTwiceDq,
  kScaleTwiceDk,
  kScaleOnDv,
  kLog2eKept,
  kLn2Applied,
  // D, lse and their cotangents.
  kDeltaMissing,
  kDeltaOfUnroundedO,
  kDeltaOfPreviousRow,
  kDeltaOfHead0,
  kDeltaOfFirstTile,
  kDlseIgnored,
  kDlseAdded,
  kDlseUnweighted,
  kLseInBase2,
  kLseOfPreviousRow,
  kLseOfBatch0,
  kLseOfHead0,
  kWeightMissing,
  kDvOfScores,
  // Heads.
  kLastHeadOnly,
  kFirstHeadOnly,
  kGroupMean,
  kGroupModulo,
  kDoOfHead0,
  // Masks.
  kDkvCausalPlusOne,
  kDqCausalPlusOne,
  kDkvUnmasked,
  kDvUnmasked,
  kDkvIgnoresSegments,
  kDqIgnoresSegments,
  kDkvTopLeft,
  kDkvIgnoresCounts,
  kDkvWindowPlusOne,
  kForwardTable,
  kMaskMultiplies,
  kFirstTileSkipped,
  // Tiles.
  kLastQueriesDropped,
  kLastKeysDropped,
  kQueryTileTwice,
  kDqOverwritten,
  kDqTileLost,
  kDkOverwritten,
  kChannelTailDropped,
  // Sinks.
  kSinkMissing,
  kSinkPositive,
  kSinkFirstRow,
  kSinkOfHead0,
  kSinkUnweighted,
  // Numbers.
  kPInBf16,
  kDsInBf16,
  kDqInBf16,
  kDkvInBf16,
  // No kernel at all.
  kZeros,
  kDqUnwritten,
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_FAULTS_H_

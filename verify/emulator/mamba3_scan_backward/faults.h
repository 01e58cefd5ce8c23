// The places at which a kernel of a scan's gradients can be broken. What each
// breaks is said by the catalogue (mutants.h).
#ifndef LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_BACKWARD_FAULTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_BACKWARD_FAULTS_H_

#include <cstdint>

namespace lockstep::verify {

enum class ScanGradFault : uint8_t {
  kNone,
  // The cotangent of the state.
  kDecayMissing,
  kDecayOfPrevious,
  kDecayTwice,
  kChunksApart,
  kRunsJoined,
  kDcarryIgnored,
  kDcarryOfRun0,
  kRanksOfFirst,
  // States that are made again.
  kStateOfChunkStart,
  kStateAfter,
  kStateFromZeros,
  // The look-ahead.
  kThenDropped,
  kThenWithoutAlpha,
  kThenByLambda,
  kThenAtChunk,
  kKeyThenMissing,
  kValueThenMissing,
  // Scalars.
  kDaWithoutThen,
  kDaWithNow,
  kDaWithoutAlpha,
  kDtauSlopeMissing,
  kDtauByLambda,
  kDtauWithoutThen,
  kDtauWithoutDt,
  kDdtWithoutAngles,
  kDdtWithoutThen,
  kDdtWithoutLambda,
  // Angles.
  kThetaNotSummed,
  kThetaAtChunk,
  kThetaOfQueries,
  kThetaPerRadian,
  kThetaSign,
  kTanhSlopeMissing,
  kTurnedForward,
  kNotTurnedBack,
  kKeyNotTurnedBack,
  // Heads.
  kLastHeadOnly,
  kFirstHeadOnly,
  kGroupMean,
  kGroupModulo,
  // Skip, ranks, gate, norm.
  kSkipMissing,
  kPhiMissing,
  kSiluMissing,
  kSlopeOfSigmoid,
  kDzWithoutZeta,
  kDzOfRank0,
  kNormDotMissing,
  kNormPerChannel,
  kNormWeightMissing,
  // Sums over the runs.
  kWeightsOfLastRun,
  kWeightsOfRow0,
  kBiasOfQueries,
  kPsiThenMissing,
  kDdOfLastToken,
  kPhiOfGated,
  // Tiles.
  kStateTailDropped,
  kChannelTailDropped,
  kLastTokenDropped,
  kTokenTwice,
  // Numbers.
  kStateInBf16,
  kCotangentInBf16,
  kSumsInBf16,
  // No kernel at all.
  kZeros,
  kDvUnwritten,
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_BACKWARD_FAULTS_H_

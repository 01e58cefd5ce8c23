// The points at which an emulated scan can be made wrong. What each breaks, and
// the mutant that switches it on: verify/emulator/mamba3_scan/mutants.h.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_FAULTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_FAULTS_H_

#include <cstdint>

namespace lockstep::verify {

enum class ScanFault : uint8_t {
  kNone,
  // Weights and look-ahead.
  kDiagonalUsesS,
  kDiagonalMissing,
  kBetaDropped,
  kLookAheadLambda,
  kLookAheadOwnDt,
  kLookAheadOwnLambda,
  kLookAheadExtraAlpha,
  kLookAheadNoAlpha,
  kLookAheadCutAtChunk,
  kLookAheadCrossesRun,
  kLookAheadAtEnd,
  kLookAheadOwnAtEdge,
  kTauOfHead0,
  kDtAtChunk,
  kSigmoidTwice,
  kSigmoidMissing,
  // Decays and chunks.
  kExpWithoutLog2e,
  kExpLog2eTwice,
  kIntraInclusive,
  kInterExclusive,
  kInterUndecayed,
  kCarryUndecayed,
  kUpdateInclusive,
  kCarryReplaced,
  kRatioDecay,
  kStaleOperand,
  kKeyAtChunk,
  kDecayOfPreviousChunk,
  kDecayOfRow0,
  kRaggedChunkDropped,
  kChannelsExchanged,
  // Runs.
  kResetLostAtEdge,
  kInterLeaksMidChunk,
  kStateSurvivesReset,
  kIntraIgnoresRuns,
  kUpdateIgnoresRuns,
  kIdsEqual,
  kResetByDecay,
  kMaskMultiplies,
  // Angles.
  kAngleNotReset,
  kAngleLostAtChunk,
  kAngleExclusive,
  kTanhMissing,
  kPiMissing,
  kDtMissingInAngle,
  kDtOfHead0,
  kModPi,
  kConjugate,
  kWrongPairing,
  kKeyPreviousAngle,
  kRotationSkipped,
  kRotationOfQOnly,
  kRateOfHead0,
  kAngleNotHalved,
  kKeyWrongPairing,
  // Biases, groups, ranks, output.
  kBiasMissing,
  kBiasAfterRotation,
  kBiasByGroup,
  kGroupModulo,
  kSkipUsesV,
  kSkipAfterGate,
  kGateSigmoid,
  kDiagonalTransposed,
  kDiagonalSameRank,
  kMaskFusedRows,
  kTimeHeadSwapped,
  kStateTailDropped,
  kBiasOfHead0,
  kBiasOfNeighbour,
  kSkipOfHead0,
  kSkipLostAtEdge,
  kPsiOfHead0,
  kPhiOfHead0,
  kZetaOfHead0,
  kGateOfPrevious,
  kGateTailSkipped,
  kGateBeforeNorm,
  kNormOfHalf,
  kNormWeightOfHead0,
  kChannelsShifted,
  // Initial carries.
  kInitFoldMissing,
  kInitFoldAlpha,
  kInitFoldLambda,
  kInitAngleIgnored,
  kInitRun0Only,
  kInitIgnoredMidChunk,
  kInitDecayFromChunk,
  kInitOfNeighbour,
  // Exported carries.
  kCarryKeyScaled,
  kCarryKeyUnrotated,
  kCarryVOfPack,
  kFinalDecayPadded,
  kCarryThetaPrevious,
  // Steps.
  kStepKeyRotatedAgain,
  kStepKeyBeforeBias,
  kStepBetaWithoutAlpha,
  kStepGammaWithAlpha,
  kStepVAfterPsi,
  kStepAliased,
  kStepAngleRate,
  kStepBatchZero,
  kStepGroupZero,
  // Of any recurrence that is discretised.
  kDtMissing,
  kDtTwice,
  kReadWriteExchanged,
  kDecayAfterAdd,
  kTokenDropped,
  kChunkEndsEarly,
  kInitIgnored,
  kSkipMissing,
  // Numbers.
  kStateBf16,
  kAngleBf16,
  kTanhCoarse,
  kTrigCoarse,
  kLambdaBf16,
  kOutTruncated,
  // Cheats.
  kZeros,
  kTokenUnwritten,
  kStaleOutput,
};

// One bug, or two at once.
struct ScanDial {
  ScanFault fault = ScanFault::kNone;
  ScanFault second = ScanFault::kNone;
  bool Is(ScanFault f) const { return fault == f || second == f; }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_FAULTS_H_

// A scan kernel as the probes see it: one group, one rank, few heads.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_KERNEL_H_
#define LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_KERNEL_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "verify/identify/asker.h"
#include "verify/identify/attention_forward/rows.h"
#include "verify/identify/functions.h"
#include "verify/identify/models.h"
#include "verify/identify/near_pairs.h"

namespace lockstep::verify {

inline constexpr int64_t kScanState = 64;   // coordinates
inline constexpr int64_t kScanValues = 64;  // channels
inline constexpr int64_t kScanAngles = 16;
inline constexpr int64_t kScanHeads = 32;  // each with a number of its own
inline constexpr double kTwoPi = 6.283185307179586;

// One call. What is not set is 0; dt is 1, and tau so large that lambda is 1.
struct ScanQuestion {
  using Of = std::function<double(int64_t head, int64_t token, int64_t c)>;
  int64_t tokens = 1;
  int64_t heads = 1;
  Of q, k;  // by token and coordinate; head is 0
  Of v, a, dt, tau, rate;
  // By head, channel and coordinate; set: the run starts from a carry.
  Of carry_h;
};

struct ScanAnswer {
  std::vector<Rows> y;  // [head][token][channel]
  std::vector<Rows> h;  // [head][channel][coordinate]
  Rows theta;           // [head][angle], in turns
  Rows k;               // [head][coordinate]
};

// The built-in profile that a kernel of this lane starts from.
const char* ScanBase(Lane lane);

class ScanKernel : public Asker {
 public:
  ScanKernel(Candidate& candidate, Lane lane)
      : Asker(candidate, lane, ScanBase(lane)) {}

  // Tokens that stand before those of a question and change nothing.
  int64_t light_tokens = 0;
  // Errors: why there is no answer, one line.
  Result<ScanAnswer> Ask(const ScanQuestion& question);

  // A tau whose sigmoid is 1, where a question has none: finite, or +infinity
  // where the kernel has no look-ahead.
  double sure = 64;

  ScanNumeric& scan() { return *profile.scan; }
  double OutRounding() const {
    return lane() == Lane::kBf16 ? 0x1p-8 : 0x1p-22;
  }
  // Takes a type over, or reports it: of f32 tensors only tf32 is any unit's.
  void TakeType(const char* key, const RoundingModel& model, NumberType* field,
                const std::string& evidence);

  // What the first probes find out.
  bool halves = false;                    // angles turn i and i + n/2
  bool angles_read = false;               // theta is told in f32
  const RoundingModel* scaled = nullptr;  // null: unknown
  const RoundingModel* angle = nullptr;

 private:
  Case CaseOf(const ScanQuestion& question) const;
};

// One probe: a row of the table.
struct ScanProbe {
  const char* fields;
  const char* asks;
  void (*ask)(ScanKernel*);
};
const std::vector<ScanProbe>& ScanProbes();

// The probes, by file.
void AskPairing(ScanKernel* kernel);
void AskRates(ScanKernel* kernel);
void AskRotation(ScanKernel* kernel);
void AskAngleForm(ScanKernel* kernel);
void AskScaled(ScanKernel* kernel);
void AskSigmoid(ScanKernel* kernel);
void AskDecay(ScanKernel* kernel);
void AskDecayed(ScanKernel* kernel);
void AskDecayForm(ScanKernel* kernel);
void AskState(ScanKernel* kernel);
void AskQuery(ScanKernel* kernel);
void AskScore(ScanKernel* kernel);
void AskDiagonal(ScanKernel* kernel);
void AskLaterNan(ScanKernel* kernel);
void AskScanRepeat(ScanKernel* kernel);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_KERNEL_H_

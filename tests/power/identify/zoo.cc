// The fields of correct kernels, as `identify` sees them.
#include <algorithm>
#include <chrono>

#include "tests/power/identify/measured.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"
#include "verify/identify/identify.h"
#include "verify/identify/mamba3_scan/learned_chunks.h"
#include "verify/profile/fields.h"

namespace lockstep::verify {
namespace {

// Fields that say what is right; they are not learned.
bool IsConvention(const std::string& key) {
  return key == "empty_row" || key == "nan" || key == "masked_nan_safe" ||
         key == "lse_base" || key == "repeat" || key == "scan.pairing";
}

std::string ValueOf(const NumericProfile& profile, const std::string& key) {
  for (const ProfileField& field : ProfileFields()) {
    if (key == field.key) return field.print(profile);
  }
  return "";
}

// Whether a value is wider than that of the kernel, of a field with an order.
bool IsWider(const std::string& key, const NumericProfile& found,
             const NumericProfile& truth) {
  if (key == "tanh_rel") return found.tanh_rel >= truth.tanh_rel;
  if (key == "exp_rel") return found.exp_rel >= truth.exp_rel;
  if (found.scan && key == "scan.trig_abs") {
    return found.scan->trig_abs >= truth.scan->trig_abs;
  }
  if (found.scan && key == "scan.sigmoid_rel") {
    return found.scan->sigmoid_rel >= truth.scan->sigmoid_rel;
  }
  if (key == "ftz") return found.ftz;
  return key == "division" && found.division == Division::kReciprocal;
}

NumberType OfLane(NumberType type, Lane lane) {
  if (type != NumberType::kCase) return type;
  return WeightTypeOf(lane);
}

// What is judged where a profile says nothing.
void SayTheUnsaid(GradNumeric* grad) {
  if (grad->from == GradFrom::kUnsaid) grad->from = GradFrom::kGiven;
  if (grad->ds_from == DsFrom::kUnsaid) grad->ds_from = DsFrom::kP;
  if (grad->delta_from == DeltaFrom::kUnsaid) grad->delta_from = DeltaFrom::kO;
  if (grad->dq_scale_at == DqScaleAt::kUnsaid) {
    grad->dq_scale_at = DqScaleAt::kEnd;
  }
  if (grad->dk_scale_at == DkScaleAt::kUnsaid) {
    grad->dk_scale_at = DkScaleAt::kSum;
  }
}

// The least of the chunks that can be learned which is as long as the kernel's.
int64_t LeastChunk(const ScanNumeric& scan) {
  const bool recurrent = scan.form == ScanForm::kRecurrent;
  const int64_t chunk = recurrent ? 1 : scan.chunk;
  for (const int64_t learned : kLearnedChunks) {
    if (chunk > 0 && chunk <= learned) return learned;
  }
  return 0;
}

// What the kernel has. The emulator's functions are correctly rounded where
// 2^-20 or less is said: they are as good as the base profile says.
NumericProfile TruthOf(NumericProfile truth, Lane lane,
                       const NumericProfile& base) {
  if (truth.tanh_rel <= 0x1p-20) truth.tanh_rel = base.tanh_rel;
  if (truth.exp_rel <= 0x1p-20) truth.exp_rel = base.exp_rel;
  if (truth.scan) truth.scan->chunk = LeastChunk(*truth.scan);
  truth.p = OfLane(truth.p, lane);
  // It says nothing of scales by key, where the emulator does as the contract.
  if (truth.vscale_at == ValueScaleAt::kOut) {
    truth.vscale_at = ValueScaleAt::kAny;
  }
  if (truth.grad) {
    truth.grad->p = OfLane(truth.grad->p, lane);
    truth.grad->ds = OfLane(truth.grad->ds, lane);
    SayTheUnsaid(&*truth.grad);
  }
  return truth;
}

// What a kernel of gradients does where its profile names a matrix unit whose
// steps are longer than the tiles, or a contract of which it has no maximum.
void AsTiled(const GradVariant& variant, NumericProfile* truth) {
  const auto shorten = [](int64_t tile, Accumulator* acc) {
    acc->width = static_cast<int>(std::min<int64_t>(acc->width, tile));
  };
  shorten(variant.tile_kv, &truth->acc_pv);
  shorten(variant.tile_kv, &truth->grad->acc_dq);
  shorten(variant.tile_q, &truth->grad->acc_dkv);
  if (truth->exact) truth->shift = Shift::kSubtract;
}

// What a kernel of a scan's gradients does not round, although its profile is
// that of a forward pass: k times its weight is no operand there, and few
// kernels form products of two tokens.
void AsEmulated(NumericProfile* truth) {
  truth->scan->scaled = NumberType::kF32;
  if (FindScanGradVariant(truth->name).value().scores) return;
  truth->scan->score = NumberType::kF32;
}

void Count(const NumericProfile& kernel, const Identified& found, Lane lane,
           SeenZoo* zoo) {
  const NumericProfile base = LoadProfile(found.base).value();
  NumericProfile truth = TruthOf(kernel, lane, base);
  if (zoo->op == "attention_backward") {
    AsTiled(FindGradVariant(kernel.name).value(), &truth);
  }
  if (zoo->op == "mamba3_scan_backward") AsEmulated(&truth);
  for (const FieldEvidence& field : found.fields) {
    const std::string& key = field.field;
    if (IsConvention(key)) continue;
    SeenField& count = zoo->fields[key];
    count.reported += field.word == Word::kReported ? 1 : 0;
    count.untold += field.word == Word::kCannotTell ? 1 : 0;
    if (field.word != Word::kSeen) continue;
    const bool same = field.value == ValueOf(truth, key) ||
                      field.value == ValueOf(kernel, key);
    ++count.seen;
    count.equal += same ? 1 : 0;
    if (same) continue;
    const bool wider = IsWider(key, found.profile, truth);
    (wider ? zoo->other : zoo->stricter)
        .push_back(kernel.name + ": " + key + " = " + field.value +
                   ", and it has " + ValueOf(truth, key));
  }
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

int64_t SeenZoo::Seen() const {
  int64_t all = 0;
  for (const auto& [key, count] : fields) all += count.seen;
  return all;
}

int64_t SeenZoo::Equal() const {
  int64_t all = 0;
  for (const auto& [key, count] : fields) all += count.equal;
  return all;
}

bool SeenZoo::Passed() const {
  return Seen() > 0 && stricter.empty() && Equal() * 10 >= Seen() * 8;
}

std::vector<const SelftestRow*> IdentifyRowsOf(const std::string& op) {
  std::vector<const SelftestRow*> rows;
  for (const SelftestRow* const row : SelftestRows()) {
    const auto& ops = IdentifiableOps();
    const bool known = std::find(ops.begin(), ops.end(), row->op) != ops.end();
    if (known && (op.empty() || op == row->op)) rows.push_back(row);
  }
  return rows;
}

SeenZoo IdentifyZoo(const SelftestRow& row) {
  SeenZoo zoo;
  zoo.op = row.op;
  for (const std::string& name : row.zoo()) {
    const auto start = std::chrono::steady_clock::now();
    const Result<Subject> subject = row.correct(name);
    IdentifyRequest request;
    request.op = row.op;
    request.light_keys = 7;  // the emulator is slow
    if (subject.ok()) {
      request.lane = subject->profile.lane.value_or(Lane::kF32);
    }
    const auto found = subject.ok() ? Identify(request, *subject->kernel)
                                    : Result<Identified>(subject.status());
    ++zoo.kernels;
    zoo.longest_seconds = std::max(zoo.longest_seconds, SecondsSince(start));
    if (found.ok()) {
      Count(subject->profile, found.value(), request.lane, &zoo);
    } else {
      zoo.stricter.push_back(name + ": " + found.message());
    }
  }
  return zoo;
}

}  // namespace lockstep::verify

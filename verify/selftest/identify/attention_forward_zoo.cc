// The fields of correct kernels of attention_forward, as `identify` sees them.
#include "verify/base/format.h"
#include "verify/candidate/candidate.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/identify/identify.h"
#include "verify/profile/fields.h"
#include "verify/selftest/identify/measured.h"

namespace lockstep::verify {
namespace {

// Fields that say what is right: nobody learns them.
bool IsConvention(const std::string& key) {
  return key == "empty_row" || key == "nan" || key == "masked_nan_safe" ||
         key == "lse_base" || key == "repeat";
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
  return key == "division" && found.division == Division::kReciprocal;
}

// What the kernel has. The emulator's functions are correctly rounded where
// 2^-20 or less is said: they are as good as the base profile says.
NumericProfile TruthOf(const AttentionVariant& variant, Lane lane,
                       const NumericProfile& base) {
  NumericProfile truth = variant.numeric;
  if (truth.tanh_rel <= 0x1p-20) truth.tanh_rel = base.tanh_rel;
  if (truth.exp_rel <= 0x1p-20) truth.exp_rel = base.exp_rel;
  if (truth.p == NumberType::kCase) {
    truth.p = lane == Lane::kBf16 ? NumberType::kBf16 : NumberType::kF32;
  }
  return truth;
}

void Count(const AttentionVariant& variant, const Identified& found, Lane lane,
           SeenZoo* zoo) {
  const NumericProfile base = LoadProfile(found.base).value();
  const NumericProfile truth = TruthOf(variant, lane, base);
  for (const FieldEvidence& field : found.fields) {
    const std::string& key = field.field;
    if (IsConvention(key)) continue;
    SeenField& count = zoo->fields[key];
    count.reported += field.word == Word::kReported ? 1 : 0;
    count.untold += field.word == Word::kCannotTell ? 1 : 0;
    if (field.word != Word::kSeen) continue;
    const bool same = field.value == ValueOf(truth, key);
    ++count.seen;
    count.equal += same ? 1 : 0;
    if (same || IsWider(key, found.profile, truth)) continue;
    zoo->stricter.push_back(variant.name() + ": " + key + " = " + field.value +
                            ", and it has " + ValueOf(truth, key));
  }
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

SeenZoo IdentifyZoo() {
  SeenZoo zoo;
  for (const AttentionVariant& variant : AttentionZoo()) {
    IdentifyRequest request;
    request.op = "attention_forward";
    request.light_keys = 7;  // the emulator is slow
    request.lane = variant.numeric.lane.value_or(Lane::kF32);
    const auto kernel = ParseCandidate("variant:" + variant.name());
    const auto found = kernel.ok() ? Identify(request, *kernel.value())
                                   : Result<Identified>(kernel.status());
    if (found.ok()) {
      Count(variant, found.value(), request.lane, &zoo);
    } else {
      zoo.stricter.push_back(variant.name() + ": " + found.message());
    }
  }
  return zoo;
}

std::string SeenText(const SeenZoo& zoo) {
  std::string text =
      "| field | seen | equal | reported | cannot tell "
      "|\n|---|---|---|---|---|\n";
  const auto number = [](int64_t n) { return std::to_string(n); };
  for (const auto& [key, count] : zoo.fields) {
    text += "| `" + key + "` | " + number(count.seen) + " | " +
            number(count.equal) + " | " + number(count.reported) + " | " +
            number(count.untold) + " |\n";
  }
  text += Format(
      "%zu kernels: equal in %lld of %lld seen fields, stricter in "
      "%zu\n",
      AttentionZoo().size(), static_cast<long long>(zoo.Equal()),
      static_cast<long long>(zoo.Seen()), zoo.stricter.size());
  for (const std::string& line : zoo.stricter) text += "  " + line + "\n";
  return text;
}

}  // namespace lockstep::verify

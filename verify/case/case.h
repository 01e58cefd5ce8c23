// A case: everything that decides one verification, as a value, and its text.
// Grammar, defaults and examples: docs/cases.md.
#ifndef LOCKSTEP_VERIFY_CASE_CASE_H_
#define LOCKSTEP_VERIFY_CASE_CASE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/case/probe_kind.h"
#include "verify/case/shards/shard.h"
#include "verify/case/values.h"

namespace lockstep::verify {

// What the author of the case claims.
enum class Expect : uint8_t { kPass, kFail, kVacuous, kRefuse };

// What the keys of one op say. An op's struct derives from OpValuesAs of itself
// and compares by its members.
class OpValues {
 public:
  virtual ~OpValues() = default;
  virtual std::unique_ptr<OpValues> Copy() const = 0;
  virtual bool Same(const OpValues& other) const = 0;
  friend bool operator==(const OpValues&, const OpValues&) { return true; }
};

// `Base`: the struct of an op whose keys this one has, too.
template <typename T, typename Base = OpValues>
class OpValuesAs : public Base {
 public:
  std::unique_ptr<OpValues> Copy() const override {
    return std::make_unique<T>(static_cast<const T&>(*this));
  }
  bool Same(const OpValues& other) const override {
    return typeid(other) == typeid(T) &&
           static_cast<const T&>(*this) == static_cast<const T&>(other);
  }
};

template <typename T>
std::unique_ptr<OpValues> MakeValues() {
  return std::make_unique<T>();
}

// One of them, copied with the case; none in an empty case.
class AnyValues {
 public:
  AnyValues() = default;
  explicit AnyValues(std::unique_ptr<OpValues> values)
      : values_(std::move(values)) {}
  AnyValues(const AnyValues& other)
      : values_(other.values_ ? other.values_->Copy() : nullptr) {}
  AnyValues(AnyValues&&) = default;
  AnyValues& operator=(AnyValues other) {
    values_ = std::move(other.values_);
    return *this;
  }
  OpValues* get() const { return values_.get(); }
  friend bool operator==(const AnyValues& a, const AnyValues& b) {
    return a.values_ && b.values_ ? a.values_->Same(*b.values_)
                                  : a.values_ == b.values_;
  }

 private:
  std::unique_ptr<OpValues> values_;
};

struct OpRow;

struct Case {
  const OpRow* op = nullptr;  // null in an empty case
  AnyValues values;
  uint64_t gen = 1;   // version of the input generator
  uint64_t seed = 0;  // of every random number of the case
  Expect expect = Expect::kPass;
  // The judge asks for it in shards, too.
  std::optional<ShardSpec> shard{};

  // The values of an op, or those that it shares with another (the scan of a
  // mamba3_step case).  Requires: the case has them.
  template <typename T>
  const T& Get() const {
    return dynamic_cast<const T&>(*values.get());
  }
  template <typename T>
  T& Get() {
    return dynamic_cast<T&>(*values.get());
  }
  // Whether it has them.
  template <typename T>
  bool Has() const {
    return dynamic_cast<const T*>(values.get()) != nullptr;
  }
  friend bool operator==(const Case&, const Case&) = default;
};

struct CaseKey;

// What this room knows of an op: the text of its cases, and what they mean.
struct CaseRow {
  const char* name;
  const char* description;
  std::span<const CaseKey> (*keys)();  // in canonical order
  std::unique_ptr<OpValues> (*empty)();
  Status (*validate)(const Case&);
  int64_t (*bytes)(const Case&);               // Requires: validate passes
  bool (*names_files)(const Case&) = nullptr;  // null: none do
  // Of an op with exact probes, otherwise null: the one whose inputs the case
  // has, takes it out, and why it proves nothing for such a problem.
  std::optional<ProbeKind> (*probe)(const Case&) = nullptr;
  void (*drop_probe)(Case*) = nullptr;
  std::string (*why_not_probe)(ProbeKind, const Case&) = nullptr;
  // Of an op that computes in a lane, otherwise null.
  void (*set_lane)(Lane, Case*) = nullptr;
  uint8_t shard_axes = 0;  // ShardBit of those along which its cases are cut
};

// One row for an op: what every room knows of it, each in a table whose type
// that room's header has. The rows of the program: verify/registry/ops.h.
struct TrialRow;   // verify/ops/op.h
struct DomainRow;  // verify/domain/domain.h
struct OpRow {
  CaseRow text;
  const TrialRow* trial = nullptr;    // null: no judge
  const DomainRow* domain = nullptr;  // null: nothing is drawn
};
using OpRows = std::span<const OpRow* const>;

// A case of the op with the values that its struct begins with.
Case EmptyCase(const OpRow& op);

// The input generator this library has; older ones stay when it grows.
inline constexpr uint64_t kGenerator = 1;

// Longest case line accepted, in bytes.
inline constexpr size_t kMaxCaseLine = size_t{1} << 20;

// One case of one of these ops. Errors: one line with the column and what would
// be right. Only the grammar is judged here: a parsed case may still have no
// meaning (see ValidateCase), so that `expect=refuse` can be written.
Result<Case> ParseCase(std::string_view line, OpRows ops);

// `A ;; B ;; ...`: a call sequence, one or more cases.
Result<std::vector<Case>> ParseCaseSequence(std::string_view line, OpRows ops);

// Every key in a fixed order; inverse of ParseCase.
std::string CanonicalLine(const Case& c);
// Only what differs from the defaults; inverse of ParseCase.
std::string MinimalLine(const Case& c);
// The same for call sequences.
std::string CanonicalLine(std::span<const Case> sequence);
std::string MinimalLine(std::span<const Case> sequence);

// "attention_forward".
const char* OpName(const Case& c);

// What the contract's Validate refuses, and what only a case can get wrong:
// segment lengths, valid counts, strides, head numbers, generator version.
// Allocates nothing that grows with the extents. Reads no file.
Status ValidateCase(const Case& c);

// Whether files stand behind the case's tensors.
bool NamesFiles(const Case& c);

// Memory of inputs and outputs in bytes, strides and dense masks counted, once
// each. Saturates at INT64_MAX. Requires: nothing.
int64_t EstimateBytes(const Case& c);

const char* ExpectName(Expect expect);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_CASE_H_

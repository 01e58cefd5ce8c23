// The result of `lockstep identify`: a profile, and the evidence for every
// field that was asked. Fields and words: docs/identify.md.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_EVIDENCE_H_
#define LOCKSTEP_VERIFY_IDENTIFY_EVIDENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "verify/profile/profile.h"

namespace lockstep::verify {

// How much a field's value is worth.
enum class Word : uint8_t {
  kSeen,        // one legal value explains every answer; it stands
  kReported,    // what came is no value to be learned: the strict one stands
  kAssumed,     // the answers do not show it: the base profile's value stands
  kCannotTell,  // no legal value explains the answers: the strict one stands
};
const char* WordName(Word word);  // "seen", "reported", ...

struct FieldEvidence {
  std::string field;  // a key of the profile
  std::string value;  // that stands in it
  Word word = Word::kAssumed;
  std::string evidence;  // what was asked, and what came; one line
  // Of kReported: the line to add, "lse_base = 2"; empty: no value is legal.
  std::string line;
};

struct Identified {
  std::string candidate;
  std::string op;
  std::string base;  // of the built-in profile that it starts from
  NumericProfile profile;
  std::vector<FieldEvidence> fields;  // in the order of asking
  std::vector<std::string> warnings;  // what a careful author would not choose
  int64_t calls = 0;                  // of the kernel

  // Null: it was not asked.
  const FieldEvidence* Find(const std::string& field) const;
  // Whether a question had an answer that no legal value explains.
  bool CannotTell() const;
};

// A file that --profile takes, with the evidence as comments. ParseProfile of
// it gives the profile.
std::string IdentifiedText(const Identified& identified);
// Of the profile alone: what receipts name.
std::string ProfileDigest(const NumericProfile& profile);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_EVIDENCE_H_

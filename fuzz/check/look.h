// A look at a kernel before it is judged: its own parameters, what it takes and
// what it computes.
#ifndef LOCKSTEP_FUZZ_CHECK_LOOK_H_
#define LOCKSTEP_FUZZ_CHECK_LOOK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::fuzz::check {

// Keys of a case line with their values as text.
using Keys = std::map<std::string, std::string>;

struct Looked {
  std::string op = "attention_forward";
  std::string spec;      // as --candidate takes it
  std::string name;      // "attend"
  std::string place;     // "attention.py:9, torch on the CPU"
  std::string returns;   // "o and lse"
  std::string computes;  // the sentence that says what was measured
  std::string is;        // what is judged, as --is takes it
  // How what it computes differs from what is stated, and how it differs from
  // itself; empty: not at all.
  std::string differs, trouble;
  std::string unreadable;  // why its answers show no reading; empty: they do
  std::string told;        // parameters that cases give their values, as a list
  std::string where;      // the condition of every case, as fuzz --where has it
  std::string beside;     // results that are not judged
  std::string gradients;  // the spec of its gradients; empty: none are had
  std::string lse_base;   // "e", "2"; empty: it has no lse
  std::vector<std::string> lanes;   // that it takes; the first is judged most
  std::vector<std::string> unseen;  // parameters that stayed at their default
  std::vector<std::string> limits;  // what it does not take
  std::vector<std::string> fields;  // of its profile, as it was seen to be
  std::vector<std::string> yours;   // conventions, a sentence each
  bool takes_calls = false;         // it is told of each call what it asks for
  bool own_profile = false;         // it states a profile
  int64_t reach = 0;    // keys from which on the mask's bound acts; 0: none
  int64_t longest = 0;  // keys that the measurement had; 0: there was none
};

// Imports and measures a Python function in a process of its own; `stated`:
// keys of --is. Other kernels are started and asked who they are. Errors: one
// line; exit 2.
Result<Looked> Look(const std::string& kernel, const Keys& stated);

// Looks at a kernel that is told of each call what it asks for.
Result<Looked> LookAtCalls(const std::string& spec, const Keys& stated);

// "causal window=128 softcap=50" as keys of a case line. Errors: one line.
Result<Keys> ParseStated(const std::string& text);

}  // namespace lockstep::fuzz::check

#endif  // LOCKSTEP_FUZZ_CHECK_LOOK_H_

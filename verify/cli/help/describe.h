// A command line as data: what the parser knows of verbs and options, for
// completions and the man page. Programs hand it over as JSON (--describe), so
// that `lockstep` knows the verbs of the programs beside it.
#ifndef LOCKSTEP_VERIFY_CLI_HELP_DESCRIBE_H_
#define LOCKSTEP_VERIFY_CLI_HELP_DESCRIBE_H_

#include <string>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify::cli {

struct OptionText {
  std::vector<std::string> names;  // "-v", "--verbose"; of an argument: none
  std::string argument;            // its name, where it is one by position
  std::string help;                // one line
  // The placeholder of the value, "FILE|-"; empty: a flag. Says what completes
  // it.
  std::string type;
  std::vector<std::string> words;  // the values it takes; empty: not a list
  bool required = false;
  bool repeated = false;
};

struct VerbText {
  std::string name;
  std::string description;
  std::string footer;  // examples, exit codes; lines
  std::vector<OptionText> options;
};

struct ProgramText {
  std::string description;
  std::string footer;
  std::vector<VerbText> verbs;
};

std::string DescriptionJson(const ProgramText& program);
// Errors: not what DescriptionJson writes.
Result<ProgramText> ParseDescription(const std::string& json);

// As files of the three shells and of man; `version` is the program's.
std::string BashCompletion(const ProgramText& program);
std::string ZshCompletion(const ProgramText& program);
std::string FishCompletion(const ProgramText& program);
std::string ManPage(const ProgramText& program, const std::string& version);

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_HELP_DESCRIBE_H_

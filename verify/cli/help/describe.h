// A command line as data: what the parser knows of verbs and options. Programs
// hand it over as JSON (--describe), for completions and the man page
// (cmake/pages.py).
#ifndef LOCKSTEP_VERIFY_CLI_HELP_DESCRIBE_H_
#define LOCKSTEP_VERIFY_CLI_HELP_DESCRIBE_H_

#include <string>
#include <vector>

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

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_HELP_DESCRIBE_H_

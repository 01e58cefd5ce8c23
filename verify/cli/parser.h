// The command line of a program with verbs. CLI11 parses it, in parser.cc
// alone: its headers cost 6 to 8 s of compile time in every file that includes
// them.
#ifndef LOCKSTEP_VERIFY_CLI_PARSER_H_
#define LOCKSTEP_VERIFY_CLI_PARSER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "verify/cli/help/describe.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
}  // namespace CLI

namespace lockstep::verify::cli {

// An option of a verb. Each of these returns the option itself.
class Option {
 public:
  // `words`: what the option keeps of the values it takes.
  Option(CLI::Option* option, std::vector<std::string>* words)
      : option_(option), words_(words) {}

  Option Required() const;
  // The placeholder of the value in the help: "FILE|-".
  Option Type(const std::string& name) const;
  // How many words it takes.
  Option Words(int low, int high) const;
  // One word each time, and as often as wanted.
  Option Repeated() const;
  Option OneOf(const std::vector<std::string>& words) const;
  // Words that completion offers; others are taken, too.
  Option Suggest(const std::vector<std::string>& words) const;
  Option Range(int low, int high) const;  // both included
  Option NonNegative() const;
  Option Positive() const;

  bool given() const;
  std::string name() const;

 private:
  CLI::Option* option_;  // of the parser
  std::vector<std::string>* words_;
};

// A verb: its options, and what it does. The targets of options have to live as
// long as `run` does; a name without dashes is an argument by position.
class Verb {
 public:
  explicit Verb(CLI::App* app) : app_(app) {}

  Option Value(const std::string& names, std::string* to,
               const std::string& help);
  Option Value(const std::string& names, int* to, const std::string& help);
  Option Value(const std::string& names, int64_t* to, const std::string& help);
  Option Value(const std::string& names, double* to, const std::string& help);
  Option Value(const std::string& names, std::vector<std::string>* to,
               const std::string& help);
  Option Value(const std::string& names, std::vector<int64_t>* to,
               const std::string& help);
  Option Flag(const std::string& names, bool* to, const std::string& help);

  std::string name() const;
  bool parsed() const;
  VerbText Describe() const;

  // Returns the exit code. Absent for a verb of a sibling program.
  std::function<int()> run;

 private:
  Option Keep(CLI::Option* option);

  CLI::App* app_;  // of the parser
  std::map<const CLI::Option*, std::vector<std::string>> words_;
};

class Parser {
 public:
  // `self` is what help is asked of: "lockstep fuzz".
  Parser(const std::string& description, const std::string& footer,
         const std::string& self);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // Stays where it is as long as the parser lives.
  Verb* Add(const std::string& name, const std::string& description,
            const std::string& footer);

  // What --version prints.
  void SetVersion(const std::string& text);

  ProgramText Describe() const;

  // Parses, runs the verb, returns the exit code. Bad input and help end here.
  int Run(int argc, char** argv);

 private:
  std::vector<std::string> Names() const;
  // Names the nearest verb; empty where the word is one.
  std::string WhyNoVerb(const std::string& word) const;
  // "; nearest is '--cases'" of what no option takes; empty: it is no option.
  std::string LikelyOption(const std::string& word) const;
  // The command whose help it is.
  std::string Self(int argc, char** argv) const;

  std::unique_ptr<CLI::App> app_;
  std::deque<Verb> verbs_;
  std::string self_;
  std::string version_;
};

// What `program` returns, run in a process that PrepareProcess has made ready;
// what stdout could not take is an error. Our code throws nothing; the
// libraries we use, and memory, may: foreign exceptions end here, as a line and
// an exit code.
int Guarded(const std::function<int()>& program);

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_PARSER_H_

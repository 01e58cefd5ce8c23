#include "verify/cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <string_view>
#include <utility>

#include "optimized/attention_tuning.h"
#include "verify/base/text.h"
#include "verify/base/trade_words.h"
#include "verify/case/text.h"
#include "verify/cli/cli.h"
#include "verify/cli/process.h"

namespace lockstep::verify::cli {
namespace {

// One line, whatever the parser wrote.
std::string OneLine(std::string text) {
  const size_t end = text.find_last_not_of(" \n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// CLI11's own checks of numbers print the largest one, with 309 digits.
CLI::Validator Number(const char* name, const char* wanted,
                      bool (*fits)(double)) {
  const auto check = [wanted, fits](const std::string& word) {
    double x = 0;
    return CLI::detail::lexical_cast(word, x) && std::isfinite(x) && fits(x)
               ? std::string()
               : "want a number " + std::string(wanted) + ", not " +
                     Quote(word);
  };
  return CLI::Validator(check, name);
}

}  // namespace

Option Option::Required() const {
  option_->required();
  return *this;
}

Option Option::Type(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Option Option::Words(int low, int high) const {
  option_->expected(low, high);
  return *this;
}

Option Option::Repeated() const {
  // One each time: a word that follows is not the option's.
  option_->take_all()->expected(1)->allow_extra_args(false);
  return *this;
}

Option Option::OneOf(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return Suggest(words);
}

Option Option::Suggest(const std::vector<std::string>& words) const {
  *words_ = words;
  return *this;
}

Option Option::Range(int low, int high) const {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option Option::NonNegative() const {
  option_->check(
      Number("NONNEGATIVE", "of 0 or more", [](double x) { return x >= 0; }));
  return *this;
}

Option Option::Positive() const {
  option_->check(Number("POSITIVE", "above 0", [](double x) { return x > 0; }));
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

std::string Option::name() const { return option_->get_name(); }

Option Verb::Value(const std::string& names, std::string* to,
                   const std::string& help) {
  return Keep(app_->add_option(names, *to, help));
}

Option Verb::Value(const std::string& names, int* to, const std::string& help) {
  return Keep(app_->add_option(names, *to, help));
}

Option Verb::Value(const std::string& names, int64_t* to,
                   const std::string& help) {
  return Keep(app_->add_option(names, *to, help));
}

Option Verb::Value(const std::string& names, double* to,
                   const std::string& help) {
  return Keep(app_->add_option(names, *to, help));
}

Option Verb::Value(const std::string& names, std::vector<std::string>* to,
                   const std::string& help) {
  return Keep(app_->add_option(names, *to, help));
}

Option Verb::Value(const std::string& names, std::vector<int64_t>* to,
                   const std::string& help) {
  return Keep(app_->add_option(names, *to, help));
}

Option Verb::Keep(CLI::Option* option) {
  // An empty word is a variable of a script that was not set.
  const auto check = [](std::string& word) {
    return std::string(word.empty() ? "is empty" : "");
  };
  if (!option->get_positional()) option->check(CLI::Validator(check, ""));
  return Option(option, &words_[option]);
}

Option Verb::Flag(const std::string& names, bool* to, const std::string& help) {
  return Keep(app_->add_flag(names, *to, help));
}

std::string Verb::name() const { return app_->get_name(); }

bool Verb::parsed() const { return app_->parsed(); }

VerbText Verb::Describe() const {
  VerbText verb{app_->get_name(),
                OneLine(app_->get_description()),
                app_->get_footer(),
                {}};
  const CLI::App& app = *app_;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;
    OptionText text;
    for (const std::string& name : option->get_snames()) {
      text.names.push_back("-" + name);
    }
    for (const std::string& name : option->get_lnames()) {
      text.names.push_back("--" + name);
    }
    if (text.names.empty()) text.argument = option->get_name(true);
    text.help = OneLine(option->get_description());
    // "TEXT:{auto,always}": what it is, then what is checked.
    const std::string type = option->get_type_name();
    if (option->get_type_size() > 0) text.type = type.substr(0, type.find(':'));
    const auto words = words_.find(option);
    if (words != words_.end()) text.words = words->second;
    text.required = option->get_required();
    text.repeated =
        option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    verb.options.push_back(std::move(text));
  }
  return verb;
}

Parser::Parser(const std::string& description, const std::string& footer,
               const std::string& self)
    : app_(std::make_unique<CLI::App>(description, "lockstep")), self_(self) {
  app_->footer(footer);
  app_->require_subcommand(0, 1);
}

Parser::~Parser() = default;

void Parser::SetVersion(const std::string& text) {
  version_ = text;
  app_->set_version_flag("--version", text);
}

Verb* Parser::Add(const std::string& name, const std::string& description,
                  const std::string& footer) {
  CLI::App* app = app_->add_subcommand(name, description);
  app->footer(footer);
  return &verbs_.emplace_back(app);
}

std::vector<std::string> Parser::Names() const {
  std::vector<std::string> names;
  for (const Verb& verb : verbs_) names.push_back(verb.name());
  return names;
}

std::string Parser::WhyNoVerb(const std::string& word) const {
  const std::vector<std::string> names = Names();
  if (std::find(names.begin(), names.end(), word) != names.end()) return "";
  const std::string known = InTrade(WordFor::kVerb, word);
  if (!known.empty()) return "unknown verb '" + word + "'; " + known;
  const std::vector<std::string_view> views(names.begin(), names.end());
  return "unknown verb '" + word + "'; did you mean '" +
         std::string(NearestName(word, views)) + "'?";
}

std::string Parser::LikelyOption(const std::string& word) const {
  if (!word.starts_with('-')) return "";
  const std::string known = InTrade(WordFor::kOption, word);
  if (!known.empty()) return "; " + known;
  std::vector<std::string> names = {"--help", "--version"};
  for (const Verb& verb : verbs_) {
    if (!verb.parsed()) continue;
    names = {"--help"};
    for (const OptionText& option : verb.Describe().options) {
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return "; nearest is '" +
         std::string(NearestName(word.substr(0, word.find('=')), views)) + "'";
}

ProgramText Parser::Describe() const {
  ProgramText program{OneLine(app_->get_description()), app_->get_footer(), {}};
  for (const Verb& verb : verbs_) program.verbs.push_back(verb.Describe());
  return program;
}

// A verb is typed as the one that was meant.
std::string Parser::Self(int argc, char** argv) const {
  const bool named = argc > 1 && argv[1][0] != '-';
  return named ? "lockstep " + std::string(argv[1]) : self_;
}

int Parser::Run(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--describe") {
    std::cout << DescriptionJson(Describe());
    return kExitPass;
  }
  if (argc > 1 && argv[1][0] != '-') {
    const std::string why = WhyNoVerb(argv[1]);
    if (!why.empty()) return Fail(why + " (see " + self_ + " --help)");
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app_->get_subcommands();
    std::cout << (chosen.empty() ? app_->help()
                                 : chosen[0]->help(app_->get_name()));
    return kExitPass;
  } catch (const CLI::CallForVersion&) {
    std::cout << version_ << "\n";
    return kExitPass;
  } catch (const CLI::ExtrasError& error) {
    // What no option takes, the first of it.
    const std::vector<std::string> extra = app_->remaining(true);
    const std::string word = extra.empty() ? "" : extra.front();
    return Fail("nothing takes '" + word + "'" + LikelyOption(word) + " (see " +
                Self(argc, argv) + " --help)");
  } catch (const CLI::ParseError& error) {
    return Fail(OneLine(error.what()) + " (see " + Self(argc, argv) +
                " --help)");
  }
  std::string known;
  for (const Verb& verb : verbs_) {
    if (verb.run && verb.parsed()) return verb.run();
    known += " " + verb.name();
  }
  if (argc <= 1) std::cerr << app_->help() << "\n";
  return Fail("no verb given; verbs:" + known + " (see lockstep --help)");
}

int Guarded(const std::function<int()>& program) {
  const Status ready = PrepareProcess();
  if (!ready.ok()) return Fail(ready.message());
  // Here, because a kernel would say it of every case.
  const Result<optimized::Tuning>& tuning = optimized::TheTuning();
  if (!tuning.ok()) return Fail(tuning.message());
  int code = kExitSelf;
  try {
    code = program();
  } catch (const std::exception& error) {
    const std::string limit = LimitReached(error);
    code = limit.empty() ? Fail(OneLine(error.what()), kExitSelf) : Fail(limit);
  }
  const Status written = FinishStdout();
  if (written.ok()) return code;
  return Fail(written.message(), code == kExitPass ? kExitUsage : code);
}

}  // namespace lockstep::verify::cli

#include "verify/cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <new>

#include "verify/cli/cli.h"

namespace lockstep::verify::cli {
namespace {

// One line, whatever the parser wrote.
std::string OneLine(std::string text) {
  const size_t end = text.find_last_not_of(" \n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
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
  option_->take_all()->expected(1);
  return *this;
}

Option Option::OneOf(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option Option::Range(int low, int high) const {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option Option::NonNegative() const {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option Option::Positive() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

std::string Option::name() const { return option_->get_name(); }

Option Verb::Value(const std::string& names, std::string* to,
                   const std::string& help) {
  return Option(app_->add_option(names, *to, help));
}

Option Verb::Value(const std::string& names, int* to, const std::string& help) {
  return Option(app_->add_option(names, *to, help));
}

Option Verb::Value(const std::string& names, int64_t* to,
                   const std::string& help) {
  return Option(app_->add_option(names, *to, help));
}

Option Verb::Value(const std::string& names, double* to,
                   const std::string& help) {
  return Option(app_->add_option(names, *to, help));
}

Option Verb::Value(const std::string& names, std::vector<std::string>* to,
                   const std::string& help) {
  return Option(app_->add_option(names, *to, help));
}

Option Verb::Value(const std::string& names, std::vector<int64_t>* to,
                   const std::string& help) {
  return Option(app_->add_option(names, *to, help));
}

Option Verb::Flag(const std::string& names, bool* to, const std::string& help) {
  return Option(app_->add_flag(names, *to, help));
}

std::string Verb::name() const { return app_->get_name(); }

bool Verb::parsed() const { return app_->parsed(); }

Parser::Parser(const std::string& description, const std::string& footer,
               const std::string& self)
    : app_(std::make_unique<CLI::App>(description, "lockstep")), self_(self) {
  app_->footer(footer);
  app_->require_subcommand(0, 1);
}

Parser::~Parser() = default;

Verb* Parser::Add(const std::string& name, const std::string& description,
                  const std::string& footer) {
  CLI::App* app = app_->add_subcommand(name, description);
  app->footer(footer);
  return &verbs_.emplace_back(app);
}

int Parser::Run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app_->get_subcommands();
    std::cout << (chosen.empty() ? app_->help()
                                 : chosen[0]->help(app_->get_name()));
    return kExitPass;
  } catch (const CLI::ParseError& error) {
    return Fail(OneLine(error.what()) + " (see " + self_ + " --help)");
  }
  std::string known;
  for (const Verb& verb : verbs_) {
    if (!verb.run) continue;
    if (verb.parsed()) return verb.run();
    known += " " + verb.name();
  }
  return Fail("no verb given; verbs:" + known + " (see lockstep --help)");
}

int Guarded(const std::function<int()>& program) {
  try {
    return program();
  } catch (const std::bad_alloc&) {
    return Fail("out of memory", kExitSelf);
  } catch (const std::exception& error) {
    return Fail(OneLine(error.what()), kExitSelf);
  }
}

}  // namespace lockstep::verify::cli

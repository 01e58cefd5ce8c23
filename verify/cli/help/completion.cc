// Completion for bash, zsh and fish. Names that grow (mutants, profiles) are
// asked of the program when they are wanted, everything else is written down.
#include <string>

#include "verify/cli/help/describe.h"

namespace lockstep::verify::cli {
namespace {

// What completes a value.
enum class Kind : uint8_t { kNone, kWords, kFiles, kSpec, kProfile, kOp };

Kind KindOf(const OptionText& option) {
  const std::string& type =
      option.argument.empty() ? option.type : option.argument;
  const auto has = [&](const char* part) {
    return type.find(part) != std::string::npos;
  };
  if (!option.words.empty()) return Kind::kWords;
  if (type == "SPEC") return Kind::kSpec;
  if (type == "OP") return Kind::kOp;
  if (has("NAME")) return Kind::kProfile;  // or a file
  if (has("FILE") || has("DIR") || has("PATH")) return Kind::kFiles;
  return Kind::kNone;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

// The names of what complete a value in the helpers of the shells.
std::string KindName(const OptionText& option) {
  switch (KindOf(option)) {
    case Kind::kWords:
      return "words:" + Joined(option.words);
    case Kind::kFiles:
      return "files";
    case Kind::kSpec:
      return "spec";
    case Kind::kProfile:
      return "profile";
    case Kind::kOp:
      return "op";
    case Kind::kNone:
      break;
  }
  return "none";
}

bool IsFlag(const OptionText& option) {
  return option.argument.empty() && option.type.empty();
}

// With every character of `special` behind a backslash, between single quotes.
std::string Quoted(const std::string& text, const std::string& special = "") {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
      continue;
    }
    if (special.find(c) != std::string::npos) quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

constexpr const char* kBashHead =
    R"sh(# bash completion of lockstep, made from its parser by:
#   lockstep completion bash
_lockstep_names() { "${COMP_WORDS[0]}" list "$1" 2>/dev/null | cut -d' ' -f1; }
_lockstep_add() {  # WORDS: those that begin with $cur
  local word
  while IFS= read -r word; do found+=("$word"); done < <(compgen -W "$1" -- "$cur")
}
_lockstep_files() {
  compopt -o filenames 2>/dev/null
  local name
  while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "$1")
}
_lockstep_spec() {
  case $cur in
    files:*) _lockstep_files "${cur#files:}" ;;
    mutant:*,base=*)
      _lockstep_add "$(_lockstep_names variants | sed "s|^|${cur%%,base=*},base=|")" ;;
    mutant:*) _lockstep_add "$(_lockstep_names mutants | sed 's/^/mutant:/')" ;;
    variant:*) _lockstep_add "$(_lockstep_names variants | sed 's/^/variant:/')" ;;
    builtin:optimized@*)
      _lockstep_add "$(_lockstep_names targets | sed 's/^/builtin:optimized@/')" ;;
    *) compopt -o nospace 2>/dev/null
      _lockstep_add 'builtin:optimized builtin:reference files: mutant: variant:' ;;
  esac
}
_lockstep() {
  local line=${COMP_LINE:0:COMP_POINT} words found=() value='' options='' argument=none
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local cur=${words[-1]} before='' verb=${words[1]-}
  ((${#words[@]} > 2)) && before=${words[-2]}
  COMPREPLY=()
)sh";

constexpr const char* kBashTail = R"sh(  if ((${#words[@]} <= 2)); then
    value=words:$verbs
  elif [[ -z $value && $cur == -* ]]; then
    value=words:$options
  elif [[ -z $value ]]; then
    value=$argument
  fi
  case $value in
    words:*) _lockstep_add "${value#words:}" ;;
    files) _lockstep_files "$cur" ;;
    spec) _lockstep_spec ;;
    profile) _lockstep_add "$(_lockstep_names profiles)"; _lockstep_files "$cur" ;;
    op) _lockstep_add "$(_lockstep_names ops)" ;;
  esac
  # Readline replaces what follows the last colon or equals sign only.
  local cut=''
  [[ $COMP_WORDBREAKS == *:* ]] && cut=${cur%"${cur##*[:=]}"}
  ((${#found[@]})) && COMPREPLY+=("${found[@]#"$cut"}")
  return 0
}
complete -F _lockstep lockstep
)sh";

std::string BashVerb(const VerbText& verb) {
  std::string options = "--help";
  std::string values;
  std::string argument = "none";
  for (const OptionText& option : verb.options) {
    if (!option.argument.empty()) {
      if (argument == "none") argument = KindName(option);
      continue;
    }
    options += " " + Joined(option.names);
    if (IsFlag(option)) continue;
    std::string names;
    for (const std::string& name : option.names) {
      names += (names.empty() ? "" : "|") + name;
    }
    values +=
        "        " + names + ") value=" + Quoted(KindName(option)) + " ;;\n";
  }
  return "    " + verb.name + ")\n      options=" + Quoted(options) +
         "\n      argument=" + Quoted(argument) +
         (values.empty()
              ? "\n"
              : "\n      case $before in\n" + values + "      esac\n") +
         "      ;;\n";
}

std::vector<std::string> VerbNames(const ProgramText& program) {
  std::vector<std::string> names;
  for (const VerbText& verb : program.verbs) names.push_back(verb.name);
  return names;
}

constexpr const char* kZshHead = R"sh(#compdef lockstep
# zsh completion of lockstep, made from its parser by:
#   lockstep completion zsh
_lockstep_names() {
  local -a names
  names=(${(f)"$(lockstep list $1 2>/dev/null)"})
  names=(${names%% *})
  compadd -a names
}
_lockstep_spec() {
  if compset -P '*,base='; then _lockstep_names variants
  elif compset -P 'files:'; then _files
  elif compset -P 'mutant:'; then _lockstep_names mutants
  elif compset -P 'variant:'; then _lockstep_names variants
  elif compset -P 'builtin:optimized@'; then _lockstep_names targets
  else
    compadd builtin:optimized builtin:reference
    compadd -S '' files: mutant: variant:
  fi
}
_lockstep_profile() { _lockstep_names profiles; _files }
_lockstep_op() { _lockstep_names ops }
)sh";

std::string ZshAction(const OptionText& option) {
  switch (KindOf(option)) {
    case Kind::kWords:
      return "(" + Joined(option.words) + ")";
    case Kind::kFiles:
      return "_files";
    case Kind::kSpec:
      return "_lockstep_spec";
    case Kind::kProfile:
      return "_lockstep_profile";
    case Kind::kOp:
      return "_lockstep_op";
    case Kind::kNone:
      break;
  }
  return " ";
}

std::string ZshOption(const OptionText& option, const std::string& name) {
  return "        " + Quoted(std::string(option.repeated ? "*" : "") + name) +
         Quoted("[") + Quoted(option.help, "[]:\\") + Quoted("]") +
         (IsFlag(option) ? ""
                         : Quoted(":" + option.type + ":" + ZshAction(option)));
}

std::string ZshVerb(const VerbText& verb) {
  std::string text = "    " + verb.name + ")\n      _arguments";
  bool argument = false;
  for (const OptionText& option : verb.options) {
    if (!option.argument.empty()) {
      if (!argument) {
        text += " \\\n        " +
                Quoted("*:" + option.argument + ":" + ZshAction(option));
      }
      argument = true;
      continue;
    }
    for (const std::string& name : option.names) {
      text += " \\\n" + ZshOption(option, name);
    }
  }
  return text + " \\\n        '--help[Print the help]' ;;\n";
}

constexpr const char* kFishHead =
    R"sh(# fish completion of lockstep, made from its parser by:
#   lockstep completion fish
function __lockstep_names
    lockstep list $argv[1] 2>/dev/null | string replace -r ' .*' ''
end
function __lockstep_spec
    printf '%s\n' builtin:optimized builtin:reference files:
    __lockstep_names mutants | string replace -r '^' mutant:
    __lockstep_names variants | string replace -r '^' variant:
end
complete -c lockstep -f
)sh";

std::string FishValue(const OptionText& option) {
  switch (KindOf(option)) {
    case Kind::kWords:
      return " -a " + Quoted(Joined(option.words));
    case Kind::kFiles:
      return " -F";
    case Kind::kSpec:
      return " -a '(__lockstep_spec)'";
    case Kind::kProfile:
      return " -F -a '(__lockstep_names profiles)'";
    case Kind::kOp:
      return " -a '(__lockstep_names ops)'";
    case Kind::kNone:
      break;
  }
  return "";
}

std::string FishVerb(const VerbText& verb) {
  const std::string when =
      "complete -c lockstep -n '__fish_seen_subcommand_from " + verb.name + "'";
  std::string text = "complete -c lockstep -n __fish_use_subcommand -a " +
                     verb.name + " -d " + Quoted(verb.description) + "\n";
  for (const OptionText& option : verb.options) {
    if (!option.argument.empty()) {
      const std::string value = FishValue(option);
      if (!value.empty()) text += when + value + "\n";
      continue;
    }
    text += when;
    for (const std::string& name : option.names) {
      text += name.starts_with("--") ? " -l " + name.substr(2)
                                     : " -s " + name.substr(1);
    }
    if (!IsFlag(option)) text += " -r" + FishValue(option);
    text += " -d " + Quoted(option.help, "\\") + "\n";
  }
  return text;
}

}  // namespace

std::string BashCompletion(const ProgramText& program) {
  std::string text = kBashHead;
  text += "  local verbs=" +
          Quoted(Joined(VerbNames(program)) + " --help --version") +
          "\n  case $verb in\n";
  for (const VerbText& verb : program.verbs) text += BashVerb(verb);
  return text + "  esac\n" + kBashTail;
}

std::string ZshCompletion(const ProgramText& program) {
  std::string text = kZshHead;
  text += "_lockstep() {\n  local -a verbs\n  verbs=(\n";
  for (const VerbText& verb : program.verbs) {
    text += "    " + Quoted(verb.name + ":" + verb.description) + "\n";
  }
  text +=
      "  )\n  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
      "  local verb=$words[2]\n  shift words\n  (( CURRENT-- ))\n"
      "  case $verb in\n";
  for (const VerbText& verb : program.verbs) text += ZshVerb(verb);
  return text + "  esac\n}\n_lockstep \"$@\"\n";
}

std::string FishCompletion(const ProgramText& program) {
  std::string text = kFishHead;
  for (const VerbText& verb : program.verbs) text += FishVerb(verb);
  return text;
}

}  // namespace lockstep::verify::cli

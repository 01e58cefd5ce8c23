#!/usr/bin/env python3
"""Completions of bash, zsh and fish, and the man page, from the parser's own table.

    pages.py FOLDER LOCKSTEP [PROGRAM...]

Each PROGRAM beside LOCKSTEP has some of its verbs. All are asked with --describe. Names
that grow (mutants, profiles) are asked of the program when they are wanted; everything
else is written down. FOLDER gets the files of `FILES`.
"""

import json
import pathlib
import subprocess
import sys

BASH_HEAD = r"""# bash completion of lockstep, made from its parser by cmake/pages.py
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
"""

BASH_TAIL = r"""  if ((${#words[@]} <= 2)); then
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
"""

ZSH_HEAD = r"""#compdef lockstep
# zsh completion of lockstep, made from its parser by cmake/pages.py
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
"""

FISH_HEAD = r"""# fish completion of lockstep, made from its parser by cmake/pages.py
function __lockstep_names
    lockstep list $argv[1] 2>/dev/null | string replace -r ' .*' ''
end
function __lockstep_spec
    printf '%s\n' builtin:optimized builtin:reference files:
    __lockstep_names mutants | string replace -r '^' mutant:
    __lockstep_names variants | string replace -r '^' variant:
end
complete -c lockstep -f
"""

MAN_TAIL = r""".SH ENVIRONMENT
.TP
.B NO_COLOR
If set and not empty, nothing is coloured unless \fB\-\-color\fR says so.
.TP
.BR OMP_NUM_THREADS ", " OMP_THREAD_LIMIT
Threads of kernels that name no number of their own. Without them: as many as
the cores that the process may use, by its affinity and its control group.
.TP
.BR KMP_BLOCKTIME ", " OMP_WAIT_POLICY ", " KMP_LIBRARY ", " GOMP_SPINCOUNT
How threads wait between two calls, those of a kernel in a process of its own,
too. Without them they sleep, except in
\fBlockstep bench\fR and \fBgate\fR.
.SH FILES
Case files hold a case line per line, with comments behind #. Inputs and outputs
travel as safetensors.
.SH SEE ALSO
The pages of docs/: cases.md, verdicts.md, verification.md, invariance.md,
fuzzing.md, plans.md.
"""


def kind_of(option):
    """What completes a value: words, files, spec, profile, op, or none."""
    kind = option["argument"] or option["type"]
    if option["words"]:
        return "words"
    if kind in ("SPEC", "OP"):
        return kind.lower()
    if "NAME" in kind:
        return "profile"  # or a file
    return "files" if any(part in kind for part in ("FILE", "DIR", "PATH")) else "none"


def kind_name(option):
    kind = kind_of(option)
    return kind + (":" + " ".join(option["words"]) if kind == "words" else "")


def is_flag(option):
    return not option["argument"] and not option["type"]


def quoted(text, special=""):
    """Between single quotes, each character of `special` behind a backslash."""
    marked = "".join("\\" + c if c in special else c for c in text)
    return "'" + marked.replace("'", "'\\''") + "'"


def named(verb):
    return [option for option in verb["options"] if not option["argument"]]


def first_argument(verb):
    return next((option for option in verb["options"] if option["argument"]), None)


def bash_verb(verb):
    argument = first_argument(verb)
    options = " ".join(["--help"] + [n for option in named(verb) for n in option["names"]])
    values = "".join(
        f"        {'|'.join(option['names'])}) value={quoted(kind_name(option))} ;;\n"
        for option in named(verb) if not is_flag(option))
    values = f"      case $before in\n{values}      esac\n" if values else ""
    return (f"    {verb['name']})\n      options={quoted(options)}\n      argument="
            f"{quoted(kind_name(argument) if argument else 'none')}\n{values}      ;;\n")


def bash(program):
    verbs = " ".join(verb["name"] for verb in program["verbs"])
    return (BASH_HEAD + f"  local verbs={quoted(verbs + ' --help --version')}\n"
            "  case $verb in\n" + "".join(map(bash_verb, program["verbs"])) + "  esac\n" +
            BASH_TAIL)


def zsh_action(option):
    return {"words": f"({' '.join(option['words'])})", "files": "_files", "none": " ",
            }.get(kind_of(option), "_lockstep_" + kind_of(option))


def zsh_option(option, name):
    return ("        " + quoted("*" * option["repeated"] + name) + quoted("[") +
            quoted(option["help"], "[]:\\") + quoted("]") +
            ("" if is_flag(option) else quoted(f":{option['type']}:{zsh_action(option)}")))


def zsh_verb(verb):
    words, argument = [], first_argument(verb)
    for option in verb["options"]:
        if option is argument:
            words.append("        " + quoted(
                f"*:{option['argument']}:{zsh_action(option)}"))
        elif not option["argument"]:
            words += [zsh_option(option, name) for name in option["names"]]
    words.append("        '--help[Print the help]' ;;\n")
    return " \\\n".join([f"    {verb['name']})\n      _arguments", *words])


def zsh(program):
    verbs = "".join(f"    {quoted(verb['name'] + ':' + verb['description'])}\n"
                    for verb in program["verbs"])
    return (ZSH_HEAD + f"_lockstep() {{\n  local -a verbs\n  verbs=(\n{verbs}  )\n"
            "  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
            "  local verb=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $verb in\n" +
            "".join(map(zsh_verb, program["verbs"])) + '  esac\n}\n_lockstep "$@"\n')


def fish_value(option):
    return {"words": f" -a {quoted(' '.join(option['words']))}", "files": " -F",
            "spec": " -a '(__lockstep_spec)'", "op": " -a '(__lockstep_names ops)'",
            "profile": " -F -a '(__lockstep_names profiles)'", "none": "",
            }[kind_of(option)]


def fish_option(option):
    if option["argument"]:
        return fish_value(option)
    names = "".join(" -l " + n[2:] if n.startswith("--") else " -s " + n[1:]
                    for n in option["names"])
    value = "" if is_flag(option) else " -r" + fish_value(option)
    return names + value + " -d " + quoted(option["help"], "\\")


def fish(program):
    text = FISH_HEAD
    for verb in program["verbs"]:
        text += (f"complete -c lockstep -n __fish_use_subcommand -a {verb['name']} -d "
                 f"{quoted(verb['description'])}\n")
        when = f"complete -c lockstep -n '__fish_seen_subcommand_from {verb['name']}'"
        text += "".join(f"{when}{rest}\n" for rest in map(fish_option, verb["options"])
                        if rest)
    return text


def plain(text):
    """Text that roff takes for nothing else: a backslash stays one, a hyphen can be
    searched and pasted, a line that begins with a dot or quote is no request."""
    lines = [("\\&" if line[:1] in (".", "'") else "") + line.replace("\\", "\\e")
             .replace("-", "\\-").replace("'", "\\(aq") for line in text.split("\n")]
    return "\n".join(lines)


def block(text):
    return f".PP\n.nf\n{plain(text)}\n.fi\n" if text else ""


def man_option(option):
    if option["argument"]:
        head = f"\\fI{plain(option['argument'])}\\fR"
    else:
        head = ", ".join(f"\\fB{plain(name)}\\fR" for name in option["names"])
        head += f" \\fI{plain(option['type'])}\\fR" if option["type"] else ""
    body = plain(option["help"])
    if not all(word in option["help"] for word in option["words"]):
        body += f" ({', '.join(map(plain, option['words']))})"
    return f".TP\n{head}\n{body}{'; required' * option['required']}.\n"


def man(program):
    about = plain(program["description"])
    return (".\\\" Made from the parser by cmake/pages.py\n"
            f".TH LOCKSTEP 1 \"\" \"{plain(program['version'])}\" \"User Commands\"\n"
            f".SH NAME\nlockstep \\- {about}\n"
            ".SH SYNOPSIS\n.B lockstep\n\\fIVERB\\fR [\\fIARGUMENT\\fR]...\n.br\n"
            ".B lockstep\n\\fIVERB\\fR \\fB\\-\\-help\\fR\n.br\n.B lockstep\n"
            f"\\fB\\-\\-version\\fR\n.SH DESCRIPTION\n{about}\n"
            f"{block(program['footer'])}.SH VERBS\n" + "".join(
                f".SS lockstep {plain(verb['name'])}\n{plain(verb['description'])}.\n" +
                "".join(map(man_option, verb["options"])) + block(verb["footer"])
                for verb in program["verbs"]) + MAN_TAIL)


FILES = {"bash-completion/completions/lockstep": bash, "zsh/site-functions/_lockstep": zsh,
         "fish/vendor_completions.d/lockstep.fish": fish, "man/man1/lockstep.1": man}


def said(program, option):
    return subprocess.run([program, option], check=True, capture_output=True,
                          text=True).stdout


def main(folder, lockstep, *siblings):
    program = json.loads(said(lockstep, "--describe"))
    program["version"] = " ".join(said(lockstep, "--version").split()[:2])
    theirs = {verb["name"]: verb for sibling in siblings
              for verb in json.loads(said(sibling, "--describe"))["verbs"]}
    program["verbs"] = [theirs.get(verb["name"], verb) for verb in program["verbs"]]
    for name, page in FILES.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(program), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

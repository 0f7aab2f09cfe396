#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py SHELL PROGRAM - print PROGRAM's completions for bash, zsh or fish.

Options, verbs and their descriptions come from --help, which prints the program's own tables.
"""
import os
import re
import shlex
import subprocess
import sys
from typing import NamedTuple

CLASSES = "lc", "be"
DEVICES = ("soft0",)
# Placeholders of --help, and the words that they stand for.
FILES = {"FILE", "SUITE|PLAN"}
FOLDERS = {"DIR"}
PIDS = {"PID", "PID[:QUEUE]"}
WORDS = {"CLASS": CLASSES, "DEVICE": DEVICES, "ID": DEVICES, "RIGHTS": ("hold", "raise", "others",
                                                                       "read")}


class Option(NamedTuple):
    """One option of a verb."""
    short: str              # "-c", or ""
    long: str               # "--class"
    value: str              # its placeholder, or ""
    doc: str

    def words(self):
        """Values to propose, if there is a list of them."""
        if self.value == "KEY":
            return re.split(r", | or ", self.doc.partition(" by ")[2])
        return list(WORDS.get(self.value, ()))


class Verb(NamedTuple):
    """A verb, or a program without verbs."""
    name: str
    doc: str
    options: list
    rest: str               # CMD, PID, PROGRAM, FILE or ""


class Program(NamedTuple):
    """By its first argument, or by none."""
    name: str
    doc: str
    verbs: list
    plain: Verb             # without a verb


def help_of(*command):
    return subprocess.run([*command, "--help"], check=True, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL).stdout


def options_of(text):
    """The options of argp's help, with their whole descriptions."""
    options, lines = [], text.split("\n")
    for number, line in enumerate(lines):
        found = re.match(r" {2,6}(?:(-.), )?(--[\w-]+)(?:\[=\S+\]|=(\S+))?\s+(.*)", line)
        if found:
            doc = [found[4]]
            for more in lines[number + 1:]:
                if not more.startswith(" " * 29):
                    break
                doc.append(more.strip())
            options.append(Option(found[1] or "", found[2], found[3] or "", " ".join(doc)))
    return options


def rest_of(usage):
    """The arguments of a line of usage."""
    words = re.sub(r"\[OPTION\.\.\.\]|--[\w-]+=\S+", "", usage).split()
    for word in words[::-1]:
        plain = word.strip("[].")
        for known in ("CMD", "PROGRAM", *PIDS, *FILES, *FOLDERS):
            if plain == known or word == known:
                return known
    return ""


def read(path):
    """The verbs and options in @path's --help."""
    name, text = os.path.basename(path), help_of(path)
    about = re.sub(r"^Usage: (?:.*\n)(?:  or: .*\n)*\n*", "", text).split("\n")[0]
    common = options_of(text)
    verbs = []
    for verb, args, doc in re.findall(r"^  (\w+) +(\S.*?)?(?:  +|(?<=  ))(\S.*)$", text, re.M):
        own = help_of(path, verb) if "VERB --help" in text else ""
        options = options_of(own) or [
            Option("", long, {"R": "RIGHTS", "PID": "PID"}.get(value, "TIME"), "")
            for long, value in re.findall(r"(--[\w-]+)=(\w+)", args)]
        if "All take --device" in text:
            options.append(Option("", "--device", "DEVICE", "act on this device only"))
        usage = re.search(r"^Usage: (.*)", own)
        verbs.append(Verb(verb, doc, options, rest_of(usage[1] if usage else args)))
    usages = re.findall(r"^(?:Usage|  or): +\S+ \[OPTION\.\.\.\] ([a-z]+) (.*)$", text, re.M)
    verbs += [Verb(verb, "", common, rest_of(args)) for verb, args in usages]
    plain = common or [Option("", "--help", "", "print help"),
                       Option("", "--version", "", "print the version")]
    return Program(name, about, verbs, Verb("", about, plain, ""))


# ---- bash ----------------------------------------------------------------------------------
BASH = """# bash completion for @NAME@; completions/make.py made it from --help.
_@FN@()
{
	local cur=${COMP_WORDS[COMP_CWORD]} option= verb= words= i
	COMPREPLY=()
	# "=" is a word of its own, and so is the value behind it.
	if [[ $cur == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 1]} cur=
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	else
		option=${COMP_WORDS[COMP_CWORD - 1]}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)
			if ((i + 1 == COMP_CWORD)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			elif declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			return
			;;
@VERBS@		esac
	done
	case $verb:$option in
@VALUES@	esac
	case $verb in
@OPTIONS@	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
}
complete -F _@FN@ @NAME@
"""


def bash_value(kind, words):
    """A command that prints the values, or "" if nobody knows them."""
    if words:
        return f"compgen -W {shlex.quote(' '.join(words))}"
    if kind in PIDS:
        return 'compgen -W "$(cd /proc && echo [0-9]*)"'
    return {"PROGRAM": "compgen -c"}.get(kind, "compgen -f" if kind in FILES else
                                         "compgen -d" if kind in FOLDERS else "")


def bash(program):
    verbs, values, options = "", "", ""
    if program.verbs:
        verbs = f"\t\t{' | '.join(v.name for v in program.verbs)}) verb=${{verb:-${{COMP_WORDS[i]}}}} ;;\n"
    for verb in [program.plain, *program.verbs]:
        for option in verb.options:
            if option.value:
                names = " | ".join(f"{verb.name}:{name}"
                                   for name in (option.short, option.long) if name)
                how = bash_value(option.value, option.words())
                reply = f'mapfile -t COMPREPLY < <({how} -- "$cur"); ' if how else ""
                values += f"\t{names}) {reply}return ;;\n"
        words = [o.long + ("=" if o.value else "") for o in verb.options]
        words += [] if verb.name else [v.name for v in program.verbs]
        words += ["--"] if verb.rest == "CMD" else []
        line = f"words={shlex.quote(' '.join(words))}"
        how = bash_value(verb.rest, ())
        if how:
            line = (f'[[ $cur == -* ]] || {{ mapfile -t COMPREPLY < <({how} -- "$cur"); return; }}; '
                    + line)
        options += f"\t{verb.name or '*'}) {line} ;;\n" if verb.name else ""
        last = f"\t*) {line} ;;\n" if not verb.name else last
    return fill(BASH, program, VERBS=verbs, VALUES=values, OPTIONS=options + last)


def fill(template, program, **parts):
    parts.update(NAME=program.name, FN=program.name.replace("-", "_"))
    return re.sub(r"@(\w+)@", lambda match: parts[match[1]], template)


# ---- zsh -----------------------------------------------------------------------------------
ZSH = """#compdef @NAME@
# zsh completion for @NAME@; completions/make.py made it from --help.
local -a verbs
local verb
@VERBS@for verb in ${words[2,CURRENT-1]}; do
	(( ${verbs[(I)$verb:*]} )) && break
	verb=
done
[[ -z $verb ]] || { while [[ $words[1] != $verb ]]; do shift words; (( CURRENT-- )); done }
case $verb in
@OPTIONS@esac
"""


def zsh_text(text):
    """A description within "[...]" in single quotes."""
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_value(kind, words):
    if words:
        return f"({' '.join(words)})"
    if kind in PIDS:
        return "{compadd - /proc/<1->(N:t)}"     # _pids knows this terminal's processes only
    return {"PROGRAM": "_command_names -e", "CMD": "_normal"}.get(
        kind, "_files" if kind in FILES else "_files -/" if kind in FOLDERS else " ")


def zsh_option(option):
    names = [name for name in (option.short, option.long) if name]
    spec = f"[{zsh_text(option.doc)}]"
    if option.value:
        spec += f":{zsh_text(option.value)}:{zsh_value(option.value, option.words())}"
        names = [name + ("+" if len(name) == 2 else "=") for name in names]
    if len(names) == 1:
        return f"'{names[0]}{spec}'"
    return f"'({option.short} {option.long})'{{{','.join(names)}}}'{spec}'"


def zsh(program):
    verbs = "".join(f"verbs+=('{v.name}:{zsh_text(v.doc)}')\n" for v in program.verbs)
    options = ""
    for verb in [*program.verbs, program.plain]:
        lines = [zsh_option(option) for option in verb.options]
        if verb.rest:
            many = "*::" if verb.rest == "CMD" else "*:"
            lines.append(f"'{many}{zsh_text(verb.rest)}:{zsh_value(verb.rest, ())}'")
        if not verb.name and program.verbs:
            lines.append("'1:verb:{_describe verb verbs}'")
        body = " \\\n\t\t".join(lines)
        options += f"{verb.name or '*'})\n\t_arguments -s -S \\\n\t\t{body}\n\t;;\n"
    return fill(ZSH, program, VERBS=verbs, OPTIONS=options)


# ---- fish ----------------------------------------------------------------------------------
FISH = """# fish completion for @NAME@; completions/make.py made it from --help.
function __@FN@_verb
	set -l words (commandline -opc)
	contains -- -- $words[2..-1]; and return 1
	for word in $words[2..-1]
		if contains -- $word @VERBS@
			test "$word" = "$argv[1]"
			return
		end
	end
	test -z "$argv[1]"
end
function __@FN@_in_command
	contains -- -- (commandline -opc)
end
function __@FN@_command
	set -l words (commandline -opc)
	set -l at (contains -i -- -- $words)
	set -l line (string escape -- $words[(math $at + 1)..-1]) (commandline -ct)
	complete -C (string join -- ' ' $line)
end
complete -c @NAME@ -f
complete -c @NAME@ -n __@FN@_in_command -a '(__@FN@_command)'
@LINES@"""


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_value(kind, words):
    """Arguments of complete for a value."""
    if words:
        return f"-x -a {fish_quote(' '.join(words))}"
    if kind in PIDS:
        return "-x -a '(__fish_complete_pids)'"
    return {"PROGRAM": "-x -a '(__fish_complete_command)'"}.get(
        kind, "-r -F" if kind in FILES else
        "-x -a '(__fish_complete_directories)'" if kind in FOLDERS else "-x")


def fish(program):
    fn, lines = program.name.replace("-", "_"), ""
    for verb in [program.plain, *program.verbs]:
        start = f"complete -c {program.name} -n {fish_quote(f'__{fn}_verb {fish_quote(verb.name)}')}"
        for option in verb.options:
            short = f" -s {fish_quote(option.short[1:])}" if option.short else ""
            value = f" {fish_value(option.value, option.words())}" if option.value else ""
            lines += f"{start}{short} -l {option.long[2:]}{value} -d {fish_quote(option.doc)}\n"
        if verb.rest and verb.rest != "CMD":
            how = fish_value(verb.rest, ()).replace("-r -F", "-F").replace("-x ", "")
            lines += f"{start} {how}\n"
        if not verb.name:
            for v in program.verbs:
                lines += f"{start} -a {v.name} -d {fish_quote(v.doc)}\n"
    verbs = " ".join(v.name for v in program.verbs) or "''"
    return fill(FISH, program, VERBS=verbs, LINES=lines)


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SHELLS:
        print(f"usage: make.py {'|'.join(SHELLS)} PROGRAM", file=sys.stderr)
        return 2
    sys.stdout.write(SHELLS[sys.argv[1]](read(sys.argv[2])))
    return 0


if __name__ == "__main__":
    sys.exit(main())

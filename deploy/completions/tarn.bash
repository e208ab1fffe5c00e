# Completion of tarn, tarn-index, tarn-mount and tarn-bench for bash.
#
# The programs are asked themselves (--help), so what is offered is what the installed version takes.
# shellcheck shell=bash

# The commands that a help text lists, one a line.
_tarn_commands() {
  awk '/^[^ ]/ {inside = tolower($0) ~ /^(sub)?commands.*:$/} inside && /^  ?[a-z]/ {sub(/[,:]$/, "", $1); print $1}'
}

# The long options that a help text describes, one a line.
_tarn_options() {
  awk 'match($0, /^ +(-[A-Za-z], *)?--[a-z][a-z0-9-]*/) {
    option = substr($0, RSTART, RLENGTH); sub(/^.*--/, "--", option); print option}'
}

_tarn() {
  local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} help command=''
  COMPREPLY=()
  help=$("$program" --help 2>/dev/null) || return 0
  if [ "$COMP_CWORD" -gt 1 ] && _tarn_commands <<<"$help" | grep -qxF -- "${COMP_WORDS[1]}"; then
    command=${COMP_WORDS[1]}
    help=$("$program" "$command" --help 2>/dev/null) || return 0
  fi
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_tarn_options <<<"$help")" -- "$word")
  elif [ -z "$command" ] && [ "$COMP_CWORD" -eq 1 ] && [ -n "$(_tarn_commands <<<"$help")" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_tarn_commands <<<"$help")" -- "$word")
  fi
}
# Names of files where nothing above fits.
complete -o default -F _tarn tarn tarn-index tarn-mount tarn-bench

# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# What network.sh and interpreter.sh share: a folder that is removed at the end, a program in the background, commands that are
# printed before they run, and checks of their output.
set -euo pipefail

folder=$(mktemp -d)
log=$folder/log
pid=''
cleanup() {
  [[ -z $pid ]] || kill "$pid" 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

title() { printf '\n%s\n' "$*"; }

fail() {
  printf '\nFAILED %s\n' "$*" >&2
  [[ ! -s $log ]] || tail -n 15 "$log" >&2
  exit 1
}

# start PROGRAM ARGUMENT... runs a program in the background, until the command in $ready succeeds.
start() {
  "$@" >>"$log" 2>&1 &
  pid=$!
  for _ in {1..300}; do
    if $ready; then
      echo "ok  $(basename "$1") answers"
      return
    fi
    kill -0 "$pid" 2>/dev/null || fail "$1 ended"
    sleep 0.1
  done
  fail "$1 does not answer"
}

# show COMMAND ARGUMENT... prints a command, runs it and prints its output, which stays in $out.
show() {
  echo "  \$ $*"
  out=$("$@") || fail "$1 exited with status $?"
  [[ -z $out ]] || sed 's/^/  /' <<<"$out"
}

# want TEXT... checks that the last output contains all texts.
want() {
  local text
  for text in "$@"; do
    [[ $out == *"$text"* ]] || fail "the output should contain $text"
  done
}

# stay ADVICE keeps the program until Ctrl-C, unless ONCE is set.
stay() {
  printf '\nOK Everything went as it should.\n'
  case ${ONCE:-} in '' | 0 | false | no) ;; *) exit 0 ;; esac
  printf '\nIt stays up until Ctrl-C. %s\nEverything is in %s, which is removed at the end.\n' "$1" "$folder"
  wait "$pid" || true
  fail 'the program ended'
}

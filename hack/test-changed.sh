#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Runs the unit tests that depend on packages changed since BASE (default: main), and the suites whose own files changed.
# Arguments are passed to go test. It ends with the durations of the packages, slowest first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
module=$(go list -m)

base=$(git merge-base "${BASE:-main}" HEAD)
# Changed, added and deleted files, with those that are not committed yet; each file belongs to the nearest folder with a package.
changed=$(
  { git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u | while read -r file; do
    folder=$(dirname "$file")
    while [ "$folder" != . ] && ! compgen -G "$folder/*.go" >/dev/null; do folder=$(dirname "$folder"); done
    if [ "$folder" != . ]; then echo "$module/$folder"; fi
  done | sort -u
)
if [ -z "$changed" ]; then
  echo "no package changed since $base"
  exit 0
fi

# Each line has a test binary and the packages that it links.
dependent=$(
  go list -test -f '{{if not .ForTest}}{{.ImportPath}} {{join .Deps " "}} {{end}}' ./... | awk -v changed="$changed" '
    BEGIN { split(changed, names, "\n"); for (i in names) wanted[names[i]] = 1 }
    $1 ~ /\.test$/ {
      package = substr($1, 1, length($1) - 5)
      for (i = 1; i <= NF; i++) { sub(/ \[.*/, "", $i); if ($i in wanted || package in wanted) { print package; next } }
    }' | sort -u
)
units=$(grep -v "^$module/test/" <<<"$dependent" || true)
suites=$(grep "^$module/test/" <<<"$dependent" | grep -Fx "$changed" || true)
others=$(grep "^$module/test/" <<<"$dependent" | grep -Fxv "$changed" | sed "s|^$module/||" | tr '\n' ' ' || true)

if [ -n "$others" ]; then echo "not run, though they link changed packages: $others"; fi
if [ -n "$suites" ]; then make --no-print-directory build servers; fi
if [ -z "$units$suites" ]; then exit 0; fi
# shellcheck disable=SC2086 # one argument per package
hack/test.sh -vet=off "$@" $units $suites

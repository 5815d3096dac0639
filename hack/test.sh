#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Runs go test with the given arguments, and then prints the durations of the packages, slowest first. Packages of less
# than a second are left out. `hack/test.sh suites ARGUMENTS` runs the suites in test/: all of them, or the specs of
# Ginkgo that have LABELS and match FOCUS. With REPORTS=<folder>, suites that test/suite runs write JUnit reports into the
# folder; go test does not cache their results then. The test binaries of suites stay in .cache/tests (two gigabytes): go
# test links only those that are out of date. Packages with tests in test/ therefore differ in the last element of their
# paths.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# go test starts packages in this order. The longest suites come first, so that none of them remains at the end.
longest=(docs admission availability interpreter crash commands ledger history)

output=$(mktemp)
trap 'rm -f "$output"' EXIT

if [ "${1:-}" = suites ]; then
  shift
  mkdir -p .cache/tests
  set -- -o .cache/tests/ "$@"
  if [ -n "${REPORTS:-}" ]; then
    mkdir -p "$REPORTS"
    GRAFT_TEST_REPORTS=$(cd "$REPORTS" && pwd)
    export GRAFT_TEST_REPORTS
  fi
  if [ -z "${LABELS:-}${FOCUS:-}" ]; then
    # Packages without tests have no test binaries.
    packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./test/...)
    # shellcheck disable=SC2086 # one argument per package
    set -- "$@" "${longest[@]/#/./test/}" $packages
  else
    # Packages without Ginkgo do not know its flags.
    imports='{{.ImportPath}} {{.TestImports}} {{.XTestImports}}'
    packages=$(go list -f "$imports" ./test/... | awk '/onsi\/ginkgo/ { print $1 }')
    # TestSuite has cases without Ginkgo, which stores and clouds share.
    # shellcheck disable=SC2086 # one argument per package
    set -- "$@" -skip '^TestSuite$' $packages
    if [ -n "${LABELS:-}" ]; then set -- "$@" -ginkgo.label-filter="$LABELS"; fi
    if [ -n "${FOCUS:-}" ]; then set -- "$@" -ginkgo.focus="$FOCUS"; fi
  fi
fi

# Without debug information, linking the test binaries takes 40 % less CPU time. TESTFLAGS=-ldflags= keeps it.
status=0
go test -ldflags=-w "$@" | tee "$output" || status=$?

echo '==> durations, slowest first'
awk '
  ($1 == "ok" || $1 == "FAIL") && $3 ~ /^[0-9.]+s$/ && $3 + 0 >= 1 { printf "%8.1f s  %s\n", $3, $2 }
' "$output" | sort -rn
exit "$status"

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Generates everything again and fails if that changes a file. The state before and after is recorded as trees of git with
# an index of their own, so that work which is not committed yet is neither touched nor reported.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

index=$(mktemp)
trap 'rm -f "$index"' EXIT

snapshot() {
  cp "$(git rev-parse --git-path index)" "$index" 2>/dev/null || rm -f "$index"
  GIT_INDEX_FILE=$index git add --all
  GIT_INDEX_FILE=$index git write-tree
}

before=$(snapshot)
make --no-print-directory generate
after=$(snapshot)
if [[ $before != "$after" ]]; then
  git --no-pager diff --stat "$before" "$after"
  echo "generated files are not current: run \`make generate\` and commit what it changes" >&2
  exit 1
fi
echo "generated files are current"

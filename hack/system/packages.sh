#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Installs the Debian packages of packages.txt that are missing. Needs root and apt-get for that, and neither if all are there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

missing=()
while read -r package _; do
  case $package in '' | '#'*) continue ;; esac
  if [[ $(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
    missing+=("$package")
  fi
done <packages.txt

[[ ${#missing[@]} -gt 0 ]] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "THE SYSTEM TESTS NEED ${missing[*]}, as Debian's packages have them, and there is no apt-get here." >&2
  exit 1
fi
if [[ $(id -u) != 0 ]]; then
  echo "THE SYSTEM TESTS NEED ROOT ONCE, to install ${missing[*]}." >&2
  echo "Run: sudo hack/system/packages.sh" >&2
  exit 1
fi

echo "==> AS ROOT: apt-get install ${missing[*]} (about a minute)"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get -q update && apt-get -qy install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  exit 1
fi

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Installs the Debian packages of packages.txt that are missing, or those that are named. Needs root and apt-get for that, and neither if all are
# there. No service is started, not even dockerd.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

who='THE SYSTEM TESTS NEED'
if [[ $# -gt 0 ]]; then
  who='THIS NEEDS'
  wanted=("$@")
else
  mapfile -t wanted < <(sed 's/[[:space:]]*#.*//; /^$/d' packages.txt)
fi

missing=()
for package in "${wanted[@]}"; do
  if [[ $(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
    missing+=("$package")
  fi
done

[[ ${#missing[@]} -gt 0 ]] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "$who ${missing[*]}, as Debian's packages have them, and there is no apt-get here." >&2
  exit 1
fi
if [[ $(id -u) != 0 ]]; then
  echo "$who ROOT ONCE, to install ${missing[*]}." >&2
  echo "Run: sudo hack/system/packages.sh $*" >&2
  exit 1
fi

echo "==> AS ROOT: apt-get install ${missing[*]} (a few minutes)"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
remove=("$log")
trap 'rm -f "${remove[@]}"' EXIT
# What a service is allowed to do while packages are set up; a machine that has its own says so itself.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  remove+=("$policy")
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod 755 $policy
fi
# Somebody else may be installing.
apt=(apt-get -q -y -o DPkg::Lock::Timeout=300)
if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  exit 1
fi

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Unpacks the Debian packages that are named, and all that they need and is not installed, into a folder: nothing is installed, and no root is
# needed. Usage: unpack.sh <folder> <package>...
set -euo pipefail

folder=$1
shift
[[ ! -e $folder/.done ]] || exit 0

if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "THIS NEEDS $*, as Debian's packages have them, and there is no apt-get here." >&2
  exit 1
fi

mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists,archives}/partial "$work/debs"
# Lists of our own: those of the machine may be old, or not there.
apt=(apt-get -q -y -o Dir::State::lists="$work/lists" -o Dir::Cache="$work" -o Dir::State::status=/var/lib/dpkg/status -o Debug::NoLocking=1)
if ! {
  "${apt[@]}" update &&
    "${apt[@]}" --simulate --no-install-recommends install "$@" | sed -n 's/^Inst \([^ ]*\) .*/\1/p' >"$work/missing" &&
    (cd "$work/debs" && xargs -r "${apt[@]}" download <"$work/missing")
} >"$work/log" 2>&1; then
  tail -n 40 "$work/log" >&2
  exit 1
fi
for package in "$work"/debs/*.deb; do
  [[ ! -e $package ]] || dpkg-deb -x "$package" "$folder"
done
touch "$folder/.done"

#!/bin/sh
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Writes the ID under which the cloud knows this machine into the variables that the kubelet is started with. It runs before each start of
# the kubelet, and does nothing when the ID is there.
set -eu

variables=/var/lib/kubelet/extra_args
metadata=http://100.100.100.200/latest/meta-data

! grep -sq '^PROVIDER_ID=.' "$variables" || exit 0

# ask prints an entry of the machine's metadata. An answer that is empty is none: the kubelet must not start with half an ID.
ask() {
  answer=$(wget -q -T 5 -O - "$metadata/$1" || curl -sf -m 5 "$metadata/$1")
  [ -n "$answer" ] || { echo "the metadata have no $1" >&2; exit 1; }
  printf '%s' "$answer"
}

region=$(ask region-id)
instance=$(ask instance-id)

echo "PROVIDER_ID=$region.$instance" >> "$variables"
echo "the provider ID is $region.$instance"

#!/bin/sh
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Writes the ID under which the cloud knows this machine into the kubelet's configuration, in place of the placeholder that stands
# there for all machines of a worker pool. It runs before each start of the kubelet, and does nothing when there is no placeholder.
set -eu

placeholder=place_holder_of_providerid
configuration=/var/lib/kubelet/config/kubelet
metadata=http://100.100.100.200/latest/meta-data

grep -sq "$placeholder" "$configuration" || exit 0

# ask prints an entry of the machine's metadata. An answer that is empty is none: the kubelet must not start with half an ID.
ask() {
  answer=$(wget -q -T 5 -O - "$metadata/$1" || curl -sf -m 5 "$metadata/$1")
  [ -n "$answer" ] || { echo "the metadata have no $1" >&2; exit 1; }
  printf '%s' "$answer"
}

region=$(ask region-id)
instance=$(ask instance-id)

new=$(mktemp "$configuration.XXXXXX")
trap 'rm -f "$new"' EXIT
sed "s/$placeholder/$region.$instance/g" "$configuration" > "$new"
chmod --reference="$configuration" "$new"
mv "$new" "$configuration"
echo "the provider ID is $region.$instance"

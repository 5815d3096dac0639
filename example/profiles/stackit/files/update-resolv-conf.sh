#!/bin/sh
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Writes the resolv.conf that the kubelet gives to Pods: that of systemd-resolved with the real name servers, which the node's
# own /etc/resolv.conf hides behind a stub, and with the options that the cloud profile asks for.
set -eu

from=/run/systemd/resolve/resolv.conf
[ -r "$from" ] || from=/etc/resolv.conf
to=/etc/resolv-for-kubelet.conf

new=$(mktemp "$to.XXXXXX")
trap 'rm -f "$new"' EXIT

grep -v '^options ' "$from" > "$new" || true
if [ -n "${RESOLV_CONF_OPTIONS:-}" ]; then
  echo "options $RESOLV_CONF_OPTIONS" >> "$new"
else
  grep '^options ' "$from" >> "$new" || true
fi
chmod 0644 "$new"

# The kubelet reads the file for each Pod, so that it must never be half written, and need not be told.
cmp -s "$new" "$to" || mv "$new" "$to"

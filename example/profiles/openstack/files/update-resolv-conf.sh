#!/bin/sh
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Provides the resolv.conf that the kubelet gives to Pods: that of systemd-resolved with the real name servers, which the node's
# own /etc/resolv.conf hides behind a stub, or /etc/resolv.conf on machines without systemd-resolved. Options of the cloud
# profile are added after those of the resolver.
set -eu

from=/run/systemd/resolve/resolv.conf
[ -f "$from" ] || from=/etc/resolv.conf
to=/etc/resolv-for-kubelet.conf

# A Pod keeps the file that it is started with. The unit starts this script again until the machine has a name server.
if ! grep -Eq '^[[:space:]]*nameserver[[:space:]]' "$from"; then
  echo "$from has no name server yet" >&2
  exit 10
fi

new=$(mktemp "$to.XXXXXX")
trap 'rm -f "$new"' EXIT

if [ -z "${RESOLV_CONF_OPTIONS:-}" ]; then
  ln -sf "$from" "$new"
else
  {
    cat "$from"
    printf '\noptions %s\n' "$RESOLV_CONF_OPTIONS"
  } > "$new"
  chmod 0644 "$new"
fi

# The kubelet reads the file for each Pod, so that it must never be half written.
mv -f "$new" "$to"

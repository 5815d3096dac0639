#!/bin/sh
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Sets the MTU of the machine's own network interfaces. Those that are not backed by a device (bridges, tunnels, the ends of
# Pods) follow from them or are the network plugin's.
set -u

mtu=${MTU:-1460}
failed=0

for interface in /sys/class/net/*; do
  [ -e "$interface/device" ] || continue
  name=${interface##*/}
  if ip link set dev "$name" mtu "$mtu"; then
    echo "$name: the MTU is $mtu"
  else
    failed=1
  fi
done

exit "$failed"

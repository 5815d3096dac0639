#!/bin/bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# The first process of a guest. It installs the units as docs/usage/network-provider.md says, in file systems in memory,
# and executes systemd.
set -eu
shared=/mnt/shared
etc=/run/etc
mkdir -p $etc/systemd/system $etc/graft/network
cp -a /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache /etc/os-release $etc/
echo 0123456789abcdef0123456789abcdef >$etc/machine-id
: >$etc/fstab
install -m 0644 $shared/graft-docker.socket $shared/graft-network-provider.service $etc/systemd/system/
install -m 0644 $shared/network-provider.yaml $etc/graft/
install -m 0644 $shared/docker.yaml $etc/graft/network/
mount --bind $etc /etc
mount -t tmpfs -o mode=755 programs /usr/local/bin
install -m 0755 $shared/graft-network-provider /usr/local/bin/
mount -t tmpfs -o mode=755 log /var/log

# The test does not need these services.
for unit in systemd-udevd systemd-udev-trigger systemd-sysctl systemd-timesyncd systemd-networkd systemd-resolved systemd-random-seed; do
  ln -s /dev/null /etc/systemd/system/$unit.service
done
cat >/etc/systemd/system/guest.service <<X
[Unit]
After=graft-network-provider.service
[Service]
Type=oneshot
Environment=GRAFT_UNITS_GUEST=$shared/status
ExecStart=$shared/guest
ExecStopPost=/bin/systemctl poweroff --force --force
StandardOutput=append:$shared/output
StandardError=append:$shared/output
X
cat >/etc/systemd/system/guest.target <<X
[Unit]
Wants=graft-docker.socket graft-network-provider.service guest.service
X
exec /lib/systemd/systemd --unit=guest.target --show-status=no --log-target=console

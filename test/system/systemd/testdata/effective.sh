#!/bin/bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# The first process of a guest. It creates folders for units in memory and executes systemd, which runs the test.
set -eu
shared=/mnt/shared
etc=/run/etc
mkdir -p $etc/systemd/system $etc/case
cp -a /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache /etc/os-release $etc/
echo 0123456789abcdef0123456789abcdef >$etc/machine-id
: >$etc/fstab
mount --bind $etc /etc
mount -t tmpfs -o mode=755 lib /usr/local/lib
mount -t tmpfs -o mode=755 log /var/log
install -D -m 0755 $shared/guest /run/arguments

# The test does not need these services.
for unit in systemd-udevd systemd-udev-trigger systemd-sysctl systemd-timesyncd systemd-networkd systemd-resolved systemd-random-seed; do
  ln -s /dev/null /etc/systemd/system/$unit.service
done
cat >/etc/systemd/system/guest.service <<X
[Service]
Type=oneshot
Environment=GRAFT_EFFECTIVE_GUEST=$shared/status
ExecStart=$shared/guest
ExecStopPost=/bin/systemctl poweroff --force --force
StandardOutput=append:$shared/output
StandardError=append:$shared/output
X
printf '[Unit]\nWants=guest.service\n' >/etc/systemd/system/guest.target
# Some specifiers depend on the environment. The first process of a real machine does not have the variables of a guest.
unset TMPDIR
export HOME=/root
exec /lib/systemd/systemd --unit=guest.target --show-status=no --log-target=console

#!/bin/bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# The first process of a guest. It mounts file systems in memory where a test writes files, and executes systemd, which
# runs the test.
set -eu
shared=/mnt/shared
etc=/run/etc
mkdir -p $etc/systemd/system
cp -a /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache /etc/os-release $etc/
echo 0123456789abcdef0123456789abcdef >$etc/machine-id
: >$etc/fstab
mount --bind $etc /etc
cp -a /usr/lib/systemd/system /run/units
mount --bind /run/units /usr/lib/systemd/system
mount -t tmpfs -o mode=755 lib /usr/local/lib
mount -t tmpfs -o mode=755 programs /opt
mount -t tmpfs -o mode=755 log /var/log
mount -t tmpfs -o mode=755 generators /usr/lib/systemd/system-generators
mkdir /opt/bin
cat >/opt/bin/kubelet <<'X'
#!/bin/sh
{ printf '%s\0' "$0" "$@"; echo; } >>/run/commands
X
chmod 0755 /opt/bin/kubelet
mkdir -p /run/systemd/system/kubelet.service.d
# systemd waits for the end of a oneshot program, and starts it as often as the test wants.
cat >/run/systemd/system/kubelet.service.d/00-wait.conf <<X
[Unit]
StartLimitIntervalSec=0
[Service]
Type=oneshot
X

# The test does not need these services.
for unit in systemd-udevd systemd-udev-trigger systemd-sysctl systemd-timesyncd systemd-networkd systemd-resolved systemd-random-seed; do
  ln -s /dev/null /etc/systemd/system/$unit.service
done
cat >/etc/systemd/system/guest.service <<X
[Service]
Type=oneshot
Environment=GRAFT_KUBELET_GUEST=$shared/status
WorkingDirectory=$shared
ExecStart=$shared/guest
ExecStopPost=/bin/systemctl poweroff --force --force
StandardOutput=append:$shared/output
StandardError=append:$shared/output
X
printf '[Unit]\nWants=guest.service\n' >/etc/systemd/system/guest.target
exec /lib/systemd/systemd --unit=guest.target --show-status=no --log-target=console

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Writes the folder that `docker plugin create` makes a managed plugin of: config.json, and a root file system with one program in it. Swarm takes
# no others (docs/usage/docker.md).
#   hack/plugin/plugin.sh FOLDER && docker plugin create graft FOLDER && docker plugin enable graft
set -euo pipefail
folder=$(realpath --canonicalize-missing "${1:?usage: hack/plugin/plugin.sh FOLDER}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ -e $folder ]]; then
  echo "$folder exists: name a folder that does not" >&2
  exit 1
fi
mkdir -p "$folder"/rootfs/{etc/graft,host/proc/sys/net,run/docker/plugins,tmp,var/lib/graft}
chmod 1777 "$folder/rootfs/tmp"
# Static: there is nothing else in the plugin, no C library either.
CGO_ENABLED=0 go build -ldflags "-s -w ${LDFLAGS:-}" -o "$folder/rootfs/graft-network-provider" ./cmd/graft-network-provider
cp hack/plugin/config.json "$folder/"

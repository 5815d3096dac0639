#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Builds packages of this repository into bin/, and prints what is being built, how long it usually takes and, every 15 seconds, that it
# still runs. make sets GRAFT_LDFLAGS. Usage: hack/start/build.sh WHAT ESTIMATE PACKAGE...; the programs of hack/start are built into .cache/bin.
set -euo pipefail

what=$1 estimate=$2 started=$SECONDS
shift 2
out=bin/
[[ $1 != ./hack/* ]] || out=.cache/bin/$what
mkdir -p bin .cache/bin
echo "==> building $what (about $estimate on two cores if nothing is cached yet)"
go build -buildvcs=false -ldflags "$GRAFT_LDFLAGS" -o "$out" "$@" &
pid=$! ticks=0
trap 'kill "$pid" 2>/dev/null || true' EXIT
while kill -0 "$pid" 2>/dev/null; do
  sleep 0.2
  ticks=$((ticks + 1))
  ((ticks % 75)) || echo "    still building $what ($((SECONDS - started)) s)"
done
wait "$pid"
trap - EXIT

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Shows graft-resource-interpreter with a certificate that it issues itself: it asks it over TLS what Karmada asks about a Worker,
# an Etcd and a kind that only the profile knows, and compares the answers with files. `make start-interpreter` builds the programs
# and runs it. Usage: hack/start/interpreter.sh [PROFILE]
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

profile=${1:-example/interpreter/profile.yaml}
objects=hack/start/interpreter/objects
own=example/interpreter/objects/database.yaml
authority=$folder/certificate/ca.crt

address() { sed -n 's/.*Listening.*"address": "\([^"]*\)".*/\1/p' "$log"; }
listening() { [[ -n $(address) ]]; }
ready=listening

# about NAME FILE QUESTION... asks about the object of the control plane, and about that of a member, and compares the answers.
about() {
  local name=$1 file=$2
  shift 2
  local ask=(bin/graft interpreter ask "$file" --members "$objects/$name.members.yaml" --observed "$objects/$name.member.yaml" "$@" "${webhook[@]}")
  local member=(bin/graft interpreter ask "$objects/$name.member.yaml" --operation 'health,status' "${webhook[@]}")
  show "${ask[@]}"
  show "${member[@]}"
  { "${ask[@]}" -o yaml && echo --- && "${member[@]}" -o yaml; } >"$folder/answers" || fail 'no answers'
  grep -v '^#' "$objects/$name.answers.yaml" | sed '1{/^$/d}' | diff - "$folder/answers" || fail "the answers (>) are not those of $objects/$name.answers.yaml (<)"
}

start bin/graft-resource-interpreter --profiles "$profile" --certificate-folder "$folder/certificate" --listen 127.0.0.1:0 \
  --metrics-address 0 --log-format text
webhook=(--url "https://$(address)" --ca "$authority")
title 'The webhook configuration for Karmada'
show bin/graft interpreter webhook -p "$profile" "${webhook[@]}"
title 'A Worker as gardenlet writes it, and what an extension in a member has made of it'
about worker "$objects/worker.yaml" --operation dependencies,retain,aggregate
title 'An Etcd as gardenlet writes it, and its status from etcd-druid in a member'
about etcd "$objects/etcd.yaml" --operation replicas,revise,dependencies,aggregate --replicas 0
title 'A kind that only the profile knows'
about database "$own" --operation replicas,revise,dependencies,retain,aggregate --replicas 4
stay "Change $profile, and ask again:
    bin/graft interpreter ask $own ${webhook[*]}"

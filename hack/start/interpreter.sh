#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Shows the answers of a profile about a Worker, an Etcd and a kind that only the profile knows, and compares them with files. Then it
# starts graft-resource-interpreter with a certificate that it issues itself, and asks it over TLS as Karmada does. `make start-interpreter`
# builds the programs and runs it. It needs curl. Usage: hack/start/interpreter.sh [PROFILE]
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v curl >/dev/null || fail 'curl is needed to ask the server'

profile=${1:-example/interpreter/profile.yaml}
objects=hack/start/interpreter/objects
requests=hack/start/interpreter/requests
own=example/interpreter/objects/database.yaml
authority=$folder/certificate/ca.crt

address() { sed -n 's/.*Listening.*"address": "\([^"]*\)".*/\1/p' "$log"; }
listening() { [[ -n $(address) ]]; }
ready=listening

# about NAME FILE QUESTION... asks about the object of the control plane, and about that of a member, and compares the answers.
about() {
  local name=$1 file=$2
  shift 2
  local ask=(bin/graft interpreter ask "$file" -p "$profile" --members "$objects/$name.members.yaml" --observed "$objects/$name.member.yaml" "$@")
  local member=(bin/graft interpreter ask "$objects/$name.member.yaml" -p "$profile" --operation 'health,status')
  show "${ask[@]}"
  show "${member[@]}"
  { "${ask[@]}" -o json && "${member[@]}" -o json; } >"$folder/answers" || fail 'no answers'
  diff "$objects/$name.answers.json" "$folder/answers" || fail "the answers (>) are not those of $objects/$name.answers.json (<)"
}

# post NAME sends a request of Karmada to the server.
post() { show curl --silent --show-error --fail --max-time 10 --cacert "$authority" --json "@$requests/$1.json" "https://$(address)/interpret"; }

title 'A Worker as gardenlet writes it, and what an extension in a member has made of it'
about worker "$objects/worker.yaml" --operation dependencies,retain,aggregate
title 'An Etcd as gardenlet writes it, and its status from etcd-druid in a member'
about etcd "$objects/etcd.yaml" --operation replicas,revise,dependencies,aggregate --replicas 0
title 'A kind that only the profile knows'
about database "$own" --operation replicas,revise,dependencies,retain,aggregate --replicas 4
title 'The server for Karmada, over TLS'
start bin/graft-resource-interpreter --profiles "$profile" --certificate-folder "$folder/certificate" --listen 127.0.0.1:0 \
  --metrics-address 0 --log-format text
post worker-health
want '"successful":true' '"healthy":true'
post etcd-dependencies
want '"successful":true' '"name":"etcd-backup"' '"name":"etcd-client-bfd5862e"'
post database-replicas
want '"successful":true' '"replicas":6' '"cpu":"500m"'
title 'The webhook configuration for Karmada'
show bin/graft interpreter webhook -p "$profile" --url "https://$(address)/interpret" --ca "$authority"
stay "Ask again:
    curl --cacert $authority --json @$requests/database-replicas.json https://$(address)/interpret"

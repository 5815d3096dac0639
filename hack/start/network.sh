#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Shows graft-network-provider on a socket: allocations by DRANET's calls, a crash, a release. `make start-network` builds the
# programs and runs it. Usage: hack/start/network.sh [PROFILE]
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

profile=${1:-example/network/acme.yaml}
socket=$folder/dranet.sock
ledger=$folder/ledger
nic='{"name":"pci-0000-27-00-2","pci_address":"0000:27:00.2","mac_address":"46:0a:1b:2c:3d:4e"}'
other='{"name":"pci-0000-28-00-0","pci_address":"0000:28:00.0","mac_address":"46:0a:1b:2c:3d:4f"}'

# request DEVICE CLAIM [FIELDS] is a body of DRANET.
request() {
  printf '{"device":%s,"claim_uid":"%s","config":{"profile":"acme.com/overlay","interface":{"name":"net1"%s}}}' "$1" "$2" "${3:-}"
}

# ask STATUS PATH [BODY] sends a request, and checks the status of the answer, which stays in $out.
ask() {
  local body=()
  [[ -z ${3:-} ]] || body=(-H 'Content-Type: application/json' --data "$3")
  show curl --silent --show-error --unix-socket "$socket" --write-out ' %{http_code}' "${body[@]}" "http://localhost$2"
  [[ $out == *" $1" ]] || fail "the status should be $1"
}

serve() {
  start bin/graft-network-provider --profiles "$profile" --ledger "$ledger" --listen "dranet=unix://$socket" --node worker-1 \
    --metrics-address 0 --log-format text
}
ready="curl --silent --output /dev/null --unix-socket $socket http://localhost/health"

serve
title 'What the profile can do'
ask 200 /health
want '"cloudProvider":true' '"profileProvider":true'
title 'What is known of a network card'
ask 200 /GetDeviceAttributes "$nic"
want '"acme.com/rack"' '"r1"'
title 'A claim gets an address'
ask 200 /GetProfileConfig "$(request "$nic" claim-1)"
first=$out
[[ $first =~ \"addresses\":\[\"([^\"]+)\" ]] || fail 'the answer should have an address'
address=${BASH_REMATCH[1]}
title 'The kubelet asks again, and gets the same answer'
ask 200 /GetProfileConfig "$(request "$nic" claim-1)"
want "$first"
title 'It is killed (SIGKILL), and started again'
kill -KILL "$pid"
wait "$pid" 2>/dev/null || true
serve
title 'It has forgotten nothing'
ask 200 /GetProfileConfig "$(request "$nic" claim-1)"
want "$first"
title 'Another claim wants the same address'
ask 409 /GetProfileConfig "$(request "$other" claim-2 ",\"addresses\":[\"$address\"]")"
want 'in use'
title 'The profile does not allow everything'
ask 403 /GetProfileConfig "$(request "$other" claim-2 ',"dhcp":true')"
want 'there is no DHCP'
title 'What the ledger holds'
show bin/graft ledger inspect "$ledger"
want claim-1 "${address%/*}"
title 'The claim is released'
ask 200 /ReleaseProfileConfig "$(request "$nic" claim-1)"
show bin/graft ledger inspect "$ledger"
[[ $out != *claim-1* ]] || fail 'the ledger should not hold the claim'
stay "Send it requests, or change $profile.
The ledger: bin/graft ledger inspect $ledger"

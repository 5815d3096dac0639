// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// The labels of libnetwork that the driver evaluates.
const (
	labelGeneric   = ipam.OwnOptions + "network.generic"
	labelInternal  = ipam.OwnOptions + "network.internal"
	labelPortMap   = ipam.OwnOptions + "network.portmap"
	labelMAC       = ipam.OwnOptions + "network.endpoint.macaddress"
	labelInterface = ipam.OwnOptions + "network.endpoint.ifname"
	labelGateway   = ipam.TypeGateway
)

// said returns an option as text, or false if it is missing, null, or not a scalar.
func (o options) said(label string) (string, bool) {
	raw := bytes.TrimSpace(o[label])
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return "", false
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw), true
	}
	return text, true
}

// own returns the options without libnetwork's labels. For an endpoint, these are the user's.
func (o options) own() map[string]string {
	var all map[string]string
	for name := range o {
		if strings.HasPrefix(name, ipam.OwnOptions) {
			continue
		}
		if text, ok := o.said(name); ok {
			if all == nil {
				all = map[string]string{}
			}
			all[name] = text
		}
	}
	return all
}

// generic returns the user's options of a network, which libnetwork sends below a label of its own.
func (o options) generic() (map[string]string, error) {
	raw, ok := o[labelGeneric]
	if !ok {
		return o.own(), nil
	}
	var inner options
	if err := json.Unmarshal(raw, &inner); err != nil {
		return nil, wrong("Options."+labelGeneric, "must be an object")
	}
	all := o.own()
	for name := range inner {
		text, ok := inner.said(name)
		if !ok {
			if text := string(bytes.TrimSpace(inner[name])); text == "null" {
				continue
			}
			return nil, wrong("Options."+labelGeneric, "must have texts: another thing is in %q", wire.Line(name))
		}
		if all == nil {
			all = map[string]string{}
		}
		all[name] = text
	}
	return all, nil
}

// truth reports whether an option is true.
func (o options) truth(label string) bool {
	text, _ := o.said(label)
	return text == "true"
}

// published returns the ports that a user wants to publish.
func (o options) published() ([]portBinding, error) {
	raw, ok := o[labelPortMap]
	if !ok {
		return nil, nil
	}
	var ports []portBinding
	if err := json.Unmarshal(raw, &ports); err != nil {
		return nil, wrong("Options."+labelPortMap, "must be a list of ports")
	}
	return ports, nil
}

// protocols maps IP protocol numbers to names.
var protocols = map[uint8]string{6: "tcp", 17: "udp", 132: "sctp"}

// describe returns the ports in Docker's notation, without duplicates.
func describe(ports []portBinding) string {
	var names []string
	for _, p := range ports {
		name := fmt.Sprint(p.Port)
		if protocol := protocols[p.Proto]; protocol != "" {
			name += "/" + protocol
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

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

// The labels of libnetwork that mean something here.
const (
	labelGeneric   = ipam.OwnOptions + "network.generic"
	labelInternal  = ipam.OwnOptions + "network.internal"
	labelPortMap   = ipam.OwnOptions + "network.portmap"
	labelMAC       = ipam.OwnOptions + "network.endpoint.macaddress"
	labelInterface = ipam.OwnOptions + "network.endpoint.ifname"
	labelGateway   = ipam.TypeGateway
)

// said is what an option says; false where it is absent, null or no text, number or truth.
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

// own are the options that are not libnetwork's: of an endpoint, those of its user.
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

// generic are the options of the user of a network, which libnetwork puts together under a label of their own.
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

// truth is what an option says of what is or is not.
func (o options) truth(label string) bool {
	text, _ := o.said(label)
	return text == "true"
}

// published are the ports that a user wants to reach by the machine.
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

// protocols are those that ports have, by their numbers in IP.
var protocols = map[uint8]string{6: "tcp", 17: "udp", 132: "sctp"}

// describe names ports as Docker does, each once.
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

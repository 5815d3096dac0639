// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// The options of networks, except the profile.
const (
	optionKind     = "kind"
	optionParent   = "parent"
	optionVLAN     = "vlan"
	optionMode     = "mode"
	optionMTU      = "mtu"
	optionVNI      = "vni"
	optionPort     = "port"
	optionLocal    = "local"
	optionPeers    = "peers"
	optionGateway  = "gateway"
	optionIsolated = "isolated"
	optionPrefix   = "prefix"
)

// Two options of Docker's own drivers are synonyms of ours.
const (
	dockersOwnMTU   = ipam.OwnOptions + "network.driver.mtu"
	dockersOwnStart = ipam.OwnOptions + "network.container_iface_prefix"
)

// The values of the option gateway.
const (
	gatewayMachine = "machine"
	gatewayOutside = "outside"
)

// choice has the settings of options, profile, or both.
type choice struct {
	link.Spec
	Outside, Isolated bool
	Prefix            string
}

// option parses and formats one option.
type option struct {
	read  func(c *choice, text string) error
	write func(c choice) string
}

// networkOptions has all options except the profile.
var networkOptions = map[string]option{
	optionKind: {
		func(c *choice, text string) error { c.Kind = link.Kind(text); return nil },
		func(c choice) string { return string(c.Kind) },
	},
	optionParent: {
		func(c *choice, text string) error { c.Parent = text; return nil },
		func(c choice) string { return c.Parent },
	},
	optionVLAN: {
		func(c *choice, text string) error { return number(&c.VLAN, text, 1, link.MaxVLAN) },
		func(c choice) string { return strconv.Itoa(int(c.VLAN)) },
	},
	optionMode: {
		func(c *choice, text string) error { c.Mode = text; return nil },
		func(c choice) string { return c.Mode },
	},
	optionMTU: {
		func(c *choice, text string) error { return number(&c.MTU, text, link.MinMTU, link.MaxMTU) },
		func(c choice) string { return strconv.Itoa(c.MTU) },
	},
	optionVNI: {
		func(c *choice, text string) error { return number(&c.VNI, text, 1, link.MaxVNI) },
		func(c choice) string { return strconv.Itoa(int(c.VNI)) },
	},
	optionPort: {
		func(c *choice, text string) error { return number(&c.Port, text, 1, 65535) },
		func(c choice) string { return strconv.Itoa(int(c.Port)) },
	},
	optionLocal: {
		func(c *choice, text string) (err error) { c.Local, err = parseAddress(text); return err },
		func(c choice) string { return c.Local.String() },
	},
	optionPeers: {
		readPeers,
		func(c choice) string { return joined(c.Peers) },
	},
	optionGateway: {
		func(c *choice, text string) error {
			c.Outside = text == gatewayOutside
			return oneOf(text, gatewayMachine, gatewayOutside)
		},
		func(c choice) string {
			if c.Outside {
				return gatewayOutside
			}
			return gatewayMachine
		},
	},
	optionIsolated: {
		func(c *choice, text string) error { c.Isolated = text == "true"; return oneOf(text, "true", "false") },
		func(c choice) string { return strconv.FormatBool(c.Isolated) },
	},
	optionPrefix: {
		func(c *choice, text string) error {
			c.Prefix = text
			if !policy.IsInterfacePrefix(text) {
				return errors.New("must be 1 to 12 letters, digits, _, - and ., and begin with a letter")
			}
			return nil
		},
		func(c choice) string { return c.Prefix },
	},
}

// number parses a whole number in a range.
func number[T int | uint16 | uint32](to *T, text string, least, most int) error {
	read, err := strconv.Atoi(text)
	if err != nil || read < least || read > most {
		return fmt.Errorf("must be a number from %d to %d", least, most)
	}
	*to = T(read)
	return nil
}

func oneOf(text string, words ...string) error {
	if slices.Contains(words, text) {
		return nil
	}
	return fmt.Errorf("must be %s%s", strings.Join(words, " or "), source.Suggest(text, words))
}

func parseAddress(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(strings.TrimSpace(text))
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, errors.New("must be an address, such as 192.0.2.1")
	}
	return address.Unmap(), nil
}

func readPeers(c *choice, text string) error {
	c.Peers = nil
	for item := range strings.SplitSeq(text, ",") {
		peer, err := parseAddress(item)
		if err != nil {
			return errors.New("must be addresses with commas between them, such as 192.0.2.1,192.0.2.2")
		}
		if !slices.Contains(c.Peers, peer) {
			c.Peers = append(c.Peers, peer)
		}
	}
	return nil
}

func joined[T fmt.Stringer](all []T) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = one.String()
	}
	return strings.Join(texts, ",")
}

// optionNames returns the sorted names of all options.
func optionNames() []string {
	return slices.Sorted(func(yield func(string) bool) {
		if !yield(ipam.OptionProfile) {
			return
		}
		maps.Keys(networkOptions)(yield)
	})
}

// readOptions parses our options of a network. said lists the given ones, except the profile.
func readOptions(options map[string]string) (c choice, said []string, err error) {
	given := maps.Clone(options)
	for theirs, ours := range map[string]string{dockersOwnMTU: optionMTU, dockersOwnStart: optionPrefix} {
		if text, ok := given[theirs]; ok && given[ours] == "" {
			given[ours] = text
		}
	}
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		known, ok := networkOptions[name]
		switch {
		case name == ipam.OptionProfile, strings.HasPrefix(name, ipam.OwnOptions):
		case !ok:
			problems = append(problems, fmt.Sprintf("there is no option %q%s; there are %s", printable(name), source.Suggest(name, optionNames()),
				strings.Join(optionNames(), ", ")))
		default:
			said = append(said, name)
			if err := known.read(&c, given[name]); err != nil {
				problems = append(problems, "the option "+name+" "+err.Error())
			}
		}
	}
	if len(problems) > 0 {
		return c, nil, fmt.Errorf("%w: %s", ErrImpossible, strings.Join(problems, "; "))
	}
	return c, said, nil
}

// printable returns a user's text on one line, truncated.
func printable(text string) string {
	const most = 64
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	if runes := []rune(plain); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return plain
}

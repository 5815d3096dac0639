// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const (
	optionMTU     = "mtu"
	optionVNI     = "vni"
	optionGateway = "gateway"
	// The values of the option gateway.
	gatewayMachine, gatewayOutside = "machine", "outside"
)

// synonyms maps options of Docker's own drivers to ours.
var synonyms = map[string]string{
	ipam.OwnOptions + "network.driver.mtu": optionMTU, ipam.OwnOptions + "network.container_iface_prefix": "prefix",
}

// option describes an option of networks.
type option struct {
	field func(*composed) any
	// least and most limit a number.
	least, most int
	// check validates a text. It may be nil.
	check func(text string) error
}

// networkOptions has all options of networks except the profile.
var networkOptions = map[string]option{
	"kind":        {field: func(c *composed) any { return &c.Link.Kind }},
	"parent":      {field: func(c *composed) any { return &c.Link.Parent }},
	"vlan":        {field: func(c *composed) any { return &c.Link.VLAN }, least: 1, most: link.MaxVLAN},
	"mode":        {field: func(c *composed) any { return &c.Link.Mode }},
	optionMTU:     {field: func(c *composed) any { return &c.Link.MTU }, least: link.MinMTU, most: link.MaxMTU},
	optionVNI:     {field: func(c *composed) any { return &c.Link.VNI }, least: 1, most: link.MaxVNI},
	"port":        {field: func(c *composed) any { return &c.Link.Port }, least: 1, most: 65535},
	"local":       {field: func(c *composed) any { return &c.Link.Local }},
	"peers":       {field: func(c *composed) any { return &c.Link.Peers }},
	optionGateway: {field: func(c *composed) any { return &c.gateway }, check: oneOf(gatewayMachine, gatewayOutside)},
	"isolated":    {field: func(c *composed) any { return &c.Isolated }, check: oneOf("true", "false")},
	"prefix": {field: func(c *composed) any { return &c.Prefix }, check: func(text string) error {
		if !policy.IsInterfacePrefix(text) {
			return errors.New("must be 1 to 12 letters, digits, _, - and ., and begin with a letter")
		}
		return nil
	}},
}

// oneOf returns a check that a text is one of the words.
func oneOf(words ...string) func(string) error {
	return func(text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		return fmt.Errorf("must be %s%s", strings.Join(words, " or "), source.Suggest(text, words))
	}
}

// set parses the option's value.
func (o option) set(c *composed, text string) (err error) {
	if o.check != nil {
		if err := o.check(text); err != nil {
			return err
		}
	}
	switch to := o.field(c).(type) {
	case *string:
		*to = text
	case *link.Kind:
		*to = link.Kind(text)
	case *bool:
		*to = text == "true"
	case *int:
		err = number(to, text, o.least, o.most)
	case *uint16:
		err = number(to, text, o.least, o.most)
	case *uint32:
		err = number(to, text, o.least, o.most)
	case *netip.Addr:
		*to, err = parseAddress(text)
	case *[]netip.Addr:
		*to, err = parseAddresses(text)
	}
	return err
}

// text returns the option's value.
func (o option) text(c *composed) string { return fmt.Sprint(reflect.ValueOf(o.field(c)).Elem()) }

// number parses a whole number in a range.
func number[T int | uint16 | uint32](to *T, text string, least, most int) error {
	read, err := strconv.Atoi(text)
	if err != nil || read < least || read > most {
		return fmt.Errorf("must be a number from %d to %d", least, most)
	}
	*to = T(read)
	return nil
}

func parseAddress(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(strings.TrimSpace(text))
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, errors.New("must be an address, such as 192.0.2.1")
	}
	return address.Unmap(), nil
}

// parseAddresses parses a list and removes duplicates.
func parseAddresses(text string) ([]netip.Addr, error) {
	var all []netip.Addr
	for item := range strings.SplitSeq(text, ",") {
		address, err := parseAddress(item)
		if err != nil {
			return nil, errors.New("must be addresses with commas between them, such as 192.0.2.1,192.0.2.2")
		}
		if !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all, nil
}

// applyOptions sets the user's options. Those that are fixed must not contradict the profile. It returns all errors.
func (c *composed) applyOptions(fixed map[string]bool) error {
	ours := map[string]string{}
	for name, text := range c.Options {
		if own := synonyms[name]; own != "" && c.Options[own] == "" {
			ours[own] = text
		} else if name != ipam.OptionProfile && !strings.HasPrefix(name, ipam.OwnOptions) {
			ours[name] = text
		}
	}
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		o, known := networkOptions[name]
		if !known {
			all := append(slices.Collect(maps.Keys(networkOptions)), ipam.OptionProfile)
			slices.Sort(all)
			problems = append(problems, fmt.Sprintf("there is no option %q%s; there are %s", name,
				source.Suggest(name, all), strings.Join(all, ", ")))
			continue
		}
		was := o.text(c)
		if err := o.set(c, ours[name]); err != nil {
			problems = append(problems, "the option "+name+" "+err.Error())
		} else if is := o.text(c); fixed[name] && was != is {
			problems = append(problems, fmt.Sprintf("the option %s=%s contradicts the profile %s, which says %s", name,
				is, c.Profile, was))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %s", link.ErrImpossible, strings.Join(problems, "; "))
	}
	return nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package netmanifest

import (
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// maximumAddresses bounds a SpiderIPPool: Spiderpool lists all its addresses in memory whenever it gives one.
const maximumAddresses = 1 << 16

// apiVersion is that of Spiderpool's objects.
const apiVersion = "spiderpool.spidernet.io/v2beta1"

// The objects, as far as they are written here.
type (
	object struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Metadata   metadata `yaml:"metadata"`
		Spec       any      `yaml:"spec"`
	}
	metadata struct {
		Name      string `yaml:"name"`
		Namespace string `yaml:"namespace,omitempty"`
	}
	ippool struct {
		IPVersion int      `yaml:"ipVersion"`
		Subnet    string   `yaml:"subnet"`
		IPs       []string `yaml:"ips"`
		Gateway   string   `yaml:"gateway,omitempty"`
		Routes    []route  `yaml:"routes,omitempty"`
		NodeName  []string `yaml:"nodeName,omitempty"`
	}
	route struct {
		Destination string `yaml:"dst"`
		Gateway     string `yaml:"gw"`
	}
	multus struct {
		CNIType string `yaml:"cniType"`
		VLAN    vlan   `yaml:"vlan"`
	}
	vlan struct {
		Master   []string `yaml:"master"`
		VLANMode string   `yaml:"vlanMode,omitempty"`
		MTU      int32    `yaml:"mtu,omitempty"`
		IPPools  ippools  `yaml:"ippools"`
	}
	ippools struct {
		IPv4 []string `yaml:"ipv4,omitempty,flow"`
		IPv6 []string `yaml:"ipv6,omitempty,flow"`
	}
)

// Spiderpool are the objects for a pool: a SpiderIPPool for each of its families, and the SpiderMultusConfig that Pods name. None has a VLAN: that
// is what the provider is asked for.
func Spiderpool(p *policy.Policy, o Options) ([]byte, error) {
	pool, err := poolOf(p, o.Pool)
	if err != nil {
		return nil, err
	}
	if err := suits(p, pool); err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = pool.Name
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	network := multus{CNIType: "vlan", VLAN: vlan{Master: []string{o.Master}}}
	if !o.Version.LessThan(autoVersion) {
		network.VLAN.VLANMode = "auto"
	}
	if pool.MTU != nil {
		network.VLAN.MTU = *pool.MTU
	}
	var documents []any
	comment := o.comment(pool)
	left := o.IPs
	for _, subnet := range pool.Subnets {
		addresses, remark, err := o.addresses(pool, subnet, &left)
		if err != nil {
			return nil, err
		}
		if len(addresses.Ranges()) == 0 {
			continue
		}
		spec, more := ippoolOf(pool, subnet.Prefix, addresses)
		comment = append(append(comment, remark...), more...)
		name := fmt.Sprintf("%s-v%d", o.Name, spec.IPVersion)
		names := &network.VLAN.IPPools.IPv4
		if spec.IPVersion == 6 {
			names = &network.VLAN.IPPools.IPv6
		}
		*names = append(*names, name)
		documents = append(documents, object{apiVersion, "SpiderIPPool", metadata{Name: name}, spec})
	}
	if left != nil && len(left.Ranges()) > 0 {
		return nil, fmt.Errorf("the pool %s does not have %s", pool.Name, left.Ranges()[0])
	}
	documents = append(documents, object{apiVersion, "SpiderMultusConfig", metadata{o.Name, o.Namespace}, network})
	values, err := SpiderpoolValues(o.ServerURL, o.Version)
	if err != nil {
		return nil, err
	}
	return write(append(comment, quoted(values)...), documents...)
}

// comment says what the objects are, and what of the pool is not in them.
func (o *Options) comment(pool *policy.Pool) []string {
	lines := []string{
		fmt.Sprintf("The pool %s for Spiderpool %s. Pods name the network with the annotation", pool.Name, o.Version),
		fmt.Sprintf("v1.multus-cni.io/default-network: %s/%s", o.Namespace, o.Name),
	}
	if len(pool.Rules)+len(pool.Neighbors) > 0 {
		lines = append(lines, "The rules and neighbors of the pool are not here: Spiderpool has no place for them.")
	}
	return append(lines, unknown(o.Version)...)
}

// quoted is YAML as a part of a comment.
func quoted(yaml []byte) []string {
	lines := []string{"", "Spiderpool itself needs, as --for spiderpool-values writes it:"}
	for line := range strings.Lines(string(yaml)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, "  "+strings.TrimRight(line, "\n"))
		}
	}
	return append(lines, "")
}

// addresses are those of one family that Spiderpool is to give, which may be none, with what is to be said of them. What is found of the wanted
// ones is taken away from what is left of them.
func (o *Options) addresses(pool *policy.Pool, subnet ledger.Subnet, left **netipx.IPSet) (set *netipx.IPSet, remark []string, err error) {
	tooMany := func(set *netipx.IPSet) bool { return allocator.NewSpace(set).Size() > maximumAddresses }
	if o.IPs == nil {
		if !tooMany(subnet.Dynamic) {
			return subnet.Dynamic, nil, nil
		}
		set, err := beginning(subnet.Dynamic, maximumAddresses)
		return set, []string{
			fmt.Sprintf("Of %s these are the first %d addresses: Spiderpool lists all of a pool in memory. Others can be chosen with --ips.",
				subnet.Prefix, maximumAddresses),
		}, err
	}
	var wanted, rest netipx.IPSetBuilder
	wanted.AddSet(subnet.Dynamic)
	if subnet.Static != nil {
		wanted.AddSet(subnet.Static)
	}
	wanted.Intersect(o.IPs)
	if set, err = wanted.IPSet(); err != nil {
		return nil, nil, fmt.Errorf("finding the addresses: %w", err)
	}
	rest.AddSet(*left)
	rest.RemoveSet(set)
	if *left, err = rest.IPSet(); err != nil {
		return nil, nil, fmt.Errorf("finding the addresses: %w", err)
	}
	if tooMany(set) {
		return nil, nil, fmt.Errorf("more than %d addresses of the pool %s are too many: Spiderpool lists all of them in memory", maximumAddresses, pool.Name)
	}
	return set, nil, nil
}

// beginning are the first addresses of a set that has more.
func beginning(set *netipx.IPSet, count uint32) (*netipx.IPSet, error) {
	last := allocator.NewSpace(set).Address(count - 1)
	var first netipx.IPSetBuilder
	for _, r := range set.Ranges() {
		switch {
		case !last.Less(r.To()):
			first.AddRange(r)
		case !last.Less(r.From()):
			first.AddRange(netipx.IPRangeFrom(r.From(), last))
		}
	}
	return first.IPSet()
}

// ippoolOf is the spec of a SpiderIPPool, with what is to be said of it.
func ippoolOf(pool *policy.Pool, prefix netip.Prefix, addresses *netipx.IPSet) (spec *ippool, remark []string) {
	spec = &ippool{IPVersion: 4, Subnet: prefix.String(), NodeName: pool.Nodes}
	if prefix.Addr().Is6() {
		spec.IPVersion = 6
	}
	for _, r := range addresses.Ranges() {
		spec.IPs = append(spec.IPs, text(r))
	}
	for _, gateway := range pool.Gateways {
		switch {
		case prefix.Contains(gateway):
			spec.Gateway = gateway.String()
		case prefix.Addr().BitLen() == gateway.BitLen():
			remark = append(remark, fmt.Sprintf("The gateway %s is not here: Spiderpool wants one in %s.", gateway, prefix))
		}
	}
	for _, r := range pool.Routes {
		if destination, err := netip.ParsePrefix(r.Destination); err == nil && destination.Bits() > 0 && r.Gateway != "" && r.Table == 0 &&
			destination.Addr().BitLen() == prefix.Addr().BitLen() {
			spec.Routes = append(spec.Routes, route{r.Destination, r.Gateway})
		}
	}
	return spec, remark
}

// text is a range as Spiderpool reads it: one address, or the first and the last.
func text(r netipx.IPRange) string {
	if r.From() == r.To() {
		return r.From().String()
	}
	return r.From().String() + "-" + r.To().String()
}

// ParseIPs reads addresses, prefixes and ranges.
func ParseIPs(texts []string) (*netipx.IPSet, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	var set netipx.IPSetBuilder
	for _, text := range texts {
		switch {
		case strings.Contains(text, "/"):
			prefix, err := netip.ParsePrefix(text)
			if err != nil {
				return nil, fmt.Errorf("%q is no prefix", text)
			}
			set.AddPrefix(prefix)
		case strings.Contains(text, "-"):
			r, err := netipx.ParseIPRange(text)
			if err != nil {
				return nil, fmt.Errorf("%q is no range of addresses", text)
			}
			set.AddRange(r)
		default:
			address, err := netip.ParseAddr(text)
			if err != nil || address.Zone() != "" {
				return nil, fmt.Errorf("%q is no address", text)
			}
			set.Add(address)
		}
	}
	return set.IPSet()
}

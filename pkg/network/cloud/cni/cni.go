// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cni is the cloud in which the IPAM plugin of a CNI network configuration, such as host-local, selects the
// addresses: it runs the plugin's program as a container runtime does, without a container.
//
// Plugins identify owners by the ID of the container, the name of the interface, or the name of the Pod: these three
// are unique for each owner, so that no plugin confuses two owners. The package does not access the plugin's data.
// Start reading at New.
package cni

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// Options configure a cloud.
type Options struct {
	// Configurations is the folder of network configurations, and Plugins the folder of the programs.
	Configurations, Plugins string
	// Timeout limits one run of a plugin, which is then killed with all its child processes; default 10 s.
	Timeout time.Duration
}

// recently limits the stored bindings, which are needed until the ledger has them.
const recently = 4096

// PluginCloud is a cloud.Cloud that runs CNI plugins.
type PluginCloud struct {
	configuration string
	options       Options
	// recent caches results of plugins by cloud.Identity, because a plugin need not return the result again.
	recent *lru.Cache
}

// New makes the cloud of the configuration with a name. The configuration is read when a plugin is run.
func New(configuration string, o Options) *PluginCloud {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	return &PluginCloud{configuration: configuration, options: o, recent: lru.New(recently)}
}

// Check returns an error if the configuration or the plugin is missing.
func (c *PluginCloud) Check() error {
	_, err := load(c.options, c.configuration)
	return err
}

// Bind implements cloud.Cloud. If the response of an earlier attempt was lost and the plugin does not repeat it, Bind
// first releases the result of that attempt. It fails with network.ErrRefused if the plugin rejects the allocation.
func (c *PluginCloud) Bind(ctx context.Context, a network.Allocation) (network.Binding, error) {
	if err := ctx.Err(); err != nil {
		return network.Binding{}, err
	}
	if len(a.Binding.Reference) > 0 {
		return a.Binding, nil
	}
	if recent, ok := c.recent.Get(cloud.Identity(a)); ok {
		return recent.(network.Binding), nil
	}
	if err := checkNamespace(a.Holder.Namespace); err != nil {
		return network.Binding{}, err
	}
	p, err := load(c.options, c.configuration)
	if err != nil {
		return network.Binding{}, err
	}
	at, err := attachmentOf(c.configuration, a)
	if err != nil {
		return network.Binding{}, err
	}
	result, err := p.run(ctx, "ADD", at, a.Addresses)
	if _, ended := errors.AsType[*pluginError](err); ended && !errors.Is(err, network.ErrRefused) {
		// A plugin may refuse to add twice (host-local does), and a runtime owes a DEL after an ADD that has failed.
		if _, err := p.run(ctx, "DEL", at, nil); err != nil {
			return network.Binding{}, err
		}
		result, err = p.run(ctx, "ADD", at, a.Addresses)
	}
	if err != nil {
		return network.Binding{}, err
	}
	binding, err := bindingOf(result, at, a)
	if err != nil {
		return network.Binding{}, err
	}
	c.recent.Add(cloud.Identity(a), binding)
	return binding, nil
}

// Unbind implements cloud.Cloud. The plugin releases only the addresses of this owner. It fails if the plugin does.
func (c *PluginCloud) Unbind(ctx context.Context, a network.Allocation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at, err := attachmentOf(c.configuration, a)
	if err != nil {
		return err
	}
	p, err := load(c.options, at.Configuration)
	if err != nil {
		return err
	}
	c.recent.Remove(cloud.Identity(a))
	_, err = p.run(ctx, "DEL", at, nil)
	return err
}

// attachment holds the data that a plugin receives about an owner. The ledger stores it as the reference, so that a
// release names the bound attachment even if the configuration of the pool has changed.
type attachment struct {
	// Configuration is the name of the network configuration.
	Configuration string `json:"configuration"`
	// Container, Interface and Pod are made up of the owner. The name of an interface has at most 15 characters.
	Container string `json:"container"`
	Interface string `json:"interface"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
}

// attachmentOf returns the bound attachment or, if it is unknown, that of a new binding. It fails if the reference is not
// JSON. A namespace that is missing or invalid, which older bindings may have, is replaced.
func attachmentOf(configuration string, a network.Allocation) (attachment, error) {
	sum := sha256.Sum256([]byte(a.Owner.String()))
	digits := hex.EncodeToString(sum[:])
	at := attachment{
		Configuration: configuration, Container: "graft-" + digits[:32], Interface: "gr" + digits[32:45], Namespace: a.Holder.Namespace, Pod: "graft-" + digits[:32],
		UID: fmt.Sprintf("%s-%s-%s-%s-%s", digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]),
	}
	if len(a.Binding.Reference) > 0 {
		if err := json.Unmarshal(a.Binding.Reference, &at); err != nil {
			return at, fmt.Errorf("reading the reference that the ledger keeps: %w", err)
		}
	}
	if at.Namespace == "" || checkNamespace(at.Namespace) != nil {
		at.Namespace = "graft"
	}
	return at, nil
}

// checkNamespace refuses a namespace that would be more than one argument of a plugin, or none.
func checkNamespace(name string) error {
	if name != "" && len(validation.IsDNS1123Label(name)) > 0 {
		return fmt.Errorf("%w: the holder has no valid namespace", network.ErrNotSent)
	}
	return nil
}

// convertResult reads a result and converts it to the latest specification. The library panics where an old result has a
// null in a list.
func convertResult(read func() (types.Result, error)) (made *current.Result, err error) {
	defer func() {
		if recover() != nil {
			made, err = nil, errors.New("the result has a null in a list")
		}
	}()
	result, err := read()
	if err != nil {
		return nil, err
	}
	if made, err = current.NewResultFromResult(result); err != nil {
		return nil, fmt.Errorf("reading the result: %w", err)
	}
	return made, nil
}

// bindingOf converts a result to a binding for the ledger. It refuses an unusable result, so that the address is
// released.
//
// The gateway of an address is only used for routes without one: in CNI, only an explicit default route of the plugin
// is a default route.
func bindingOf(result *current.Result, at attachment, a network.Allocation) (network.Binding, error) {
	made := network.Binding{}
	gateways := map[bool]netip.Addr{}
	for _, given := range result.IPs {
		if given == nil || !prefix(given.Address).IsValid() {
			return made, refuse("returned an invalid address")
		}
		address := prefix(given.Address)
		if slices.ContainsFunc(made.Addresses, func(other netip.Prefix) bool { return other.Addr().Is4() == address.Addr().Is4() }) {
			return made, refuse("returned two addresses of one family; an allocation has at most one of each")
		}
		made.Addresses = append(made.Addresses, address)
		if gateway, ok := netip.AddrFromSlice(given.Gateway); ok {
			gateways[address.Addr().Is4()] = gateway.Unmap()
		}
	}
	if len(made.Addresses) == 0 {
		return made, refuse("returned no address")
	}
	for _, wanted := range a.Addresses {
		if !slices.ContainsFunc(made.Addresses, func(given netip.Prefix) bool { return given.Addr() == wanted }) {
			return made, refuse("returned another address than the requested one")
		}
	}
	for _, route := range result.Routes {
		if route == nil || !prefix(route.Dst).IsValid() {
			return made, refuse("returned a route with an invalid subnet")
		}
		destination := prefix(route.Dst)
		gateway, ok := netip.AddrFromSlice(route.GW)
		if !ok {
			gateway = gateways[destination.Addr().Is4()]
		}
		made.Routes = append(made.Routes, network.Route{Destination: destination.Masked(), Gateway: gateway.Unmap()})
	}
	var err error
	if made.Reference, err = json.Marshal(at); err != nil {
		return made, fmt.Errorf("writing the reference: %w", err)
	}
	return made, nil
}

func refuse(what string) error {
	return fmt.Errorf("%w: the CNI plugin %w", network.ErrRefused, errors.New(what))
}

// prefix reads an address with its mask. An unusable one is not valid.
func prefix(n net.IPNet) netip.Prefix {
	read, _ := netipx.FromStdIPNet(&n)
	return read
}

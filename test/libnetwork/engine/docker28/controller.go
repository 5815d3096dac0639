// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"sync"

	"github.com/docker/docker/libnetwork"
	"github.com/docker/docker/libnetwork/netlabel"
	"github.com/docker/docker/libnetwork/types"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// controller is libnetwork's, by the names that callers give.
type controller struct {
	inner     *libnetwork.Controller
	settings  engine.Settings
	directory *directory
	// made has the endpoints that were created here, by network and name. Looking them up by name reads all endpoints into
	// a cache of libnetwork, also one that is deleted in between, and then the network is not empty for libnetwork.
	made sync.Map
}

// NewNetwork implements engine.Controller, with the options that dockerd sets.
func (c *controller) NewNetwork(ctx context.Context, n engine.Network) (string, error) {
	options := []libnetwork.NetworkOption{
		libnetwork.NetworkOptionEnableIPv4(!n.NoFour),
		libnetwork.NetworkOptionEnableIPv6(n.WithSix),
		libnetwork.NetworkOptionDriverOpts(n.Options),
		libnetwork.NetworkOptionIpam(n.IPAM, "", pools(n.Four), pools(n.Six), n.IPAMOptions),
	}
	if n.Internal {
		options = append(options, libnetwork.NetworkOptionInternalNetwork())
	}
	made, err := c.inner.NewNetwork(ctx, n.Driver, n.Name, "", options...)
	if err != nil {
		return "", err
	}
	return made.ID(), nil
}

// pools are the subnets as libnetwork takes them.
func pools(given []engine.Pool) (all []*libnetwork.IpamConf) {
	for _, p := range given {
		all = append(all, &libnetwork.IpamConf{PreferredPool: p.Subnet, SubPool: p.Range, Gateway: p.Gateway,
			AuxAddresses: p.Auxiliary})
	}
	return all
}

// DeleteNetwork implements engine.Controller.
func (c *controller) DeleteNetwork(_ context.Context, name string) error {
	n, err := c.inner.NetworkByName(name)
	if err != nil {
		return err
	}
	return n.Delete()
}

// CreateEndpoint implements engine.Controller, without a resolver of names.
func (c *controller) CreateEndpoint(ctx context.Context, e engine.Endpoint) error {
	n, err := c.inner.NetworkByName(e.Network)
	if err != nil {
		return err
	}
	generic := map[string]any{}
	for key, value := range e.Options {
		generic[key] = value
	}
	if e.MAC != "" {
		mac, err := net.ParseMAC(e.MAC)
		if err != nil {
			return err
		}
		generic[netlabel.MacAddress] = mac
	}
	exposed, bound := ports(e.Published)
	options := []libnetwork.EndpointOption{
		libnetwork.CreateOptionExposedPorts(exposed), libnetwork.CreateOptionPortMapping(bound),
		libnetwork.EndpointOptionGeneric(generic),
		libnetwork.CreateOptionDisableResolution(),
	}
	if e.Four != "" || e.Six != "" {
		options = append(options, wanted(net.ParseIP(e.Four), net.ParseIP(e.Six)))
	}
	created, err := n.CreateEndpoint(ctx, e.Name, options...)
	if err == nil {
		c.made.Store(e.Network+"/"+e.Name, created)
	}
	return err
}

// ports are those that are forwarded, as dockerd writes them: none, too.
func ports(published []uint16) (exposed []types.TransportPort, bound []types.PortBinding) {
	exposed, bound = []types.TransportPort{}, []types.PortBinding{}
	for _, port := range published {
		exposed = append(exposed, types.TransportPort{Proto: types.TCP, Port: port})
		bound = append(bound, types.PortBinding{Proto: types.TCP, Port: port, HostPort: port, HostPortEnd: port})
	}
	return exposed, bound
}

// endpoint returns one that was created here, or finds it.
func (c *controller) endpoint(network, name string) (*libnetwork.Endpoint, error) {
	if made, ok := c.made.Load(network + "/" + name); ok {
		return made.(*libnetwork.Endpoint), nil
	}
	return c.find(network, name)
}

// find finds an endpoint by its name.
func (c *controller) find(network, name string) (*libnetwork.Endpoint, error) {
	n, err := c.inner.NetworkByName(network)
	if err != nil {
		return nil, err
	}
	return n.EndpointByName(name)
}

// DeleteEndpoint implements engine.Controller.
func (c *controller) DeleteEndpoint(ctx context.Context, network, name string) error {
	e, err := c.endpoint(network, name)
	if err != nil {
		return err
	}
	c.made.Delete(network + "/" + name)
	return e.Delete(ctx, false)
}

// Endpoint implements engine.Controller.
func (c *controller) Endpoint(_ context.Context, network, name string) (engine.Interface, error) {
	e, err := c.find(network, name)
	if err != nil {
		return engine.Interface{}, err
	}
	made := engine.Interface{ID: e.ID()}
	if i := e.Iface(); i != nil {
		made.Four, made.Six, made.MAC = text(i.Address()), text(i.AddressIPv6()), i.MacAddress().String()
	}
	said, err := e.DriverInfo()
	if err != nil {
		return engine.Interface{}, err
	}
	written, err := json.Marshal(said)
	made.Information = string(written)
	return made, err
}

// text is a prefix as it is written; empty: there is none.
func text(n *net.IPNet) string {
	if n == nil || n.IP == nil {
		return ""
	}
	return n.String()
}

// sandboxOptions keep a sandbox's files below the folder that does not outlive the machine.
func sandboxOptions(run, name string) []libnetwork.SandboxOption {
	return []libnetwork.SandboxOption{
		libnetwork.OptionHostname(name),
		libnetwork.OptionHostsPath(filepath.Join(run, "files", name, "hosts")),
		libnetwork.OptionResolvConfPath(filepath.Join(run, "files", name, "resolv.conf")),
	}
}

// NewSandbox implements engine.Controller.
func (c *controller) NewSandbox(ctx context.Context, b engine.Box) (engine.Sandbox, error) {
	exposed, bound := ports(b.Published)
	options := append(sandboxOptions(c.settings.Run, b.Name), libnetwork.OptionExposedPorts(exposed),
		libnetwork.OptionPortMapping(bound))
	sandbox, err := c.inner.NewSandbox(ctx, b.Name, options...)
	if err != nil {
		return engine.Sandbox{}, err
	}
	return engine.Sandbox{ID: sandbox.ID(), Key: sandbox.Key()}, nil
}

// DeleteSandbox implements engine.Controller.
func (c *controller) DeleteSandbox(ctx context.Context, name string) error {
	sandbox, err := c.inner.GetSandbox(name)
	if err != nil {
		return err
	}
	return sandbox.Delete(ctx)
}

// Join implements engine.Controller.
func (c *controller) Join(ctx context.Context, a engine.Attachment) error {
	e, err := c.endpoint(a.Network, a.Endpoint)
	if err != nil {
		return err
	}
	sandbox, err := c.inner.GetSandbox(a.Sandbox)
	if err != nil {
		return err
	}
	return e.Join(ctx, sandbox)
}

// Leave implements engine.Controller.
func (c *controller) Leave(ctx context.Context, a engine.Attachment) error {
	e, err := c.endpoint(a.Network, a.Endpoint)
	if err != nil {
		return err
	}
	sandbox, err := c.inner.GetSandbox(a.Sandbox)
	if err != nil {
		return err
	}
	return e.Leave(ctx, sandbox)
}

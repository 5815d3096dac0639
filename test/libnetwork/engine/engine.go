// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package engine is libnetwork's controller in a separate process, as dockerd has it, without containers and images.
// The programs below this package put one version each behind the same calls: two versions cannot live in one process,
// and only a process can be killed. It knows nothing of Graft. Enter at Start; the programs enter at Serve.
package engine

import "context"

// Network is a user's description of a network.
type Network struct {
	Driver, Name string
	// Options are those of the driver (-o).
	Options map[string]string
	// IPAM is the driver of addresses; empty: libnetwork's own.
	IPAM        string
	IPAMOptions map[string]string
	// Four and Six are the subnets; none: the IPAM driver chooses one.
	Four, Six []Pool
	// NoFour leaves IPv4 out, and WithSix brings IPv6 in.
	NoFour, WithSix bool
	Internal        bool
}

// Pool is one subnet that a user names.
type Pool struct {
	Subnet, Range, Gateway string
	// Auxiliary are addresses that are never given out, by names.
	Auxiliary map[string]string
}

// Endpoint is a user's description of one interface.
type Endpoint struct {
	Network, Name string
	// Four and Six are addresses that are asked for; empty: any.
	Four, Six string
	MAC       string
	// Options are those of the endpoint (--driver-opt).
	Options map[string]string
	// Published are TCP ports that this machine is to forward.
	Published []uint16
}

// Interface is an endpoint as libnetwork has it.
type Interface struct {
	ID             string
	Four, Six, MAC string
	// Information is the driver's information about it, as JSON.
	Information string
}

// Box is a user's description of a container.
type Box struct {
	Name string
	// Published are TCP ports that this machine is to forward.
	Published []uint16
}

// Sandbox is a network namespace that libnetwork made: its identifier, and the path of its file.
type Sandbox struct{ ID, Key string }

// Attachment is an endpoint in a sandbox.
type Attachment struct{ Network, Endpoint, Sandbox string }

// Notice reports that a machine joined or left a cluster.
type Notice struct {
	Driver, Address string
	Self, Gone      bool
}

// Controller is what the two versions have in common. Networks, endpoints and sandboxes go by the names that the caller
// gave them.
type Controller interface {
	NewNetwork(ctx context.Context, n Network) (id string, err error)
	DeleteNetwork(ctx context.Context, name string) error
	CreateEndpoint(ctx context.Context, e Endpoint) error
	DeleteEndpoint(ctx context.Context, network, name string) error
	Endpoint(ctx context.Context, network, name string) (Interface, error)
	NewSandbox(ctx context.Context, b Box) (Sandbox, error)
	DeleteSandbox(ctx context.Context, name string) error
	Join(ctx context.Context, a Attachment) error
	Leave(ctx context.Context, a Attachment) error
	Discover(ctx context.Context, n Notice) error
	// Allocate and Free are what a manager of a swarm asks of a driver whose networks are those of a whole cluster.
	Allocate(ctx context.Context, driver, id string, options map[string]string) (map[string]string, error)
	Free(ctx context.Context, driver, id string) error
}

// Settings are where a controller keeps its state.
type Settings struct {
	// Data outlives the process, Run does not outlive the machine.
	Data, Run string
	// Active are sandboxes, by their identifiers, whose containers have outlived the process (live restore).
	Active []string
	// Environment has additional variables of its process.
	Environment []string
}

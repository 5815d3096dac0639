// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package swarm_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// TestSocket runs nodes of a Swarm with the driver behind a socket. Its networks are local to a node and Swarm rejects
// global ones, but the nodes of the Swarm become the peers of tunnels with the same number on each node.
func TestSocket(t *testing.T) {
	one, two := boot(t)
	configuration := absolute(t, "testdata", "socket.yaml")
	for _, n := range []*node{one, two} {
		provider := n.machine.Provider(absolute(t, root, "bin", "graft-network-provider"),
			absolute(t, "testdata", "profile.yaml"), "--config="+configuration)
		if err := provider.Start(n.ctx); err != nil {
			t.Fatal(err)
		}
		// The first network activates the driver: it hears of no node that was there before.
		n.docker("network", "create", "--driver=graft", "--opt=kind=vxlan", "--opt=vni=4712", "--subnet=10.81.0.0/24", "wide")
	}
	join(one, two)
	for i, n := range []*node{one, two} {
		n.docker("run", "--detach", "--name="+fmt.Sprintf("c%d", i+1), "--network=wide", fmt.Sprintf("--ip=10.81.0.1%d", i),
			engine.Image, "sleep", "100000")
	}
	one.reaches("c1", "10.81.0.11")
	two.reaches("c2", "10.81.0.10")
	one.eventually("the other node is the peer", func() error { return same(one.peers(), []string{two.address}) })
	two.eventually("the manager is the peer", func() error { return same(two.peers(), []string{one.address}) })
	_, err := one.try("network", "create", "--driver=graft", "--scope=swarm", "--opt=kind=vxlan", "refused")
	if err == nil || !strings.Contains(err.Error(), "legacy plugin graft of type NetworkDriver is not supported in swarm mode") {
		t.Errorf("a network of the Swarm is refused with %v", err)
	}
	two.docker("swarm", "leave")
	one.eventually("the peer is gone", func() error { return same(one.peers(), nil) })
	for i, n := range []*node{one, two} {
		n.docker("rm", "--force", fmt.Sprintf("c%d", i+1))
		n.docker("network", "rm", "wide")
		n.empty()
	}
}

func absolute(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

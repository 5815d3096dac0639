// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// kernel has links that are not there.
type kernel struct {
	mutex    sync.Mutex
	segments map[string]link.Segment
	ports    map[string]link.Port
	peers    map[string][]netip.Addr
	made     int
	// fails is the result of the next call of a name; hook is called in each.
	fails map[string]error
	hook  func(call string)
}

func newKernel() *kernel {
	return &kernel{segments: map[string]link.Segment{}, ports: map[string]link.Port{}, peers: map[string][]netip.Addr{}, fails: map[string]error{}}
}

// called returns the prepared error of a call.
func (k *kernel) called(name string) error {
	k.mutex.Lock()
	hook, err := k.hook, k.fails[name]
	delete(k.fails, name)
	k.mutex.Unlock()
	if hook != nil {
		hook(name)
	}
	return err
}

func (k *kernel) EnsureSegment(_ context.Context, s link.Segment) error {
	if err := k.called("EnsureSegment"); err != nil {
		return err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.segments[s.Network], k.peers[s.Network] = s, s.Peers
	return nil
}

func (k *kernel) RemoveSegment(_ context.Context, s link.Segment, _ bool) error {
	if err := k.called("RemoveSegment"); err != nil {
		return err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	delete(k.segments, s.Network)
	delete(k.peers, s.Network)
	return nil
}

// EnsurePort returns a MAC address if none is requested, and none with ipvlan.
func (k *kernel) EnsurePort(_ context.Context, s link.Segment, p link.Port) (link.Port, error) {
	if err := k.called("EnsurePort"); err != nil {
		return p, err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	key := s.Network + "/" + p.Endpoint
	if there, ok := k.ports[key]; ok && len(p.MAC) == 0 {
		p.MAC = there.MAC
	}
	if len(p.MAC) == 0 && s.Kind != link.Ipvlan {
		k.made++
		p.MAC = network.HardwareAddr{0x02, 0, 0, 0, 0, byte(k.made)}
	}
	k.ports[key] = p
	return p, nil
}

func (k *kernel) RemovePort(_ context.Context, s link.Segment, endpoint string) error {
	if err := k.called("RemovePort"); err != nil {
		return err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	delete(k.ports, s.Network+"/"+endpoint)
	return nil
}

func (k *kernel) Marked(context.Context) ([]link.Marked, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	var all []link.Marked
	for name := range k.segments {
		all = append(all, link.Marked{Name: "bridge of " + name, Mark: link.Mark{Network: name}})
	}
	for name := range k.ports {
		of, endpoint, _ := strings.Cut(name, "/")
		all = append(all, link.Marked{Name: link.InterfaceName(endpoint), Mark: link.Mark{Network: of, Endpoint: endpoint}})
	}
	return all, nil
}

// links returns all links in the kernel, one per line.
func (k *kernel) links() []string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	lines := []string{}
	for name, s := range k.segments {
		line := fmt.Sprint(name[:min(len(name), 4)], " ", s.Kind)
		for _, part := range []struct{ name, text string }{
			{"parent", s.Parent}, {"mode", s.Mode}, {"gateways", fmt.Sprint(s.Gateways)}, {"local", s.Local.String()},
			{"peers", fmt.Sprint(k.peers[name])},
		} {
			if part.text != "" && part.text != "[]" && part.text != "invalid IP" {
				line += " " + part.name + "=" + part.text
			}
		}
		for _, part := range []struct {
			name   string
			number int
		}{{"vlan", s.VLAN}, {"vni", s.VNI}, {"mtu", s.MTU}} {
			if part.number != 0 {
				line += fmt.Sprint(" ", part.name, "=", part.number)
			}
		}
		lines = append(lines, line)
	}
	for name, p := range k.ports {
		of, endpoint, _ := strings.Cut(name, "/")
		lines = append(lines, strings.TrimSpace(fmt.Sprint(of[:min(len(of), 4)], "/", endpoint[:min(len(endpoint), 4)], " ", p.MAC)))
	}
	slices.Sort(lines)
	return lines
}

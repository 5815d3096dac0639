// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// kernel is a fake kernel with the state that the driver uses.
type kernel struct {
	mutex    sync.Mutex
	crash    *crash
	segments map[string]link.Segment
	ports    map[string]port
	peers    map[string][]netip.Addr
	strays   []link.Marked
	// fail says which calls fail.
	fail func(call string) error
}

type port struct {
	link.Port
	network string
	kind    link.Kind
	inside  bool
}

func newKernel() *kernel { k := &kernel{}; k.clear(); return k }

func (k *kernel) clear() {
	k.segments, k.ports, k.peers = map[string]link.Segment{}, map[string]port{}, map[string][]netip.Addr{}
}

func (k *kernel) do(_ context.Context, call string, step func() error) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.fail != nil {
		if err := k.fail(call); err != nil {
			return err
		}
	}
	return k.crash.do(step)
}

func bridged(kind link.Kind) bool { return kind == link.Bridge || kind == link.VXLAN }

func (k *kernel) EnsureSegment(ctx context.Context, s link.Segment) error {
	return k.do(ctx, "ensure "+s.Network, func() error { k.segments[s.Network], k.peers[s.Network] = s, s.Peers; return nil })
}

func (k *kernel) RemoveSegment(ctx context.Context, s link.Segment, _ bool) error {
	return k.do(ctx, "remove "+s.Network, func() error {
		for _, p := range k.ports {
			if p.network == s.Network && bridged(p.kind) {
				return errors.New("a bridge with ports is removed")
			}
		}
		delete(k.segments, s.Network)
		delete(k.peers, s.Network)
		k.removeStrays(link.Mark{Network: s.Network, Parent: s.Parent, VLAN: s.VLAN})
		return nil
	})
}

func (k *kernel) EnsurePort(ctx context.Context, s link.Segment, p link.Port) (link.Port, error) {
	err := k.do(ctx, "port "+p.Endpoint, func() error {
		if _, ok := k.segments[s.Network]; !ok && bridged(s.Kind) {
			return link.ErrNoSegment
		}
		if there, ok := k.ports[p.Endpoint]; ok && there.inside && s.Kind == link.Ipvlan {
			return errors.New("a second interface of an endpoint")
		}
		was := k.ports[p.Endpoint]
		k.ports[p.Endpoint] = port{p, s.Network, s.Kind, was.inside}
		return nil
	})
	return p, err
}

func (k *kernel) RemovePort(ctx context.Context, s link.Segment, endpoint string) error {
	return k.do(ctx, "unport "+endpoint, func() error {
		if p := k.ports[endpoint]; p.network == s.Network {
			delete(k.ports, endpoint)
		}
		k.removeStrays(link.Mark{Network: s.Network, Endpoint: endpoint})
		return nil
	})
}

func (k *kernel) removeStrays(of link.Mark) {
	k.strays = slices.DeleteFunc(k.strays, func(m link.Marked) bool { return m.Mark == of })
}

func (k *kernel) Marked(ctx context.Context) (marked []link.Marked, err error) {
	err = k.do(ctx, "marked", func() error {
		marked = slices.Clone(k.strays)
		for id, s := range k.segments {
			if bridged(s.Kind) {
				marked = append(marked, link.Marked{Name: "gb" + id, Mark: link.Mark{Network: id}})
			}
		}
		for id, p := range k.ports {
			if bridged(p.kind) {
				marked = append(marked, link.Marked{Name: "gh" + id, Mark: link.Mark{Network: p.network, Endpoint: id}})
			}
			if !p.inside {
				marked = append(marked, link.Marked{Name: link.InterfaceName(id), Mark: link.Mark{Network: p.network, Endpoint: id}})
			}
		}
		return nil
	})
	return marked, err
}

// move moves the interface of an endpoint into a sandbox, or back.
func (k *kernel) move(endpoint string, inside bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	p, ok := k.ports[endpoint]
	if ok {
		p.inside = inside
		k.ports[endpoint] = p
	}
}

// lose takes the interface of an endpoint with its sandbox.
func (k *kernel) lose(endpoint string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	delete(k.ports, endpoint)
}

// has are the links.
func (k *kernel) has() []string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	var all []string
	for id := range k.segments {
		all = append(all, id)
	}
	for id, p := range k.ports {
		all = append(all, p.network+"/"+id)
	}
	for _, s := range k.strays {
		all = append(all, s.Name)
	}
	slices.Sort(all)
	return all
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
)

// maximumWarm is the limit of warm ports.
const maximumWarm = 5

// openWarm returns a cloud with warm ports.
func (f *fake) openWarm(t *testing.T, idle time.Duration) *openstack.Cloud {
	t.Helper()
	o := openstack.Options{Clock: clock.RealClock{}, Idle: idle}
	return f.openWith(t, o, func(d *openstack.Definition) { d.Trunk.Warm = maximumWarm })
}

func (p *port) warm() bool { return strings.HasPrefix(p.Description, "graft warm/") }

// warm returns the IDs of the attached warm ports.
func (f *fake) warm() (ids []string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, p := range f.ports {
		if p.warm() && f.vlans[p.ID] != 0 {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// waitFor waits until so many warm ports are attached and nothing is done for the trunk.
func (f *fake) waitFor(t *testing.T, c *openstack.Cloud, want int) []string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ids := f.warm(); len(ids) == want && openstack.Idle(c, parentMAC) {
			return ids
		}
	}
	t.Fatalf("warm ports %v, want %d", f.warm(), want)
	return nil
}

// warmUp binds intents from 30 on, and returns as many warm ports.
func (f *fake) warmUp(t *testing.T, c *openstack.Cloud, count int) []string {
	t.Helper()
	for i := range count {
		bindOne(t, c, intent(byte(30+i)))
	}
	return f.waitFor(t, c, count)
}

// bindOne binds an intent and returns the ID of its port.
func bindOne(t *testing.T, c *openstack.Cloud, a network.Allocation) string {
	t.Helper()
	made, err := c.Bind(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	var reference struct{ Port string }
	if err := json.Unmarshal(made.Reference, &reference); err != nil {
		t.Fatal(err)
	}
	return reference.Port
}

// TestWarm checks that an allocation takes a warm port with its VLAN, and that it becomes the port of the allocation.
func TestWarm(t *testing.T) {
	f := newFake(t)
	c := f.openWarm(t, time.Hour)
	warm := f.warmUp(t, c, 3)
	a := intent(2)
	id := bindOne(t, c, a)
	if !slices.Contains(warm, id) {
		t.Errorf("bound %s, want one of %v", id, warm)
	}
	f.waitFor(t, c, 4)
	f.mutex.Lock()
	at := slices.IndexFunc(f.ports, func(p *port) bool { return p.ID == id })
	if p := f.ports[at]; p.Description != "graft "+a.Owner.String() || len(p.FixedIPs) != 1 || p.FixedIPs[0].Address != "10.0.0.12" {
		t.Errorf("port %+v", p)
	}
	f.mutex.Unlock()
	if again := bindOne(t, c, a); again != id {
		t.Errorf("bound %s again, want %s", again, id)
	}
	for _, number := range []byte{2, 30, 31, 32} {
		if err := c.Unbind(t.Context(), intent(number)); err != nil {
			t.Error(err)
		}
	}
	leavesNothing(t, f)
}

// TestWarmMaximum checks that there are never more warm ports than the maximum.
func TestWarmMaximum(t *testing.T) {
	f := newFake(t)
	c := f.openWarm(t, time.Hour)
	for i := range byte(8) {
		bindOne(t, c, intent(i))
	}
	f.waitFor(t, c, maximumWarm)
}

// TestWarmRequested checks that an allocation with a MAC address or a VLAN takes no warm port.
func TestWarmRequested(t *testing.T) {
	f := newFake(t)
	c := f.openWarm(t, time.Hour)
	warm := f.warmUp(t, c, 3)
	withMAC, withVLAN := intent(2), intent(3)
	withMAC.MAC, withVLAN.VLAN = network.HardwareAddr{2, 0, 0, 0, 0, 1}, 150
	for _, a := range []network.Allocation{withMAC, withVLAN} {
		if id := bindOne(t, c, a); slices.Contains(warm, id) {
			t.Errorf("%v took the warm port %s", a, id)
		}
	}
}

// TestWarmChanged checks that a port which another server takes first is left to it.
func TestWarmChanged(t *testing.T) {
	f := newFake(t)
	c := f.openWarm(t, time.Hour)
	f.warmUp(t, c, 3)
	var other []string
	f.mutex.Lock()
	f.fault = func(_ http.ResponseWriter, call string) bool {
		for _, p := range f.ports {
			if call == "update port" && len(other) == 0 && p.warm() {
				p.Name, p.Description, other = "graft-of-another-server", "graft other", append(other, p.ID)
				p.Revision++
			}
		}
		return false
	}
	f.mutex.Unlock()
	if id := bindOne(t, c, intent(2)); slices.Contains(other, id) || len(other) != 1 {
		t.Errorf("bound %s, and another server took %v", id, other)
	}
}

// TestWarmServers checks that two servers on one trunk never give a port twice.
func TestWarmServers(t *testing.T) {
	f := newFake(t)
	first, second := f.openWarm(t, time.Hour), f.openWarm(t, time.Hour)
	f.warmUp(t, first, 3)
	const many = 20
	ids := make([]string, many)
	var group sync.WaitGroup
	for i := range byte(many) {
		c := []*openstack.Cloud{first, second}[i%2]
		group.Go(func() { ids[i] = bindOne(t, c, intent(1+i)) })
	}
	group.Wait()
	if slices.Sort(ids); len(slices.Compact(ids)) != many {
		t.Errorf("a port was given twice: %v", ids)
	}
}

// TestWarmIdle checks that warm ports are deleted when they are not used, also if Neutron fails at first, and those of a
// deleted node.
func TestWarmIdle(t *testing.T) {
	for _, name := range []string{"unused for a while", "node deleted", "first deletion fails"} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			c := f.openWarm(t, 2*time.Second)
			f.warmUp(t, c, 3)
			f.mutex.Lock()
			switch name {
			case "node deleted":
				f.ports = slices.DeleteFunc(f.ports, func(p *port) bool { return p.ID == "parent" })
			case "first deletion fails":
				f.fault = once(answer("delete port", 500, "", ""))
			}
			f.mutex.Unlock()
			f.waitFor(t, c, 0)
			f.mutex.Lock()
			defer f.mutex.Unlock()
			if len(f.vlans) != 3 {
				t.Errorf("VLANs %v, want those of the allocations", f.vlans)
			}
		})
	}
}

// once returns a fault that happens once.
func once(fault func(http.ResponseWriter, string) bool) func(http.ResponseWriter, string) bool {
	happened := false
	return func(w http.ResponseWriter, call string) bool {
		if !happened {
			happened = fault(w, call)
			return happened
		}
		return false
	}
}

// TestWarmOrphans checks that warm ports are no orphans, and that those of a stopped server are deleted.
func TestWarmOrphans(t *testing.T) {
	f := newFake(t)
	f.warmUp(t, f.openWarm(t, time.Hour), 3)
	now := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	c := f.openWith(t, openstack.Options{Clock: now, Idle: time.Hour})
	rows := func(_ context.Context, each func(network.Allocation) error) error {
		return errors.Join(each(intent(30)), each(intent(31)), each(intent(32)))
	}
	for _, pass := range []struct {
		after  time.Duration
		remove bool
		left   int
	}{{0, true, 3}, {time.Hour, true, 3}, {90 * time.Second, false, 3}, {0, true, 0}} {
		now.SetTime(now.Now().Add(pass.after))
		var orphans []cloud.Orphan
		orphans, err := c.Orphans(t.Context(), rows, pass.remove)
		if len(orphans) > 0 || err != nil || len(f.warm()) != pass.left {
			t.Errorf("%v: orphans %v, %v; warm ports %v", pass, orphans, err, f.warm())
		}
	}
	if len(f.vlans) != 3 {
		t.Errorf("VLANs %v, want those of the allocations", f.vlans)
	}
}

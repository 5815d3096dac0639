// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/test/cloudtest"
)

// attaching binds all allocations on one NIC.
type attaching struct{ *openstack.Cloud }

func (c attaching) Bind(ctx context.Context, a network.Allocation) (network.Binding, error) {
	a.Trunk.MAC = parentMAC
	return c.Cloud.Bind(ctx, a)
}

func (c attaching) Unbind(ctx context.Context, a network.Allocation) error {
	a.Trunk.MAC = parentMAC
	return c.Cloud.Unbind(ctx, a)
}

// every returns a fault that answers 500 to each n-th call.
func every(n int) func(http.ResponseWriter, string) bool {
	calls := 0
	return func(w http.ResponseWriter, _ string) bool {
		calls++
		if calls%n == 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return calls%n == 0
	}
}

// leavesNothing fails the test if ports or sub-ports of the cloud are left at its end.
func leavesNothing(t *testing.T, f *fake) {
	t.Helper()
	t.Cleanup(func() {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		warm := 0
		for _, p := range f.ports {
			if p.warm() {
				warm++
				delete(f.vlans, p.ID)
			}
		}
		if len(f.ports) > 1+warm || len(f.vlans) > 0 {
			t.Errorf("ports are left in Neutron: %+v, VLANs %v", f.ports, f.vlans)
		}
	})
}

func TestSuite(t *testing.T) {
	for _, test := range []struct {
		name  string
		every int
		late  bool
	}{{name: "without faults"}, {name: "calls that fail", every: 5}, {name: "answers that are lost", every: 5, late: true}} {
		prepare := func(t *testing.T) *fake {
			f := newFake(t)
			if f.late = test.late; test.every > 0 {
				f.fault = every(test.every)
			}
			return f
		}
		t.Run(test.name, func(t *testing.T) {
			t.Run("addresses of the pool", func(t *testing.T) {
				cloudtest.Run(t, func(t *testing.T) cloud.Cloud {
					f := prepare(t)
					leavesNothing(t, f)
					return attaching{f.open(t)}
				})
			})
			t.Run("warm ports", func(t *testing.T) {
				cloudtest.Run(t, func(t *testing.T) cloud.Cloud {
					f := prepare(t)
					leavesNothing(t, f)
					return attaching{f.openWarm(t, time.Hour)}
				})
			})
			t.Run("addresses of Neutron", func(t *testing.T) {
				cloudtest.RunChoosing(t, func(t *testing.T) cloud.Cloud {
					f := prepare(t)
					leavesNothing(t, f)
					return f.open(t, func(d *openstack.Definition) { d.Trunk, d.SubnetIDs = nil, []string{subnetID} })
				})
			})
		})
	}
}

// intent returns the intent of an owner for an address.
func intent(number byte) network.Allocation {
	return network.Allocation{
		Owner: network.Owner{Contract: "spiderpool", Key: "uid-" + string('a'+rune(number)) + "/" + parentMAC}, Pool: "pods",
		State: network.Intended, Since: time.Unix(int64(number), 0), Trunk: network.Trunk{MAC: parentMAC},
		Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 10 + number})},
	}
}

// TestBatch checks that waiting allocations of a trunk are bound together, and that an unbind handles all waiting ones.
func TestBatch(t *testing.T) {
	f := newFake(t)
	c := f.open(t)
	const many = 20
	var first, group sync.WaitGroup
	held := make(chan struct{})
	first.Add(1)
	once := sync.Once{}
	f.fault = func(http.ResponseWriter, string) bool {
		once.Do(func() {
			first.Done()
			<-held
		})
		return false
	}
	bind := func(number byte) {
		if _, err := c.Bind(t.Context(), intent(number)); err != nil {
			t.Error(err)
		}
	}
	group.Go(func() { bind(0) })
	first.Wait()
	for i := range byte(many) {
		group.Go(func() { bind(1 + i) })
	}
	for openstack.Waiting(c, parentMAC) < many {
		time.Sleep(time.Millisecond)
	}
	close(held)
	group.Wait()
	want := map[string]int{"create ports": 3, "add subports": 3}
	got := map[string]int{"create ports": f.calls["create ports"], "add subports": f.calls["add subports"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(f.vlans) != many+1 {
		t.Errorf("%d ports are attached", len(f.vlans))
	}
	for i := range byte(many + 1) {
		group.Go(func() {
			if err := c.Unbind(t.Context(), intent(i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(f.vlans) > 0 || len(f.ports) > 1 || f.calls["list trunks"] > 0 {
		t.Errorf("VLANs %v and %d ports are left, after %d searches of all trunks", f.vlans, len(f.ports)-1, f.calls["list trunks"])
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*network.Allocation)
		answer func(http.ResponseWriter, string) bool
		// is is an error that is wrapped, and message a part of the text.
		is      error
		message string
		after   time.Duration
	}{
		{
			name: "address outside of the subnet", is: network.ErrRefused, message: "InvalidIpForNetwork: the fake's",
			change: func(a *network.Allocation) { a.Addresses = []netip.Addr{netip.MustParseAddr("192.0.2.1")} },
		},
		{
			name: "rejects a NIC without a port", is: network.ErrRefused, message: "no port of the project has the MAC address fa:16:3e:00:00:99",
			change: func(a *network.Allocation) { a.Trunk.MAC = "fa:16:3e:00:00:99" },
		},
		{name: "address in use", is: network.ErrInUse, answer: answer("create ports", 409, "IpAddressAlreadyAllocated", "")},
		{name: "MAC address in use", is: network.ErrInUse, answer: answer("create ports", 409, "MacAddressInUse", "")},
		{name: "reports a subnet without free addresses", is: network.ErrExhausted, answer: answer("create ports", 409, "IpAddressGenerationFailure", "")},
		{name: "rejects a call without permission", is: network.ErrRefused, answer: answer("create ports", 403, "PolicyNotAuthorized", "")},
		{name: "rejects a trunk that is disabled", is: network.ErrRefused, answer: answer("add subports", 409, "TrunkDisabled", "")},
		{name: "retries later if the quota is full", after: 5 * time.Second, message: "OverQuota", answer: answer("create ports", 409, "OverQuota", "")},
		{name: "retries after the time that OpenStack names", after: 7 * time.Second, answer: answer("list ports", 429, "", "7")},
		{name: "retries after maintenance", after: 9 * time.Second, answer: answer("list ports", 503, "", "9")},
		{name: "reports an internal error of OpenStack", message: "creating a port: OpenStack answered 500", answer: answer("create ports", 500, "", "")},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t)
			f.fault = test.answer
			a := intent(1)
			if test.change != nil {
				test.change(&a)
			}
			_, err := f.open(t).Bind(t.Context(), a)
			if err == nil || !strings.Contains(err.Error(), test.message) || strings.Contains(err.Error(), f.url) {
				t.Errorf("error %v", err)
			}
			if test.is != nil != errors.Is(err, network.ErrRefused) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is no %v", err, test.is)
			}
			pause, paused := errors.AsType[*cloud.RetryAfter](err)
			if paused != (test.after > 0) || paused && pause.After != test.after {
				t.Errorf("pause %v", err)
			}
			if len(f.ports) != 1 && !paused && test.is != nil {
				t.Errorf("%d ports are left", len(f.ports)-1)
			}
		})
	}
}

// answer returns a fault that answers a call with an error.
func answer(call string, status int, kind, after string) func(http.ResponseWriter, string) bool {
	return func(w http.ResponseWriter, got string) bool {
		if got != call {
			return false
		}
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
		if kind != "" {
			_, _ = w.Write([]byte(`{"NeutronError": {"type": "` + kind + `", "message": "the fake's"}}`))
		}
		return true
	}
}

// TestOneByOne checks that ports are created one by one if Neutron cannot create several at once, as without security
// groups, where it answers 500, or before it has answered.
func TestOneByOne(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(map[bool]string{false: "refused", true: "created, but not answered"}[late], func(t *testing.T) {
			f := newFake(t)
			c := f.open(t)
			held, bulk := make(chan struct{}), answer("create ports", 500, "HTTPInternalServerError", "")
			first, created := sync.WaitGroup{}, 0
			first.Add(1)
			f.late = late
			f.fault = func(w http.ResponseWriter, call string) bool {
				if call != "create ports" {
					return false
				}
				switch created++; created {
				case 1: // the port of the first bind, while the other ones gather
					first.Done()
					<-held
				case 2:
					return bulk(w, call)
				}
				return false
			}
			var group sync.WaitGroup
			bind := func(number byte) {
				if _, err := c.Bind(t.Context(), intent(number)); err != nil {
					t.Error(err)
				}
			}
			group.Go(func() { bind(0) })
			first.Wait()
			for i := range byte(3) {
				group.Go(func() { bind(1 + i) })
			}
			for openstack.Waiting(c, parentMAC) < 3 {
				time.Sleep(time.Millisecond)
			}
			close(held)
			group.Wait()
			if len(f.vlans) != 4 || len(f.ports) != 1+4 {
				t.Errorf("ports %+v, VLANs %v; want four attached ports", f.ports, f.vlans)
			}
		})
	}
}

// TestUnbindElsewhere checks that a port is released that was attached to another trunk, and that the error says why if
// that trunk is not visible.
func TestUnbindElsewhere(t *testing.T) {
	for name, visible := range map[string]bool{"a trunk of the project": true, "a trunk of another project": false} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			c := f.open(t)
			id := bindOne(t, c, intent(1))
			f.mutex.Lock()
			f.ports = slices.DeleteFunc(f.ports, func(p *port) bool { return p.ID == "parent" })
			f.hidden = !visible
			f.mutex.Unlock()
			err := c.Unbind(t.Context(), intent(1))
			if visible && (err != nil || len(f.ports) > 0) {
				t.Errorf("error %v, ports %+v", err, f.ports)
			}
			if !visible && (err == nil || !strings.Contains(err.Error(), "PortInUseAsSubPort") || f.vlans[id] == 0) {
				t.Errorf("error %v, VLANs %v", err, f.vlans)
			}
		})
	}
}

// TestPause checks that failures in a row pause the cloud longer each time, and that one success ends it.
func TestPause(t *testing.T) {
	f := newFake(t)
	c := f.open(t)
	f.fault = answer("list ports", 500, "", "")
	var pauses []time.Duration
	for range 8 {
		_, err := c.Bind(t.Context(), intent(1))
		pause, _ := errors.AsType[*cloud.RetryAfter](err)
		if pause == nil {
			pause = &cloud.RetryAfter{}
		}
		pauses = append(pauses, pause.After)
	}
	want := []time.Duration{0, 0, 0, 0, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	f.fault = nil
	if _, err := c.Bind(t.Context(), intent(1)); err != nil {
		t.Error(err)
	}
}

// TestMetrics checks that calls of Neutron and Keystone are counted by their status and measured.
func TestMetrics(t *testing.T) {
	f, registry := newFake(t), prometheus.NewRegistry()
	c := f.openWith(t, openstack.Options{Clock: clock.RealClock{}, Metrics: openstack.NewMetrics(registry)})
	f.fault = answer("create ports", 403, "PolicyNotAuthorized", "")
	if _, err := c.Bind(t.Context(), intent(1)); !errors.Is(err, network.ErrRefused) {
		t.Fatal(err)
	}
	f.fault = nil
	if _, err := c.Bind(t.Context(), intent(1)); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := ""
			for _, label := range m.GetLabel() {
				name += label.GetValue() + " "
			}
			got[name] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for name, want := range map[string]float64{
		"post tokens 201 ": 1, "post ports 403 ": 1, "post ports 201 ": 1, "put add_subports 200 ": 1, "post ports ": 2,
	} {
		if got[name] != want {
			t.Errorf("%s: %v calls, want %v, of %v", name, got[name], want, got)
		}
	}
}

// TestOneLogin checks that a Neutron which does not answer causes no further logins.
func TestOneLogin(t *testing.T) {
	f := newFake(t)
	c := f.open(t)
	f.down.Store(true)
	for range 3 {
		if _, err := c.Bind(t.Context(), intent(1)); err == nil || strings.Contains(err.Error(), f.url) {
			t.Errorf("error %v", err)
		}
	}
	f.down.Store(false)
	if _, err := c.Bind(t.Context(), intent(1)); err != nil || f.logins.Load() != 1 {
		t.Errorf("%d logins, %v", f.logins.Load(), err)
	}
}

// TestOrphans checks that ports of this installation without an allocation are deleted after the settling time, and no
// others.
func TestOrphans(t *testing.T) {
	for name, test := range map[string]struct {
		held, lost int
		remove     bool
		want       int
		fails      bool
	}{
		"deletes ports without an allocation":                  {held: 2, lost: 3, remove: true, want: 2},
		"only reports ports without an allocation":             {held: 2, lost: 3, want: 5},
		"deletes nothing if too many ports have no allocation": {held: 2, lost: 9, remove: true, want: 11, fails: true},
		"deletes ports if most of them have an allocation":     {held: 9, lost: 9, remove: true, want: 9},
	} {
		t.Run(name, func(t *testing.T) {
			f, now := newFake(t), testingclock.NewFakePassiveClock(time.Unix(0, 0))
			c := f.openWith(t, openstack.Options{Clock: now})
			var rows []network.Allocation
			for i := range test.held + test.lost {
				a := intent(byte(i))
				if _, err := c.Bind(t.Context(), a); err != nil {
					t.Fatal(err)
				}
				if i < test.held {
					rows = append(rows, a)
				}
			}
			f.ports = append(f.ports, &port{ID: "x", Name: "graft-of-somebody-else"})
			search := func() ([]cloud.Orphan, error) {
				return c.Orphans(t.Context(), func(_ context.Context, each func(network.Allocation) error) error {
					for _, a := range rows {
						if err := each(a); err != nil {
							return err
						}
					}
					return nil
				}, test.remove)
			}
			for _, pass := range []struct {
				after time.Duration
				want  int
			}{{0, 0}, {89 * time.Second, 0}, {time.Second, test.lost}} {
				now.SetTime(now.Now().Add(pass.after))
				found, err := search()
				if len(found) != pass.want || err != nil != (test.fails && pass.want > 0) {
					t.Errorf("%s later: found %v, %v", pass.after, found, err)
				}
				for i, o := range found {
					lost := intent(byte(test.held + i))
					if o.Owner != lost.Owner || !slices.Equal(o.Addresses, lost.Addresses) {
						t.Errorf("orphan %+v, want that of %+v", o, lost)
					}
				}
			}
			if len(f.ports) != 2+test.want || len(f.vlans) != test.want {
				t.Errorf("%d ports and %d VLANs are left", len(f.ports)-2, len(f.vlans))
			}
		})
	}
}

// TestDescribe compares the description of a device with Neutron's port.
func TestDescribe(t *testing.T) {
	f, secure := newFake(t), true
	f.ports = append(f.ports, &port{
		ID: "nic", MAC: "fa:16:3e:00:00:02", Network: networkID, Security: &secure, FixedIPs: []ip{{subnetID, "10.0.0.9"}},
	})
	c := f.open(t)
	got, err := c.Describe(t.Context(), "FA:16:3E:00:00:02")
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) device.Attribute { return device.Attribute{String: &s} }
	const prefix = "graft.provider.extensions.gardener.cloud/neutron"
	mtu, mtu32 := int64(1450), int32(1450)
	want := cloud.Description{
		Attributes: map[string]device.Attribute{
			prefix + "Port": text("nic"), prefix + "Network": text(networkID), prefix + "NetworkName": text("pods"),
			prefix + "Subnet": text(subnetID), prefix + "MTU": {Int: &mtu}, prefix + "PortSecurity": {Bool: &secure},
		},
		Config: device.Config{
			Interface: device.Interface{MTU: &mtu32}, Routes: []device.Route{{Destination: "10.20.0.0/16", Gateway: "10.0.0.254"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
	if err := device.ValidateAttributes(got.Attributes); err != nil {
		t.Error(err)
	}
	if got, err = c.Describe(t.Context(), "fa:16:3e:00:00:99"); err != nil || !cmp.Equal(got, cloud.Description{}) {
		t.Errorf("an unknown device: %v, %v", got, err)
	}
	f.mutex.Lock()
	before := f.calls["list ports"]
	f.mutex.Unlock()
	if _, err = c.Describe(t.Context(), "fa:16:3e:00:00:02"); err != nil || f.calls["list ports"] != before {
		t.Errorf("asked again: %v", err)
	}
}

// TestMTU checks that a binding without a trunk has the MTU and the routes of the network.
func TestMTU(t *testing.T) {
	f := newFake(t)
	c := f.open(t, func(d *openstack.Definition) { d.Trunk, d.SubnetIDs = nil, []string{subnetID} })
	a := intent(1)
	a.Addresses = nil
	made, err := c.Bind(t.Context(), a)
	want := []network.Route{{Destination: netip.MustParsePrefix("10.20.0.0/16"), Gateway: netip.MustParseAddr("10.0.0.254")}}
	if err != nil || made.MTU != 1450 || !slices.Equal(made.Routes, want) {
		t.Errorf("bound %+v, %v", made, err)
	}
}

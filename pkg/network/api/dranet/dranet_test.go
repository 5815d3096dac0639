// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api/dranet"
)

const document = "testdata/profile.yaml"

func ask(claim, device string) string {
	return fmt.Sprintf(`{"device":%s,"claim_uid":%q,"config":{"profile":"acme.com/overlay","interface":{}}}`, device, claim)
}

// TestRetryStorm sends the same request many times concurrently, with different names of the device: it is one
// allocation, and the cloud is called once.
func TestRetryStorm(t *testing.T) {
	behind := &fakeCloud{hook: func(network.Allocation) error { time.Sleep(20 * time.Millisecond); return nil }}
	w := newWorld(t, document, behind)
	devices := []string{
		`{"pci_address":"0000:28:00.2","name":"eth1","mac_address":"46:8f:01:02:03:04"}`, `{"pci_address":"0000:28:00.2"}`,
		`{"name":"pci-0000-28-00-2"}`, `{"pci_address":"0000:28:00.2","name":"net7"}`,
	}
	answers := make([]string, 64)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			status, answer := w.post("/GetProfileConfig", ask("c1", devices[i%len(devices)]))
			answers[i] = fmt.Sprint(status, answer)
		})
	}
	group.Wait()
	for i, answer := range answers {
		if answer != answers[0] || !strings.HasPrefix(answer, "200") {
			t.Errorf("request %d: got %s and %s", i, answer, answers[0])
		}
	}
	if diff := cmp.Diff([]string{"c1/pci/0000:28:00.2 10.64.0.10 ResourceClaim c1"}, w.held()); diff != "" {
		t.Error(diff)
	}
	if behind.binds != 1 {
		t.Errorf("unexpected number of bind calls: %d", behind.binds)
	}
	for _, device := range []string{`{"name":"net7"}`, `{"mac_address":"46:8f:01:02:03:04"}`} {
		if _, answer := w.post("/GetProfileConfig", ask("c1", device)); !strings.Contains(answer, "10.64.0.10/24") {
			t.Errorf("%s, which was learned: got %s", device, answer)
		}
	}
}

// TestDeviceByMACWhileCloudIsAsked requests the device by its MAC address only, while the cloud is still called for the
// same device by name.
func TestDeviceByMACWhileCloudIsAsked(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	behind := &fakeCloud{hook: func(network.Allocation) error { close(begun); <-goOn; return nil }}
	w := newWorld(t, document, behind)
	answers := make(chan string, 2)
	send := func(device string) {
		_, answer := w.post("/GetProfileConfig", ask("c1", device))
		answers <- answer
	}
	go send(`{"name":"dummy1","mac_address":"46:8f:01:02:03:04"}`)
	<-begun
	go send(`{"mac_address":"46:8f:01:02:03:04"}`)
	close(goOn)
	if first, second := <-answers, <-answers; first != second || !strings.Contains(first, "10.64.0.10/24") {
		t.Errorf("got %s and %s", first, second)
	}
	if behind.binds != 1 || len(w.held()) != 1 {
		t.Errorf("the cloud got %d bind calls, and the ledger holds %v", behind.binds, w.held())
	}
}

// TestManyClaims checks that devices with the same name in many concurrent claims get different addresses.
func TestManyClaims(t *testing.T) {
	w := newWorld(t, document, nil)
	seen := map[string]string{}
	var mutex sync.Mutex
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			claim := fmt.Sprintf("claim-%d", i)
			status, answer := w.post("/GetProfileConfig", ask(claim, `{"pci_address":"0000:28:00.2","name":"pci-0000-28-00-2"}`))
			mutex.Lock()
			defer mutex.Unlock()
			if other, twice := seen[answer]; twice || status != http.StatusOK {
				t.Errorf("%s got %d %s, as %s", claim, status, answer, other)
			}
			seen[answer] = claim
		})
	}
	group.Wait()
}

// TestCrash stops the server during a bind, which is undone whether or not the cloud has it. The retry gets one address
// in both cases, and another claim never gets the same one.
func TestCrash(t *testing.T) {
	for _, c := range []struct {
		name string
		has  bool
	}{{"before the cloud has it", false}, {"after the cloud has it", true}} {
		t.Run(c.name, func(t *testing.T) {
			behind := &fakeCloud{}
			w := newWorld(t, document, behind)
			crashed := filepath.Join(t.TempDir(), "ledger")
			behind.hook = func(a network.Allocation) error {
				behind.mutex.Lock()
				defer behind.mutex.Unlock()
				behind.has[a.Owner] = c.has
				return errors.Join(errLost, os.CopyFS(crashed, os.DirFS(w.folder)))
			}
			if status, answer := w.post("/GetProfileConfig", ask("c1", `{"name":"dummy1"}`)); status != http.StatusInternalServerError {
				t.Errorf("got %d %s", status, answer)
			}
			w.shut()
			behind.hook, w.folder = nil, crashed
			w.open()
			for _, claim := range []string{"c2", "c1", "c1"} {
				if status, answer := w.post("/GetProfileConfig", ask(claim, `{"name":"dummy1"}`)); status != http.StatusOK {
					t.Errorf("got %d %s", status, answer)
				}
			}
			want := []string{"c1/name/dummy1 10.64.0.12 ResourceClaim c1", "c2/name/dummy1 10.64.0.11 ResourceClaim c2"}
			if diff := cmp.Diff(want, w.held()); diff != "" {
				t.Errorf("what is held (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnswerBeforeCallersTimeout checks that the server answers before DRANET's timeout while the work continues, and that a retry gets
// the result.
func TestAnswerBeforeCallersTimeout(t *testing.T) {
	goOn := make(chan struct{})
	behind := &fakeCloud{hook: func(network.Allocation) error { <-goOn; return nil }}
	w := newWorld(t, document, behind)
	w.handler = dranet.NewPatient(w.options, 50*time.Millisecond)
	status, answer := w.post("/GetProfileConfig", ask("c1", `{"name":"dummy1"}`))
	if want := "it takes longer than the caller waits; the work continues: retry"; status != http.StatusInternalServerError || answer != want {
		t.Errorf("got %d %s", status, answer)
	}
	close(goOn)
	w.handler = dranet.New(w.options)
	if status, answer := w.post("/GetProfileConfig", ask("c1", `{"mac_address":"46:8f:01:02:03:04","name":"dummy1"}`)); status != http.StatusOK {
		t.Errorf("got %d %s", status, answer)
	}
	if behind.binds != 1 {
		t.Errorf("unexpected number of bind calls: %d", behind.binds)
	}
}

// TestAllocateDuringRelease allocates for a device again in each state of its release.
func TestAllocateDuringRelease(t *testing.T) {
	behind := &fakeCloud{}
	w := newWorld(t, document, behind)
	for range 3 {
		if status, answer := w.post("/GetProfileConfig", ask("c1", `{"name":"dummy1"}`)); status != http.StatusOK {
			t.Errorf("got %d %s", status, answer)
		}
		if status, answer := w.post("/ReleaseProfileConfig", ask("c1", `{"name":"dummy1"}`)); status != http.StatusOK || answer != "" {
			t.Errorf("got %d %q", status, answer)
		}
	}
	if status, _ := w.post("/GetProfileConfig", ask("c1", `{"name":"dummy1"}`)); status != http.StatusOK || len(w.held()) != 1 {
		t.Errorf("got %d, and held is %v", status, w.held())
	}
	if behind.binds != 4 {
		t.Errorf("unexpected number of bind calls: %d", behind.binds)
	}
}

// TestWorkOfDepartedCallerIsFinished checks that work for a caller that has left is finished, and that the next request gets the result.
func TestWorkOfDepartedCallerIsFinished(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	behind := &fakeCloud{hook: func(network.Allocation) error { close(begun); <-goOn; return nil }}
	w := newWorld(t, document, behind)
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		status, _, _ := w.call(ctx, http.MethodPost, "/GetProfileConfig", ask("c1", `{"name":"dummy1"}`))
		done <- status
	}()
	<-begun
	leave()
	if status := <-done; status != http.StatusInternalServerError {
		t.Errorf("got %d", status)
	}
	close(goOn)
	if status, answer := w.post("/GetProfileConfig", ask("c1", `{"name":"dummy1"}`)); status != http.StatusOK {
		t.Errorf("got %d %s", status, answer)
	}
	if behind.binds != 1 {
		t.Errorf("unexpected number of bind calls: %d", behind.binds)
	}
}

// TestCloudErrors checks the HTTP statuses of cloud errors.
func TestCloudErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		status  int
		message string
	}{
		{"answers 400 if the cloud rejects the call", fmt.Errorf("%w: the subnet is closed", network.ErrRefused), 400, "refused by the cloud: the subnet is closed"},
		{"answers 500 if the answer got lost", errLost, 500, "unavailable: the answer got lost"},
		{"answers 429 if the queue is too long", &network.Busy{Of: "fabric", RetryAfter: 1500 * time.Millisecond}, 429, "would not end in time; try again in 1.5s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, document, &fakeCloud{hook: func(network.Allocation) error { return c.err }})
			status, answer, header := w.call(t.Context(), http.MethodPost, "/GetProfileConfig", ask("c1", `{"name":"dummy1"}`))
			if status != c.status || !strings.HasSuffix(answer, c.message) {
				t.Errorf("got %d %s, want %d %s", status, answer, c.status, c.message)
			}
			if after := header.Get("Retry-After"); c.status == 429 && after != "2" {
				t.Errorf("got Retry-After %q", after)
			}
		})
	}
}

// TestCloudMAC checks that a MAC address other than the cloud's is refused without a leftover.
func TestCloudMAC(t *testing.T) {
	mac := network.HardwareAddr{0xfa, 0x16, 0x3e, 0, 0, 1}
	behind := &fakeCloud{binding: network.Binding{MAC: mac, Gateways: []netip.Addr{netip.MustParseAddr("10.64.0.1")}, Routes: []network.Route{
		{Destination: netip.MustParsePrefix("10.9.0.0/16")}, {Destination: netip.MustParsePrefix("fd09::/64")},
	}}}
	w := newWorld(t, document, behind)
	with := func(claim, mac string) string {
		return fmt.Sprintf(`{"device":{"name":"a"},"claim_uid":%q,"config":{"profile":"acme.com/overlay","interface":{"hardwareAddr":%q}}}`, claim, mac)
	}
	status, answer := w.post("/GetProfileConfig", with("c1", "46:8f:01:02:03:04"))
	if status != http.StatusBadRequest || !strings.Contains(answer, "sets MAC addresses") {
		t.Errorf("got %d %s", status, answer)
	}
	status, answer = w.post("/GetProfileConfig", with("c2", "FA-16-3E-00-00-01"))
	want := `{"interface":{"addresses":["10.64.0.11/24"],"mtu":1450,"hardwareAddr":"fa:16:3e:00:00:01"},"routes":[` +
		`{"destination":"0.0.0.0/0","gateway":"10.64.0.1"},{"destination":"10.9.0.0/16","gateway":"10.64.0.1"},{"destination":"fd09::/64","scope":253}]}` + "\n"
	if diff := cmp.Diff(want, answer); diff != "" || status != http.StatusOK {
		t.Errorf("got %d (-want +got):\n%s", status, diff)
	}
	if got, err := w.ledger.Get(t.Context(), network.Owner{Contract: "dranet", Key: "c1/name/a"}); err == nil && got.State != network.Releasing {
		t.Errorf("the refused allocation is %s", got.State)
	}
}

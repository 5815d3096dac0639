// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api/dranet"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// nic is a device of a claim on a node, and its allocation.
type nic struct {
	claim, pci, name, mac string
	address               string
}

// known is a device with some of its identities: all of them at first, and later enough to identify it.
func (n *nic) known(random *rand.Rand) device.Device {
	d := device.Device{Name: n.name, PCI: n.pci, MAC: n.mac}
	if n.address == "" {
		return d
	}
	switch random.IntN(4) {
	case 0:
		d.MAC = ""
	case 1:
		d.Name = ""
	case 2:
		if d.PCI != "" {
			d.Name, d.MAC = fmt.Sprintf("net%d", random.IntN(3)), ""
		}
	}
	return d
}

// TestModel plays nodes that ask, ask again under other names, release, release again and restart the server in any order. Each device keeps its
// address until it is released, no two have the same, and nothing else is held.
func TestModel(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			w := newWorld(t, "testdata/model.yaml", nil)
			var nics []*nic
			for claim := range 4 {
				for i := range 3 {
					n := &nic{claim: fmt.Sprintf("claim-%d", claim), name: fmt.Sprintf("eth%d.7", i), mac: fmt.Sprintf("46:8f:00:00:%02x:%02x", claim, i)}
					if i < 2 {
						n.pci = fmt.Sprintf("0000:28:00.%d", i)
						n.name = fmt.Sprintf("pci-0000-28-00-%d", i)
					}
					nics = append(nics, n)
				}
			}
			for step := range 150 {
				n := nics[random.IntN(len(nics))]
				switch random.IntN(10) {
				case 0:
					w.shut()
					w.open()
				case 1, 2, 3:
					w.drop(n, n.known(random))
				default:
					w.want(step, n, n.known(random))
				}
			}
			w.compare(nics)
		})
	}
}

func (w *world) want(step int, n *nic, d device.Device) {
	w.t.Helper()
	raw, err := json.Marshal(d)
	if err != nil {
		w.t.Fatal(err)
	}
	status, answer := w.post("/GetProfileConfig", ask(n.claim, string(raw)))
	var config device.Config
	if err := json.Unmarshal([]byte(answer), &config); err != nil || status != http.StatusOK || len(config.Interface.Addresses) != 1 {
		w.t.Fatalf("step %d: %s of %s got %d %s", step, raw, n.claim, status, answer)
	}
	got := config.Interface.Addresses[0]
	if n.address != "" && n.address != got {
		w.t.Fatalf("step %d: %s of %s got %s, and had %s", step, raw, n.claim, got, n.address)
	}
	n.address = got
}

// drop releases with the remaining identities of the device, and mostly with its configuration.
func (w *world) drop(n *nic, d device.Device) {
	w.t.Helper()
	config := device.Config{Profile: "acme.com/overlay"}
	if n.address != "" {
		config.Interface.Addresses = []string{n.address}
	}
	raw, err := json.Marshal(map[string]any{"device": d, "claim_uid": n.claim, "config": config})
	if err != nil {
		w.t.Fatal(err)
	}
	if status, answer := w.post("/ReleaseProfileConfig", string(raw)); status != http.StatusOK || answer != "" {
		w.t.Fatalf("releasing %s: got %d %s", raw, status, answer)
	}
	n.address = ""
}

func (w *world) compare(nics []*nic) {
	w.t.Helper()
	var want, got []string
	for _, n := range nics {
		if n.address != "" {
			want = append(want, n.claim+" "+netip.MustParsePrefix(n.address).Addr().String())
		}
	}
	for _, line := range w.held() {
		owner, rest, _ := strings.Cut(line, " ")
		address, _, _ := strings.Cut(rest, " ")
		claim, _, _ := strings.Cut(owner, "/")
		got = append(got, claim+" "+address)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		w.t.Errorf("the nodes have %v, and the ledger %v", want, got)
	}
}

// FuzzRequests checks that every answer is valid, or a refusal in one line.
func FuzzRequests(f *testing.F) {
	paths := []string{"/health", "/GetDeviceAttributes", "/GetDeviceConfig", "/GetProfileConfig", "/ReleaseProfileConfig"}
	f.Add(3, ask("c1", `{"name":"a"}`))
	f.Add(4, ask("c1", `{"name":"a"}`))
	f.Add(3, `{"claim":{"metadata":{"uid":"x"},"status":{"allocation":{"devices":{"results":[{"driver":"dra.net"}]}}}},"config":{"profile":"acme.com/dual"}}`)
	f.Add(3, `{"claim_uid":"x","config":{"profile":"acme.com/dual","interface":{"addresses":["fd00:66::1/64"],"mtu":1500}}}`)
	f.Add(1, `{"pci_address":"0000:27:00.1"}`)
	w := newWorld(f, document, nil)
	w.options.Log = logr.Discard()
	w.handler = dranet.New(w.options)
	f.Fuzz(func(t *testing.T, path int, body string) {
		endpoint := paths[uint(path)%uint(len(paths))]
		recorder := httptest.NewRecorder()
		w.handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader(body)))
		answer := recorder.Body.String()
		if recorder.Code != http.StatusOK {
			if recorder.Code < 400 || answer == "" || strings.ContainsAny(answer, "\n\r") || len(answer) > 1000 {
				t.Errorf("got %d %q", recorder.Code, answer)
			}
			return
		}
		if endpoint == "/GetProfileConfig" || endpoint == "/GetDeviceConfig" {
			var config device.Config
			if err := json.Unmarshal([]byte(answer), &config); err != nil || config.Validate() != nil {
				t.Errorf("got %s: %v, %v", answer, err, config.Validate())
			}
		}
	})
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
)

const (
	networkID = "6a1c7a52-6f0e-4f7a-9a3b-0f6d0a2f1f60"
	subnetID  = "1b0fd2b8-40cf-4e5c-8c9f-4f6c9d8c8d0f"
	parentMAC = "fa:16:3e:00:00:01"
	trunkID   = "trunk"
)

// fake answers as a real Neutron and Keystone do (test/system/neutron), as far as the cloud calls them.
type fake struct {
	url string
	// down answers 500 to the discovery of versions, and logins counts logins.
	down   atomic.Bool
	logins atomic.Int64

	mutex sync.Mutex
	ports []*port
	vlans map[string]int
	next  int
	calls map[string]int
	// fault is called first; it returns true if it has answered. It is called after the work if late is set.
	fault func(w http.ResponseWriter, call string) bool
	late  bool
	// hidden omits the trunk from lists, as one of another project.
	hidden bool
}

type ip struct {
	SubnetID string `json:"subnet_id"`
	Address  string `json:"ip_address"`
}

type port struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	MAC         string         `json:"mac_address"`
	FixedIPs    []ip           `json:"fixed_ips"`
	Trunk       map[string]any `json:"trunk_details,omitempty"`
	Network     string         `json:"network_id,omitempty"`
	Security    *bool          `json:"port_security_enabled,omitempty"`
	Revision    int            `json:"revision_number"`
}

type subport struct {
	PortID string `json:"port_id"`
	Type   string `json:"segmentation_type"`
	VLAN   int    `json:"segmentation_id"`
}

func newFake(t *testing.T) *fake {
	f := &fake{vlans: map[string]int{}, calls: map[string]int{}}
	f.ports = []*port{{ID: "parent", Name: "node", MAC: parentMAC}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v3/auth/tokens", f.authenticate)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		if f.down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"versions": [{"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": "%s/v2.0/"}]}]}`, f.url)
	})
	mux.HandleFunc("GET /v2.0/trunks", f.handle("list trunks", func(*http.Request) (int, any) {
		if f.hidden {
			return http.StatusOK, map[string]any{"trunks": []any{}}
		}
		return http.StatusOK, map[string]any{"trunks": []any{map[string]any{"id": trunkID, "sub_ports": f.subports()}}}
	}))
	mux.HandleFunc("GET /v2.0/networks/"+networkID, f.handle("read network", func(*http.Request) (int, any) {
		return http.StatusOK, map[string]any{"network": map[string]any{"id": networkID, "name": "pods", "mtu": 1450}}
	}))
	for path, found := range map[string]string{
		"subnets/" + subnetID: "subnet", "extensions/trunk": "extension",
	} {
		mux.HandleFunc("GET /v2.0/"+path, f.handle("read "+found, func(*http.Request) (int, any) {
			return http.StatusOK, map[string]any{found: map[string]any{}}
		}))
	}
	mux.HandleFunc("GET /v2.0/quotas/project/details.json", f.handle("read quotas", func(*http.Request) (int, any) {
		return http.StatusOK, map[string]any{"quota": map[string]any{
			"port": map[string]int{"used": 7, "reserved": 1, "limit": 8}, "trunk": map[string]int{"used": 1, "reserved": 0, "limit": -1},
		}}
	}))
	mux.HandleFunc("GET /v2.0/", f.handle("read nothing", func(*http.Request) (int, any) { return failed(404, "NotFound") }))
	mux.HandleFunc("GET /v2.0/subnets", f.handle("list subnets", func(*http.Request) (int, any) {
		return http.StatusOK, map[string]any{"subnets": []any{map[string]any{"id": subnetID, "cidr": "10.0.0.0/24", "gateway_ip": "10.0.0.1",
			"host_routes": []any{map[string]any{"destination": "10.20.0.0/16", "nexthop": "10.0.0.254"}}}}}
	}))
	mux.HandleFunc("GET /v2.0/ports", f.handle("list ports", f.list))
	mux.HandleFunc("POST /v2.0/ports", f.handle("create ports", f.create))
	mux.HandleFunc("PUT /v2.0/ports/{id}", f.handle("update port", f.update))
	mux.HandleFunc("DELETE /v2.0/ports/{id}", f.handle("delete port", f.delete))
	mux.HandleFunc("PUT /v2.0/trunks/{id}/add_subports", f.handle("add subports", f.attach))
	mux.HandleFunc("PUT /v2.0/trunks/{id}/remove_subports", f.handle("remove subports", f.detach))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// open returns a cloud of the fake.
func (f *fake) open(t *testing.T, change ...func(*openstack.Definition)) *openstack.Cloud {
	t.Helper()
	return f.openWith(t, openstack.Options{Clock: clock.RealClock{}}, change...)
}

// openWith returns a cloud of the fake with options.
func (f *fake) openWith(t *testing.T, o openstack.Options, change ...func(*openstack.Definition)) *openstack.Cloud {
	t.Helper()
	folder := t.TempDir()
	for key, value := range map[string]string{
		"authURL": f.url + "/v3", "applicationCredentialID": "id", "applicationCredentialSecret": "secret",
	} {
		if err := os.WriteFile(filepath.Join(folder, key), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := &openstack.Definition{
		Credentials: openstack.Credentials{SecretFolder: folder}, NetworkID: networkID, NamePrefix: "graft",
		Trunk: &openstack.Trunk{FirstVLAN: 100, LastVLAN: 199},
	}
	for _, do := range change {
		do(d)
	}
	made, err := openstack.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (f *fake) authenticate(w http.ResponseWriter, _ *http.Request) {
	f.logins.Add(1)
	w.Header().Set("X-Subject-Token", "token")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	const token = `{"token": {"expires_at": "2099-01-01T00:00:00.000000Z", "project": {"id": "project"}, "catalog": [
		{"type": "network", "endpoints": [{"interface": "public", "region": "R", "region_id": "R", "url": %q}]}]}}`
	fmt.Fprintf(w, token, f.url)
}

// handle returns a handler for a function that returns status and body.
func (f *fake) handle(call string, do func(*http.Request) (int, any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		f.calls[call]++
		w.Header().Set("Content-Type", "application/json")
		if f.fault != nil && !f.late && f.fault(w, call) {
			return
		}
		status, body := do(r)
		if f.fault != nil && f.late && f.fault(w, call) {
			return
		}
		w.WriteHeader(status)
		if body != nil {
			_ = json.NewEncoder(w).Encode(body)
		}
	}
}

// failed is an error of Neutron.
func failed(status int, kind string) (int, any) {
	return status, map[string]any{"NeutronError": map[string]string{"type": kind, "message": "the fake's " + kind}}
}

// subports returns the sub-ports of the trunk.
func (f *fake) subports() []subport {
	all := []subport{}
	for id, vlan := range f.vlans {
		all = append(all, subport{id, "vlan", vlan})
	}
	return all
}

func (f *fake) list(r *http.Request) (int, any) {
	found := []*port{}
	for _, p := range f.ports {
		asked := r.URL.Query()
		names, macs, ids := asked["name"], asked["mac_address"], asked["id"]
		if names != nil && !slices.Contains(names, p.Name) || macs != nil && !slices.Contains(macs, p.MAC) || ids != nil && !slices.Contains(ids, p.ID) {
			continue
		}
		if p.ID == "parent" {
			p.Trunk = map[string]any{"trunk_id": trunkID, "sub_ports": f.subports()}
		}
		found = append(found, p)
	}
	return http.StatusOK, map[string]any{"ports": found}
}

func (f *fake) create(r *http.Request) (int, any) {
	var body struct {
		Port  *port   `json:"port"`
		Ports []*port `json:"ports"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return failed(400, "HTTPBadRequest")
	}
	wanted := body.Ports
	if body.Port != nil {
		wanted = []*port{body.Port}
	}
	for i, p := range wanted {
		f.next++
		p.ID, p.Revision = fmt.Sprintf("port-%d", f.next), 1
		if p.MAC == "" {
			p.MAC = fmt.Sprintf("fa:16:3e:01:%02x:%02x", f.next>>8, f.next&255)
		}
		for at := range p.FixedIPs {
			if p.FixedIPs[at].SubnetID != "" && p.FixedIPs[at].SubnetID != subnetID {
				return failed(400, "InvalidInput")
			}
			if p.FixedIPs[at].Address == "" {
				p.FixedIPs[at].Address = fmt.Sprintf("10.0.0.%d", 100+f.next%150)
			}
			p.FixedIPs[at].SubnetID = subnetID
			if strings.HasPrefix(p.FixedIPs[at].Address, "192.0.2.") {
				return failed(400, "InvalidIpForNetwork")
			}
			for _, other := range append(slices.Clone(f.ports), wanted[:i]...) {
				if slices.Contains(other.FixedIPs, p.FixedIPs[at]) {
					return failed(409, "IpAddressAlreadyAllocated")
				}
			}
		}
	}
	f.ports = append(f.ports, wanted...)
	if body.Port != nil {
		return http.StatusCreated, map[string]any{"port": body.Port}
	}
	return http.StatusCreated, map[string]any{"ports": wanted}
}

func (f *fake) update(r *http.Request) (int, any) {
	at := slices.IndexFunc(f.ports, func(p *port) bool { return p.ID == r.PathValue("id") })
	if at < 0 {
		return failed(404, "PortNotFound")
	}
	p := f.ports[at]
	if match := r.Header.Get("If-Match"); match != "" && match != fmt.Sprintf("revision_number=%d", p.Revision) {
		return failed(412, "RevisionNumberConstraintFailed")
	}
	changed := *p
	if json.NewDecoder(r.Body).Decode(&struct {
		Port *port `json:"port"`
	}{&changed}) != nil {
		return failed(400, "HTTPBadRequest")
	}
	changed.FixedIPs = slices.Clone(changed.FixedIPs)
	for i := range changed.FixedIPs {
		changed.FixedIPs[i].SubnetID = subnetID
		for _, other := range f.ports {
			if other.ID != p.ID && slices.Contains(other.FixedIPs, changed.FixedIPs[i]) {
				return failed(409, "IpAddressAlreadyAllocated")
			}
		}
	}
	*p = changed
	p.Revision++
	return http.StatusOK, map[string]any{"port": p}
}

func (f *fake) delete(r *http.Request) (int, any) {
	id := r.PathValue("id")
	if f.vlans[id] != 0 {
		return failed(409, "PortInUseAsSubPort")
	}
	before := len(f.ports)
	f.ports = slices.DeleteFunc(f.ports, func(p *port) bool { return p.ID == id })
	if len(f.ports) == before {
		return failed(404, "PortNotFound")
	}
	return http.StatusNoContent, nil
}

func (f *fake) attach(r *http.Request) (int, any) {
	all := subports(r)
	used := map[int]bool{}
	for _, vlan := range f.vlans {
		used[vlan] = true
	}
	for _, s := range all {
		switch {
		case f.vlans[s.PortID] != 0:
			return failed(409, "TrunkPortInUse")
		case used[s.VLAN]:
			return failed(409, "DuplicateSubPort")
		}
		used[s.VLAN] = true
	}
	for _, s := range all {
		f.vlans[s.PortID] = s.VLAN
	}
	return http.StatusOK, map[string]any{"id": trunkID}
}

func (f *fake) detach(r *http.Request) (int, any) {
	all := subports(r)
	for _, s := range all {
		if f.vlans[s.PortID] == 0 {
			return failed(404, "SubPortNotFound")
		}
	}
	for _, s := range all {
		delete(f.vlans, s.PortID)
	}
	return http.StatusOK, map[string]any{"id": trunkID}
}

func subports(r *http.Request) []subport {
	var body struct {
		SubPorts []subport `json:"sub_ports"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // an empty list attaches nothing
	return body.SubPorts
}

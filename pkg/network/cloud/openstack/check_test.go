// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
)

// lines returns results as text.
func lines(results []openstack.Result) []string {
	var all []string
	for _, r := range results {
		line := r.Name
		if r.Err != nil {
			line += " FAILED " + r.Err.Error()
		} else if r.Detail != "" {
			line += " " + r.Detail
		}
		all = append(all, line)
	}
	return all
}

// TestCheck compares the results for a cloud with a full quota and a security group that does not exist, and checks that
// nothing is changed.
func TestCheck(t *testing.T) {
	f := newFake(t)
	const group = "0f0f3f0a-9c57-4a0e-8f5d-3f3d7b6a9d11"
	c := f.open(t, func(d *openstack.Definition) {
		d.SubnetIDs, d.SecurityGroupIDs = []string{subnetID}, []string{group}
	})
	want := []string{
		"credentials and endpoint of Neutron",
		"network " + networkID,
		"subnet " + subnetID,
		"security group " + group + " FAILED reading: OpenStack answered 404 NotFound: the fake's NotFound",
		"permission to list ports",
		"permission to create ports",
		"extension trunk",
		"permission to list trunks",
		"trunk of the NIC " + parentMAC + " trunk, 0 sub-ports",
		"quota of ports FAILED 8 of 8 used: the quota is used up",
		"quota of trunks 1 used, no limit",
	}
	if diff := cmp.Diff(want, lines(c.Check(t.Context(), parentMAC))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(f.ports) != 1 || len(f.vlans) != 0 || f.calls["add subports"] != 0 {
		t.Errorf("ports %v, VLANs %v", f.ports, f.vlans)
	}
	got := lines(c.Check(t.Context(), "fa:16:3e:00:00:99"))
	if want := "trunk of the NIC fa:16:3e:00:00:99 FAILED 0 ports of the project have this MAC address"; got[8] != want {
		t.Errorf("got %q, want %q", got[8], want)
	}
}

// TestCheckCreation checks that a missing permission to create ports is found, and that a full quota does not hide it.
func TestCheckCreation(t *testing.T) {
	for name, test := range map[string]struct {
		status     int
		code, want string
	}{
		"reports a missing permission":             {403, "PolicyNotAuthorized", "creating a port: OpenStack answered 403 PolicyNotAuthorized: the fake's"},
		"skips the test port if the quota is full": {409, "OverQuota", "not tested, because the quota of ports is used up"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.fault = answer("create ports", test.status, test.code, "")
			got := lines(f.open(t).Check(t.Context(), ""))
			if want := "permission to create ports FAILED " + test.want; got[3] != want {
				t.Errorf("got %q, want %q", got[3], want)
			}
		})
	}
}

// TestCheckRejected checks that rejected credentials and missing quota details are reported.
func TestCheckRejected(t *testing.T) {
	f := newFake(t)
	f.down.Store(true)
	if got := f.open(t).Check(t.Context(), ""); len(got) != 1 || got[0].Err == nil {
		t.Errorf("got %q", lines(got))
	}
	f.down.Store(false)
	f.fault = func(w http.ResponseWriter, call string) bool {
		if call != "read quotas" {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{}`)
		return true
	}
	got := lines(f.open(t).Check(t.Context(), ""))
	if want := "quotas unknown: Neutron has no extension quota_details"; got[len(got)-1] != want {
		t.Errorf("got %q, want %q", got[len(got)-1], want)
	}
}

//go:build system && linux

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package uml_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/system/uml"
)

func TestMain(m *testing.M) {
	uml.Guest()
	os.Exit(m.Run())
}

// kinds are the modules of all links.
var kinds = []string{"8021q", "ipvlan", "macvlan", "veth", "bridge", "vxlan", "dummy"}

// TestGuest checks the guest that the other tests use: it has links that this machine may lack, reports the result of
// its program, cannot write the machine's files, and is stopped after a timeout.
func TestGuest(t *testing.T) {
	for _, c := range []struct {
		name, script, says string
		status             int
	}{
		{name: "links", script: `ip link add d0 type dummy && ip link add link d0 name d0.42 type vlan id 42 && ip link add link d0.42 name i0 type ipvlan mode l3 &&
			ip link add b0 type bridge vlan_filtering 1 && ip -o -d link show i0`, says: "ipvlan  mode l3"},
		{name: "status", script: "echo three >&2; exit 3", says: "three", status: 3},
		{name: "read only", script: "touch /etc/graft-uml", says: "Read-only file system", status: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := run(t, 5*time.Minute, uml.Job{Command: []string{"sh", "-c", c.script}, Files: map[string]string{"sh": "/bin/sh"}, Modules: kinds})
			var failed *uml.Failed
			switch {
			case c.status == 0 && err != nil:
				t.Fatalf("%v\n%s", err, out)
			case c.status != 0 && (!errors.As(err, &failed) || failed.Status != c.status):
				t.Fatalf("the guest ended with %v, want status %d\n%s", err, c.status, out)
			}
			if !strings.Contains(out, c.says) {
				t.Errorf("the output lacks %q:\n%s", c.says, out)
			}
		})
	}
	t.Run("ends at the deadline", func(t *testing.T) {
		_, err := run(t, 5*time.Second, uml.Job{Command: []string{"sh", "-c", "sleep 600"}, Files: map[string]string{"sh": "/bin/sh"}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("unexpected error of the guest: %v", err)
		}
	})
	t.Run("no such module", func(t *testing.T) {
		_, err := run(t, 5*time.Minute, uml.Job{Command: []string{"sh"}, Files: map[string]string{"sh": "/bin/sh"}, Modules: []string{"nothing"}})
		if err == nil || !strings.Contains(err.Error(), "there is no nothing") {
			t.Errorf("unexpected error of the guest: %v", err)
		}
	})
}

// run boots a guest with a deadline.
func run(t *testing.T, patience time.Duration, job uml.Job) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out bytes.Buffer
	err := uml.Run(ctx, job, &out)
	return out.String(), err
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// restless has, in the environment of a process, the segment that it makes and removes until it is killed.
const restless = "GRAFT_TEST_RESTLESS"

// TestKernelKilled kills a process that creates and removes links at random times; the next one completes the work and
// removes it.
func TestKernelKilled(t *testing.T) {
	port := Port{Endpoint: id(1), MAC: mac("02:00:00:00:00:01")}
	if text := os.Getenv(restless); text != "" {
		restlessly(t, text, port)
	}
	for name, s := range map[string]Segment{
		"creating a bridge":         {Network: id(0), Spec: Spec{Kind: Bridge, Parent: "up0"}, Gateways: prefixes("192.0.2.1/24", "2001:db8::1/64")},
		"creating a tunnel":         {Network: id(0), Spec: Spec{Kind: VXLAN, Parent: "up0", VNI: 7}, Gateways: prefixes("192.0.2.1/24")},
		"macvlan on a VLAN, or not": {Network: id(0), Spec: Spec{Kind: Macvlan, Parent: "up0", VLAN: 42}},
		"bridge on a VLAN, or not":  {Network: id(0), Spec: Spec{Kind: Bridge, Parent: "up0", VLAN: 42}},
	} {
		t.Run(name, func(t *testing.T) {
			fresh, m := newMachine(t), newMachine(t)
			if s.VLAN != 0 && m.lacks(t, VLAN) != nil {
				s.VLAN = 0
			}
			for _, m := range []machine{fresh, m} {
				m.parent(t, "up0")
			}
			empty := m.names(t)
			fresh.whole(t, s, port)
			want := fresh.state(t)
			for range 8 {
				m.disturb(t, s)
				m.whole(t, s, port)
				if diff := cmp.Diff(want, m.state(t)); diff != "" {
					t.Fatalf("-made at once +completed:\n%s", diff)
				}
				m.disturb(t, s)
				m.must(t, m.RemovePort(t.Context(), s, port.Endpoint))
				m.must(t, m.RemoveSegment(t.Context(), s, false))
				if diff := cmp.Diff(empty, m.names(t)); diff != "" {
					t.Fatalf("-before +after:\n%s", diff)
				}
			}
		})
	}
}

// whole makes a network and an endpoint.
func (m machine) whole(t *testing.T, s Segment, port Port) {
	t.Helper()
	m.must(t, m.EnsureSegment(t.Context(), s))
	_, err := m.EnsurePort(t.Context(), s, port)
	m.must(t, err)
}

// disturb lets a process create and remove a network, and kills it.
func (m machine) disturb(t *testing.T, s Segment) {
	t.Helper()
	text, err := json.Marshal(s)
	m.must(t, err)
	m.Do(t, func() error {
		command := exec.Command("/proc/self/exe", "-test.run=^TestKernelKilled$")
		command.Env = append(os.Environ(), restless+"="+string(text))
		command.Stderr = os.Stderr
		started, err := command.StdoutPipe()
		if err != nil {
			return err
		}
		if err := command.Start(); err != nil {
			return err
		}
		if _, err := started.Read(make([]byte, 1)); err != nil {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		if err := command.Process.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		_ = command.Wait() // it was killed
		return nil
	})
}

// restlessly reports that it begins, and never ends.
func restlessly(t *testing.T, text string, port Port) {
	t.Helper()
	var s Segment
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	k, err := Open(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.WriteString("."); err != nil {
		t.Fatal(err)
	}
	for ctx := context.Background(); ; {
		_ = k.EnsureSegment(ctx, s)
		_, _ = k.EnsurePort(ctx, s, port)
		_ = k.RemovePort(ctx, s, port.Endpoint)
		_ = k.RemoveSegment(ctx, s, false)
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// A caller gets control back when its time is over, though a call hangs; and the same links wait for it, while others do not.
func TestKernelHangs(t *testing.T) {
	m := newMachine(t)
	hang, began := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	err := m.do(ctx, "hanging", []string{"network/" + id(0)}, func(ctx context.Context, c *conn) error {
		close(began)
		<-hang
		if err := c.create(ctx, creation{kind: "bridge", settings: settings{name: "late"}}); !errors.Is(err, network.ErrUnavailable) {
			t.Errorf("after the caller has left something was begun: %v", err)
		}
		return nil
	})
	holds(t, err, network.ErrUnavailable, "hanging: waiting for the kernel: unavailable: context canceled")
	holds(t, err, context.Canceled, "")

	same, other := Segment{Network: id(0), Spec: Spec{Kind: Bridge}}, Segment{Network: id(1), Spec: Spec{Kind: Bridge}}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	holds(t, m.EnsureSegment(short, same), network.ErrUnavailable, "waiting for the same links")
	holds(t, m.EnsureSegment(short, other), context.DeadlineExceeded, "")
	m.must(t, m.EnsureSegment(t.Context(), other))
	close(hang)
	m.must(t, m.EnsureSegment(t.Context(), same))
	if diff := cmp.Diff(2, len(m.names(t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// When all lines hang, callers are told so in time, and it goes on when they come back.
func TestKernelAllHang(t *testing.T) {
	m := newMachine(t)
	hang := make(chan struct{})
	for i := 0; len(m.conns) > 0; i++ {
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := run(short, m.Kernel, "hanging", []string{fmt.Sprint(i)}, func(context.Context, *conn) (int, error) {
			<-hang
			return 0, nil
		})
		holds(t, err, context.DeadlineExceeded, "")
		cancel()
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := m.Marked(short)
	holds(t, err, network.ErrUnavailable, "waiting for calls that the kernel does not answer")
	close(hang)
	_, err = m.Marked(t.Context())
	m.must(t, err)
}

// What cannot be read is an error of one operation.
func TestKernelPanic(t *testing.T) {
	m := newMachine(t)
	for range 2 * conns {
		err := m.do(t.Context(), "reading", []string{"x"}, func(context.Context, *conn) error { panic("too short") })
		holds(t, err, network.ErrUnavailable, "too short")
	}
}

// The probe finds what is there, and leaves nothing.
func TestKernelProbe(t *testing.T) {
	m := newMachine(t)
	for kind, err := range m.Probe(t.Context()) {
		if kind != Ipvlan && kind != VLAN && err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		need := modules[string(kind)]
		if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("this kernel has no %s (%s): modprobe %s", kind, need.option, need.module)) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	here := m.do(t.Context(), "trying here", nil, func(ctx context.Context, c *conn) error {
		for kind, err := range c.try(ctx) {
			if (err == nil) != (m.lacks(t, kind) == nil) {
				t.Errorf("%s: %v", kind, err)
			}
		}
		return nil
	})
	m.must(t, here)
	if names := m.names(t); len(names) > 0 {
		t.Errorf("left over: %s", names)
	}
}

// powerless is set in the environment of a process that may not change links.
const powerless = "GRAFT_TEST_POWERLESS"

// Without the capability all is refused, and said to be for want of it.
func TestKernelWithoutCapability(t *testing.T) {
	if os.Getenv(powerless) != "" {
		k, err := Open(Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := Segment{Network: id(0), Spec: Spec{Kind: Bridge}}
		holds(t, k.EnsureSegment(t.Context(), s), ErrImpossible, "this process needs CAP_NET_ADMIN in its network namespace")
		for _, err := range k.Probe(t.Context()) {
			holds(t, err, ErrImpossible, "this process needs CAP_NET_ADMIN in its network namespace")
		}
		return
	}
	// A process has no power over a network that another user has, nor, in a user namespace of its own, over the one that it stays in.
	var refusals []error
	for _, other := range []*syscall.SysProcAttr{
		{Cloneflags: unix.CLONE_NEWUSER, UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}},
		{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}},
	} {
		command := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestKernelWithoutCapability$")
		command.Env, command.SysProcAttr = append(os.Environ(), powerless+"=1"), other
		output, err := command.CombinedOutput()
		if err == nil {
			return
		}
		refusals = append(refusals, fmt.Errorf("%w\n%s", err, output))
	}
	t.Error(errors.Join(refusals...))
}

func TestLocks(t *testing.T) {
	l := newLocks()
	first, err := l.lock(t.Context(), []string{"b", "a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.lock(short, []string{"0", "a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	zero, err := l.lock(short, []string{"0"}) // was given back
	if err != nil {
		t.Fatal(err)
	}
	zero()
	second := make(chan func())
	go func() {
		unlock, _ := l.lock(t.Context(), []string{"a"})
		second <- unlock
	}()
	first()
	(<-second)()
	if len(l.held) > 0 {
		t.Errorf("held: %v", l.held)
	}
}

func TestFaults(t *testing.T) {
	for errno, want := range map[unix.Errno]error{
		unix.EPERM: ErrImpossible, unix.EAGAIN: network.ErrUnavailable, unix.ENOBUFS: network.ErrUnavailable, unix.ENODEV: network.ErrUnavailable,
		unix.EIO: unix.EIO,
	} {
		holds(t, fault("doing", fmt.Errorf("the kernel: %w", errno)), want, "doing: ")
		holds(t, fault("doing", errno), errno, "")
	}
	if err := fault("doing", nil); err != nil {
		t.Error(err)
	}
	for _, errno := range []error{unix.EOPNOTSUPP, fmt.Errorf("%w: Unknown device type", unix.EOPNOTSUPP)} {
		holds(t, making("making", "vxlan", errno), ErrImpossible, "this kernel has no vxlan (CONFIG_VXLAN): modprobe vxlan")
	}
	holds(t, making("making", "vlan", fmt.Errorf("%w: VLANs not supported on device", unix.EOPNOTSUPP)), ErrImpossible,
		"making: not possible: operation not supported: VLANs not supported on device")
}

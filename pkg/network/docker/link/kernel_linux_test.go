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

// TestKernelHangs checks that a caller returns at its deadline although a kernel call hangs. Operations on the same
// links wait for that call, others do not.
func TestKernelHangs(t *testing.T) {
	m := newMachine(t)
	hang, began := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	err := m.do(ctx, "network/"+id(0), func(session) error {
		close(began)
		<-hang
		return nil
	})
	holds(t, err, network.ErrUnavailable, "waiting for the kernel: unavailable: context canceled")
	holds(t, err, context.Canceled, "")

	same, other := Segment{Network: id(0), Spec: Spec{Kind: Bridge}}, Segment{Network: id(1), Spec: Spec{Kind: Bridge}}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	holds(t, m.EnsureSegment(short, same), network.ErrUnavailable, "waiting for the kernel")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	holds(t, m.EnsureSegment(ended, other), context.Canceled, "")
	m.must(t, m.EnsureSegment(t.Context(), other))
	close(hang)
	m.must(t, m.EnsureSegment(t.Context(), same))
	if diff := cmp.Diff(2, len(m.names(t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// When as many calls hang as may run at a time, callers get an error in time, and work continues when the calls return.
func TestKernelAllHang(t *testing.T) {
	m := newMachine(t)
	hang := make(chan struct{})
	for i := range concurrency {
		ctx, cancel := context.WithCancel(t.Context())
		err := m.do(ctx, fmt.Sprint(i), func(session) error {
			cancel()
			<-hang
			return nil
		})
		holds(t, err, context.Canceled, "")
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := m.Marked(short)
	holds(t, err, network.ErrUnavailable, "waiting for calls that the kernel does not answer")
	close(hang)
	_, err = m.Marked(t.Context())
	m.must(t, err)
}

// TestKernelCloseWhileCallHangs checks that Close does not release a namespace with a running call.
func TestKernelCloseWhileCallHangs(t *testing.T) {
	k, err := Open(20 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hang := make(chan struct{})
	holds(t, k.do(ctx, "x", func(session) error {
		cancel()
		<-hang
		return nil
	}), context.Canceled, "")
	holds(t, k.Close(), context.DeadlineExceeded, "waiting for calls that the kernel does not answer")
	if !k.namespace.IsOpen() {
		t.Error("the namespace was released")
	}
	close(hang)
	for k.namespace.IsOpen() {
		if err := k.Close(); err != nil {
			holds(t, err, context.DeadlineExceeded, "")
		}
	}
}

// TestKernelPanic checks that unreadable data is an error of one operation.
func TestKernelPanic(t *testing.T) {
	m := newMachine(t)
	for range 2 * concurrency {
		err := m.do(t.Context(), "x", func(session) error { panic("too short") })
		holds(t, err, network.ErrUnavailable, "too short")
	}
}

// TestKernelProbe checks that the probe finds the supported kinds and leaves no links.
func TestKernelProbe(t *testing.T) {
	m := newMachine(t)
	for kind, err := range m.Probe(t.Context()) {
		if kind != Ipvlan && kind != VLAN && err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("this kernel has no %s: modprobe ", kind)) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if names := m.names(t); len(names) > 0 {
		t.Errorf("links are left: %s", names)
	}
}

// powerless is set in the environment of a process that may not change links.
const powerless = "GRAFT_TEST_POWERLESS"

// Without the capability, each operation fails with an error that names it.
func TestKernelWithoutCapability(t *testing.T) {
	if os.Getenv(powerless) != "" {
		k, err := Open(5 * time.Second)
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

func TestExplain(t *testing.T) {
	for errno, want := range map[unix.Errno]error{
		unix.EPERM: ErrImpossible, unix.EIO: unix.EIO, unix.EOPNOTSUPP: unix.EOPNOTSUPP,
	} {
		holds(t, wrapError("doing", "", fmt.Errorf("the kernel: %w", errno)), want, "doing: ")
		holds(t, wrapError("doing", "", errno), errno, "")
	}
	if err := wrapError("doing", "", nil); err != nil {
		t.Error(err)
	}
	for _, errno := range []error{unix.EOPNOTSUPP, fmt.Errorf("%w: Unknown device type", unix.EOPNOTSUPP)} {
		holds(t, wrapError("making", "vxlan", errno), ErrImpossible, "this kernel has no vxlan: modprobe vxlan")
		holds(t, wrapError("making", "vlan", errno), ErrImpossible, "this kernel has no vlan: modprobe 8021q")
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package namespace

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
)

var options = Options{Processes: true, Empty: []string{"/run"}}

func TestMain(m *testing.M) { os.Exit(Main(m, options)) }

// The tests are alone: with one interface, which is up, with processes and folders of their own, and as root.
func TestKernelAlone(t *testing.T) {
	interfaces, err := net.Interfaces()
	if err != nil || len(interfaces) != 1 || interfaces[0].Flags&net.FlagUp == 0 {
		t.Errorf("the interfaces are %v: %v", interfaces, err)
	}
	if os.Getuid() != 0 || os.Getpid() != 1 || !Inside() {
		t.Errorf("user %d, process %d, inside %t", os.Getuid(), os.Getpid(), Inside())
	}
	if target, err := os.Readlink("/proc/self"); target != "1" {
		t.Errorf("/proc shows process %s: %v", target, err)
	}
	there, err := os.ReadDir("/run")
	if len(there) > 0 || err != nil {
		t.Errorf("want an empty /run, got %v, %v", there, err)
	}
	if err := os.WriteFile("/run/mine", nil, 0o600); err != nil {
		t.Error(err)
	}
}

// TestKernelMachine checks that work in a machine affects only its network namespace, and that its threads do not
// affect other goroutines.
func TestKernelMachine(t *testing.T) {
	before, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		m := NewMachine(t)
		m.Do(t, func() error {
			return netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}})
		})
		m.Do(t, func() error {
			_, err := netlink.LinkByName("br0")
			return err
		})
		inside, err := os.Open(m.Path())
		if err != nil {
			t.Fatal(err)
		}
		inside.Close()
		if err := m.Try(func() error { return errors.ErrUnsupported }); !errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
	}
	if links, err := netlink.LinkList(); err != nil || len(links) != 1 {
		t.Errorf("the tests' network has %v: %v", links, err)
	}
	if after, err := os.Readlink("/proc/self/ns/net"); after != before {
		t.Errorf("the process was in %s and is in %s: %v", before, after, err)
	}
}

// TestKernelCommand checks that a program runs as its user, and that its end is reported.
func TestKernelCommand(t *testing.T) {
	for _, users := range []bool{true, false} {
		output, err := Command(Options{}, users, "sh", "-c", "id -u; cat /proc/net/dev | wc -l; exit 3").Output()
		if refused(err) {
			t.Logf("users %t: %v", users, err)
			continue
		}
		if err == nil || err.Error() != "exit status 3" || string(output) != "0\n3\n" {
			t.Errorf("users %t: %q: %v", users, output, err)
		}
	}
}

func TestExplain(t *testing.T) {
	var said strings.Builder
	explain(&said, ErrRefused)
	for _, part := range []string{ErrRefused.Error(), "sysctl -w", "GRAFT_TEST_WITHOUT_KERNEL=1", "As root"} {
		if !strings.Contains(said.String(), part) {
			t.Errorf("the output lacks %q:\n%s", part, &said)
		}
	}
}

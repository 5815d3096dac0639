// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
)

// place is the network namespace in which a Kernel was opened. Sockets stay in theirs; what the kernel says in files it says of the thread that reads.
type place struct{ handle netns.NsHandle }

func thisPlace() (place, error) {
	handle, err := netns.Get()
	if err != nil {
		return place{}, fmt.Errorf("looking at the network namespace: %w", err)
	}
	return place{handle}, nil
}

func (p *place) close() { _ = p.handle.Close() }

// do does something on a thread that is there.
func (p place) do(f func() error) error {
	runtime.LockOSThread()
	here, err := thisPlace()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer here.close()
	if here.handle.Equal(p.handle) {
		defer runtime.UnlockOSThread()
		return f()
	}
	if err := netns.Set(p.handle); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("going into the network namespace: %w", err)
	}
	err = f()
	if back := netns.Set(here.handle); back == nil {
		runtime.UnlockOSThread() // otherwise the thread ends with its goroutine
	}
	return err
}

// ipv6Settings is where Linux has what it does with IPv6 on each interface. Netlink tells most of it, and changes none of what is needed here.
const ipv6Settings = "/proc/sys/net/ipv6/conf"

// hostSettings is where a container that shares the machine's network may have the same to write, as its own /proc/sys cannot be written: Docker's managed
// plugins are such (hack/plugin).
const hostSettings = "/host" + ipv6Settings

// refuseRouters makes this machine take no routes from router advertisements on a link: they could come from any container that is on it
// (CVE-2020-13401 was this). It is ErrImpossible where that cannot be written and is otherwise.
func (p place) refuseRouters(name string) error {
	file := filepath.Join(ipv6Settings, name, "accept_ra")
	return p.do(func() error {
		accepts, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(accepts)) == "0" {
			return nil // there is no IPv6, or it is so
		}
		if err == nil {
			err = os.WriteFile(file, []byte("0"), 0)
		}
		if err != nil && os.WriteFile(filepath.Join(hostSettings, name, "accept_ra"), []byte("0"), 0) == nil {
			accepts, err = os.ReadFile(file)
			if err == nil && strings.TrimSpace(string(accepts)) != "0" {
				err = fmt.Errorf("%s is of another network", hostSettings)
			}
		}
		if err != nil {
			return fmt.Errorf("refusing router advertisements, which containers could send to this machine: %w: %w: let this process write to %s"+
				" (a unit of systemd: ReadWritePaths=%s), or set net.ipv6.conf.default.accept_ra to 0", ErrImpossible, err, ipv6Settings, ipv6Settings)
		}
		return nil
	})
}

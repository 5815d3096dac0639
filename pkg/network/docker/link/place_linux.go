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

// place is the network namespace of a Kernel. Sockets stay in their namespace, but files in /proc depend on the
// reading thread.
type place struct{ handle netns.NsHandle }

func thisPlace() (place, error) {
	handle, err := netns.Get()
	if err != nil {
		return place{}, fmt.Errorf("looking at the network namespace: %w", err)
	}
	return place{handle}, nil
}

func (p *place) close() { _ = p.handle.Close() }

// do runs f on a thread in the namespace.
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

// ipv6Settings is the directory with the IPv6 settings of interfaces. Netlink reports most of them, but cannot
// change the needed ones.
const ipv6Settings = "/proc/sys/net/ipv6/conf"

// hostSettings is the same directory of the host, mounted writable into a container in the host's network whose
// own /proc/sys is read-only, such as a managed plugin of Docker (hack/plugin).
const hostSettings = "/host" + ipv6Settings

// refuseRouters disables router advertisements on a link, because any container on it could send them
// (CVE-2020-13401). It returns ErrImpossible if they are enabled and the setting cannot be written.
func (p place) refuseRouters(name string) error {
	file := filepath.Join(ipv6Settings, name, "accept_ra")
	return p.do(func() error {
		accepts, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(accepts)) == "0" {
			return nil // IPv6 is disabled, or nothing to do
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

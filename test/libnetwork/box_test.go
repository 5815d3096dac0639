// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// box is a sandbox, seen from inside. The one without a key is this machine.
type box struct {
	t       *testing.T
	id, key string
}

// view is an interface as a container sees it. Addresses and routes are sorted, without those that the kernel adds.
type view struct {
	Name, MAC string
	MTU       int
	Addresses []string
	Routes    []string
}

// see gives the interfaces of the sandbox, but for the loopback interface, in the order of their names.
func (b *box) see() (views []view) {
	b.t.Helper()
	err := within(b.key, func() error {
		links, err := netlink.LinkList()
		if err != nil {
			return err
		}
		for _, link := range links {
			if link.Attrs().Name == "lo" {
				continue
			}
			v := view{Name: link.Attrs().Name, MAC: link.Attrs().HardwareAddr.String(), MTU: link.Attrs().MTU}
			if v.Addresses, err = addresses(link); err != nil {
				return err
			}
			if v.Routes, err = routes(link); err != nil {
				return err
			}
			views = append(views, v)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	slices.SortFunc(views, func(a, b view) int { return cmp.Compare(a.Name, b.Name) })
	return views
}

// one returns the only interface.
func (b *box) one() view {
	b.t.Helper()
	all := b.see()
	if len(all) != 1 {
		b.t.Fatalf("the sandbox has %d interfaces: %v", len(all), all)
	}
	return all[0]
}

// addresses are those of a link, but for link-local ones.
func addresses(link netlink.Link) (all []string, err error) {
	found, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	for _, a := range found {
		if !a.IP.IsLinkLocalUnicast() {
			all = append(all, a.IPNet.String())
		}
	}
	slices.Sort(all)
	return all, err
}

// routes are those over a link that the kernel has not made for its addresses.
func routes(link netlink.Link) (all []string, err error) {
	found, err := netlink.RouteList(link, netlink.FAMILY_ALL)
	for _, r := range found {
		if r.Protocol == unix.RTPROT_KERNEL || r.Dst != nil && (r.Dst.IP.IsLinkLocalUnicast() || r.Dst.IP.IsMulticast()) {
			continue
		}
		text := "default"
		if r.Dst != nil && !r.Dst.IP.IsUnspecified() {
			text = r.Dst.String()
		} else if r.Dst != nil && r.Dst.IP.To4() == nil {
			text = "default6"
		}
		if r.Gw != nil {
			text += " via " + r.Gw.String()
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all, err
}

// reaches makes sure that another sandbox's address answers a ping and a TCP connection from this one, if not at once: addresses of IPv6 are tentative
// at first.
func (b *box) reaches(other *box, address string) {
	b.t.Helper()
	if err := b.dial(other, address, 8); err != nil {
		b.t.Errorf("%s is not reached: %v", address, err)
	}
}

// apart makes sure that another sandbox's address does not answer.
func (b *box) apart(other *box, address string) {
	b.t.Helper()
	if err := b.dial(other, address, 1); err == nil {
		b.t.Errorf("%s is reached, and must not be", address)
	}
}

// dial asks another sandbox's address so often, until it answers.
func (b *box) dial(other *box, address string, attempts int) error {
	ip, _, err := net.ParseCIDR(address)
	if err != nil {
		return err
	}
	var listener net.Listener
	if err := within(other.key, func() (err error) {
		// an address of IPv6 is tentative at first
		for range 200 {
			if listener, err = (&net.ListenConfig{}).Listen(b.t.Context(), "tcp", net.JoinHostPort(ip.String(), "0")); err == nil {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
		}
		return err
	}); err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	return within(b.key, func() (err error) {
		for range attempts {
			if err = errors.Join(ping(b.t.Context(), ip), echo(b.t.Context(), listener.Addr().String())); err == nil {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return err
	})
}

// echo sends a word to an address over TCP, and reads it back.
func echo(ctx context.Context, address string) error {
	c, err := (&net.Dialer{Timeout: 500 * time.Millisecond}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "word"); err != nil {
		return err
	}
	heard := make([]byte, 4)
	if _, err := io.ReadFull(c, heard); err != nil {
		return err
	}
	if string(heard) != "word" {
		return fmt.Errorf("%q came back", heard)
	}
	return nil
}

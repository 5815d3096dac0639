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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// sandbox is the network namespace of a container. The one without a key is the machine's.
type sandbox struct{ id, key string }

// host is the namespace of the machine.
var host = &sandbox{}

// view is an interface as a container sees it. Addresses and routes are sorted. Routes of the kernel are left out.
type view struct {
	Name, MAC string
	MTU       int
	Addresses []string
	Routes    []string
}

// interfaces returns the interfaces of the sandbox except the loopback interface, sorted by name.
func (s *sandbox) interfaces() (views []view) {
	GinkgoHelper()
	Expect(within(s.key, func() error {
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
	})).To(Succeed())
	slices.SortFunc(views, func(a, b view) int { return cmp.Compare(a.Name, b.Name) })
	return views
}

// onlyInterface returns the interface of a sandbox that has one.
func (s *sandbox) onlyInterface() view {
	GinkgoHelper()
	all := s.interfaces()
	Expect(all).To(HaveLen(1), "the interfaces of the sandbox")
	return all[0]
}

// addresses returns the addresses of a link except link-local ones.
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

// routes returns the routes over a link, without those that the kernel creates for addresses.
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

// expectReach expects that an address of another sandbox answers a ping and a TCP connection. It tries several times,
// because addresses of IPv6 are tentative at first.
func (s *sandbox) expectReach(other *sandbox, address string) {
	GinkgoHelper()
	Expect(s.connect(other, address, 8)).To(Succeed(), "connecting to %s", address)
}

// expectNoReach expects that an address of another sandbox does not answer.
func (s *sandbox) expectNoReach(other *sandbox, address string) {
	GinkgoHelper()
	Expect(s.connect(other, address, 1)).NotTo(Succeed(), "connecting to %s", address)
}

// connect pings an address of another sandbox and exchanges a word over TCP. It returns the error of the last attempt.
func (s *sandbox) connect(other *sandbox, address string, attempts int) error {
	ip, _, err := net.ParseCIDR(address)
	if err != nil {
		return err
	}
	ctx := context.Background()
	var listener net.Listener
	if err := within(other.key, func() (err error) {
		for range 200 { // an address of IPv6 is tentative at first
			if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(ip.String(), "0")); err == nil {
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
	return within(s.key, func() (err error) {
		for range attempts {
			if err = errors.Join(ping(ctx, ip), echo(ctx, listener.Addr().String())); err == nil {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return err
	})
}

// echo sends a word to an address over TCP and reads it back.
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
	answer := make([]byte, 4)
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if string(answer) != "word" {
		return fmt.Errorf("the answer is %q", answer)
	}
	return nil
}

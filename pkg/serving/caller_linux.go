// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// CallerGone reports whether the caller of a request has closed its connection. Unlike the request's context, it also
// works for a request that was read after its caller had left, for example by a server that was paused or restarted
// behind a socket of systemd.
func CallerGone(ctx context.Context) bool {
	c, _ := ctx.Value(connectionKey{}).(net.Conn)
	if wrapped, ok := c.(*connection); ok {
		c = wrapped.Conn
	}
	file, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(polled, 0)
		gone = err == nil && n > 0 && polled[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return err != nil || gone
}

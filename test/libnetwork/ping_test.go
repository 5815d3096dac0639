// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// Types of ICMP messages (RFC 792 and RFC 4443).
const (
	echoRequest, echoReply       = 8, 0
	echoRequestSix, echoReplySix = 128, 129
)

// ping sends an echo request in the namespace of the calling thread. It fails if there is no answer within half a
// second.
func ping(ctx context.Context, ip net.IP) error {
	protocol, request, reply := "ip4:icmp", byte(echoRequest), byte(echoReply)
	if ip.To4() == nil {
		protocol, request, reply = "ip6:ipv6-icmp", echoRequestSix, echoReplySix
	}
	dialed, err := (&net.Dialer{}).DialContext(ctx, protocol, ip.String())
	if err != nil {
		return err
	}
	c, ok := dialed.(*net.IPConn)
	if !ok {
		return fmt.Errorf("unexpected connection of type %T", dialed)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		return err
	}
	message := append([]byte{request, 0, 0, 0, 0x47, 0x72, 0, 1}, "graft"...)
	if ip.To4() != nil { // the kernel computes the checksum of ICMPv6
		binary.BigEndian.PutUint16(message[2:], checksum(message))
	}
	if _, err := c.Write(message); err != nil {
		return err
	}
	answer := make([]byte, 1500)
	for {
		length, _, err := c.ReadFromIP(answer) // without the IPv4 header
		if err != nil {
			return fmt.Errorf("no answer to an echo request: %w", err)
		}
		if length >= len(message) && answer[0] == reply && bytes.Equal(answer[4:length], message[4:]) {
			return nil
		}
	}
}

// checksum returns the Internet checksum (RFC 1071).
func checksum(message []byte) uint16 {
	var sum uint32
	for i := 0; i < len(message); i += 2 {
		pair := uint32(message[i]) << 8
		if i+1 < len(message) {
			pair |= uint32(message[i+1])
		}
		sum += pair
	}
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum) // fold the carry
}

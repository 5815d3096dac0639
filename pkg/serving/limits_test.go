// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// TestHandshakeTimeout checks that a connection with a missing or incomplete TLS handshake is closed after HeadTimeout,
// and that HeadTimeout is the documented 10 seconds.
func TestHandshakeTimeout(t *testing.T) {
	if HeadTimeout != 10*time.Second {
		t.Errorf("HeadTimeout is %s", HeadTimeout)
	}
	certificate := httptest.NewTLSServer(http.NotFoundHandler())
	certificate.Close()
	guard := NewGuard(withLimits(Limits{}), nil)
	server := guard.Server(http.NotFoundHandler(), logr.Discard())
	if server.ReadHeaderTimeout != HeadTimeout || server.ReadTimeout != 0 {
		t.Errorf("the timeouts of the server are %s and %s", server.ReadHeaderTimeout, server.ReadTimeout)
	}
	server.TLSConfig = &tls.Config{Certificates: certificate.TLS.Certificates}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.ServeTLS(guard.Listen(listener), "", "") }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	started := time.Now()
	for name, sent := range map[string]string{"nothing is sent": "", "half of a handshake is sent": "\x16\x03\x01\x02\x00\x01"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, sent); err != nil {
				t.Fatal(err)
			}
			_ = c.SetReadDeadline(started.Add(time.Minute))
			if _, err := io.ReadAll(c); err != nil && strings.Contains(err.Error(), "i/o timeout") {
				t.Error("the connection is not closed within a minute")
			}
			if after := time.Since(started); after < HeadTimeout-time.Second {
				t.Errorf("the connection is closed after %s already", after)
			}
		})
	}
}

// TestLimitFlags checks that only flags that are set override the limits of a configuration, and that the error for a
// limit that rejects everything names its flag.
func TestLimitFlags(t *testing.T) {
	type limits struct{ Connections, Streams, Requests, BodiesBytes int32 }
	configured := limits{1024, 32, 64, 64 << 20}
	for name, test := range map[string]struct {
		arguments []string
		want      limits
		err       string
	}{
		"no flags keep the configuration": {nil, configured, ""},
		"one flag changes one limit":      {[]string{"--limit-streams=8"}, limits{1024, 8, 64, 64 << 20}, ""},
		"all flags change all limits":     {[]string{"--limit-connections=2", "--limit-streams=3", "--limit-requests=4", "--limit-bodies-bytes=65536"}, limits{2, 3, 4, 64 << 10}, ""},
		"zero requests are rejected":      {[]string{"--limit-requests=0"}, limits{1024, 32, 0, 64 << 20}, "--limit-requests must be at least 1"},
		"too few bytes are rejected":      {[]string{"--limit-bodies-bytes=65535"}, limits{1024, 32, 64, 65535}, "--limit-bodies-bytes must be at least 65536"},
		"two wrong flags": {
			[]string{"--limit-connections=-1", "--limit-streams=0"}, limits{-1, 0, 64, 64 << 20},
			"--limit-connections must be at least 1\n--limit-streams must be at least 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var flags LimitFlags
			set := pflag.NewFlagSet("test", pflag.ContinueOnError)
			flags.AddTo(set)
			if err := set.Parse(test.arguments); err != nil {
				t.Fatal(err)
			}
			got := configured
			err := flags.Override(set, &got.Connections, &got.Streams, &got.Requests, &got.BodiesBytes)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the limits: %s", diff)
			}
			if message := errorText(err); message != test.err {
				t.Errorf("got the error %q, want %q", message, test.err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestReserveOfDescriptors checks that connections leave file descriptors for health checks, files and clients of the
// program.
func TestReserveOfDescriptors(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	})
	for _, test := range []struct {
		files, allowed uint64
		want           int
	}{
		{64, 1024, 24},    // 40 are reserved
		{1024, 4096, 768}, // a quarter is reserved
		{1024, 100, 100},
		{42, 1024, 4}, // some connections are always allowed
	} {
		if before.Max < test.files {
			t.Fatalf("the limit of file descriptors is %d, and the test needs %d", before.Max, test.files)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: test.files, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
		if got := NewConnections(int(test.allowed), nil).most; got != test.want {
			t.Errorf("of %d descriptors and %d allowed connections, %d may be open, want %d", test.files, test.allowed, got, test.want)
		}
	}
}

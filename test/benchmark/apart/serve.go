// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package apart

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"syscall"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// hello is the servers' message to the caller when they serve: their addresses and common certificate.
type hello struct {
	Addresses   []string
	Certificate []byte
}

// Serve runs a server until in ends. It writes to out its address and those of the other servers, which have the same
// certificate. limit may wrap its listener; it may be nil.
func Serve(ctx context.Context, in io.Reader, out io.Writer, server *http.Server,
	limit func(net.Listener) net.Listener, others ...string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if limit != nil {
		listener = limit(listener)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = server.Close()
	}()
	certificate := server.TLSConfig.Certificates[0].Certificate[0]
	if err := json.NewEncoder(out).Encode(hello{append([]string{listener.Addr().String()}, others...),
		certificate}); err != nil {
		return err
	}
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// NewCertificate returns a certificate like those of Graft and of Gardener's secrets manager, except for the elliptic
// curve.
func NewCertificate() (tls.Certificate, error) {
	made, err := signing.New(&x509.Certificate{
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true,
	}, nil)
	if err != nil {
		return tls.Certificate{}, err
	}
	return made.TLS(), nil
}

// Usage is the resource usage of a process since its start.
type Usage struct {
	CPU time.Duration
	// Mallocs is the number of heap allocations, and Bytes their size.
	Mallocs, Bytes uint64
}

// UsageOfProcess returns the resource usage of this process.
func UsageOfProcess() (Usage, error) {
	var times syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &times); err != nil {
		return Usage{}, fmt.Errorf("reading the usage of the process: %w", err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return Usage{CPU: time.Duration(times.Utime.Nano() + times.Stime.Nano()), Mallocs: memory.Mallocs,
		Bytes: memory.TotalAlloc}, nil
}

const usagePath = "/usage"

// AddUsage adds the handler for Servers.Usage to a server.
func AddUsage(mux *http.ServeMux) {
	mux.HandleFunc(usagePath, func(w http.ResponseWriter, _ *http.Request) {
		u, err := UsageOfProcess()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(u)
	})
}

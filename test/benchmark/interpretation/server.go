// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/server"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/wire"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// hello is what the servers say to the caller when they serve: their addresses, and the certificate of both.
type hello struct {
	Floor, Graft string
	Certificate  []byte
}

// usage is what the servers have used since they were started.
type usage struct {
	CPU     time.Duration
	Mallocs uint64
}

// serve is the floor and Graft, each at an address, until the input ends.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	certificate, err := newCertificate()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	floor := newFloor(certificate)
	graft, err := newGraft(ctx, certificate)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = floor.Close()
		cancel()
	}()
	ended := make(chan error, 1)
	go func() { ended <- graft.Serve(ctx, time.Second) }()
	if err := json.NewEncoder(out).Encode(hello{listener.Addr().String(), graft.Address(), certificate.Certificate[0]}); err != nil {
		return err
	}
	if err := floor.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the floor: %w", err)
	}
	return <-ended
}

// newGraft is the server of graft-resource-interpreter with the profiles that are part of it.
func newGraft(ctx context.Context, certificate tls.Certificate) (*server.Server, error) {
	program, err := newProgram()
	if err != nil {
		return nil, err
	}
	knows := func(k interpreter.Kind) bool { return program.Supports(k, interpreter.Health) }
	return server.New(ctx, server.Options{
		Address: "127.0.0.1:0", Interpreter: program, Log: logr.Discard(), Metrics: server.NewMetrics(prometheus.NewRegistry(), knows),
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil },
	})
}

func newProgram() (*rule.Program, error) {
	documents, err := gardener.Profiles()
	if err != nil {
		return nil, err
	}
	program, findings := rule.Compile(documents)
	return program, findings.Err()
}

// newFloor answers with one validating pass over the message, by the settings of Graft's server.
func newFloor(certificate tls.Certificate) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/usage", answerUsage)
	mux.HandleFunc("/", answerFloor)
	return &http.Server{
		Handler: mux, ReadHeaderTimeout: serving.HeadTimeout, IdleTimeout: serving.IdleTimeout, MaxHeaderBytes: serving.MaximumHead,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{certificate}},
	}
}

// buffers are used again, so that the floor is as low as it can be.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func answerFloor(w http.ResponseWriter, r *http.Request) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	*buffer = slices.Grow((*buffer)[:0], int(r.ContentLength))[:r.ContentLength]
	_, err := io.ReadFull(r.Body, *buffer)
	var message *document.Document
	if err == nil {
		message, err = document.Parse(*buffer)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer message.Release()
	uid, _ := message.Original().Find("request", "uid").Text()
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"response":{"uid":%q,"successful":true}}`, wire.KindContext, wire.Group+"/"+wire.Version, uid)
}

func answerUsage(w http.ResponseWriter, _ *http.Request) {
	u, err := usageOfProcess()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(u)
}

// usageOfProcess is what this process has used.
func usageOfProcess() (usage, error) {
	var times syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &times); err != nil {
		return usage{}, fmt.Errorf("reading the usage of the process: %w", err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return usage{CPU: time.Duration(times.Utime.Nano() + times.Stime.Nano()), Mallocs: memory.Mallocs}, nil
}

// newCertificate is one of the kind that the program issues.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, err
}

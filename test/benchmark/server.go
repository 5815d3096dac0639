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
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// hello is what the server says to the caller on its standard output when it serves.
type hello struct {
	Address     string
	Certificate []byte
}

// usage is what the server has used since it started.
type usage struct {
	CPU            time.Duration
	Mallocs, Bytes uint64
}

// serve answers all rows, each at its own path, until standard input ends.
func serve(ctx context.Context, folder string) error {
	ctrllog.SetLogger(logr.Discard())
	mux := http.NewServeMux()
	mux.HandleFunc("/usage", answerUsage)
	addFloors(mux)
	cluster, err := newSeedCache()
	if err != nil {
		return err
	}
	if err := addLibrary(mux, cluster); err != nil {
		return err
	}
	if err := addGraft(ctx, mux, folder, cluster); err != nil {
		return err
	}
	certificate, err := newCertificate()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}},
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	if err := json.NewEncoder(os.Stdout).Encode(hello{listener.Addr().String(), certificate.Certificate[0]}); err != nil {
		return err
	}
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

func answerUsage(w http.ResponseWriter, _ *http.Request) {
	var times syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &times); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	_ = json.NewEncoder(w).Encode(usage{
		CPU:     time.Duration(times.Utime.Nano() + times.Stime.Nano()),
		Mallocs: memory.Mallocs, Bytes: memory.TotalAlloc,
	})
}

// newCertificate is a certificate of the kind that Gardener's secrets manager writes, but for an elliptic curve.
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

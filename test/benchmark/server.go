// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/apart"
)

// serve answers all rows, each at its own path, until standard input ends.
func serve(ctx context.Context, folder string) error {
	ctrllog.SetLogger(logr.Discard())
	mux := http.NewServeMux()
	apart.AddUsage(mux)
	addFloors(mux)
	cluster, err := newSeedCache()
	if err != nil {
		return err
	}
	if err := addLibrary(mux, cluster); err != nil {
		return err
	}
	guard := newGuard()
	if err := addGraft(ctx, mux, folder, cluster, guard); err != nil {
		return err
	}
	certificate, err := apart.NewCertificate()
	if err != nil {
		return err
	}
	server := guard.Server(mux, logr.Discard())
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13,
		NextProtos: []string{"http/1.1"}}
	return apart.Serve(ctx, os.Stdin, os.Stdout, server, guard.Listen)
}

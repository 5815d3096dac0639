// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/server"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/apart"
)

// serve runs the floor and Graft, each at its own address, until the input ends.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	certificate, err := apart.NewCertificate()
	if err != nil {
		return err
	}
	graft, err := newGraft(ctx, certificate)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- graft.Serve(ctx, time.Second) }()
	err = apart.Serve(ctx, in, out, newFloor(certificate), nil, graft.Address())
	cancel()
	return errors.Join(err, <-ended)
}

// newGraft returns the server of graft-resource-interpreter with its built-in profiles.
func newGraft(ctx context.Context, certificate tls.Certificate) (*server.Server, error) {
	program, err := newProgram()
	if err != nil {
		return nil, err
	}
	knows := func(k interpreter.Kind) bool { return program.Supports(k, interpreter.Health) }
	return server.New(ctx, server.Options{
		Address: "127.0.0.1:0", Interpreter: program, Log: logr.Discard(),
		Metrics:     server.NewMetrics(prometheus.NewRegistry(), knows),
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

// newFloor returns a server with the settings of Graft's server that makes one validating pass over the message.
func newFloor(certificate tls.Certificate) *http.Server {
	mux := http.NewServeMux()
	apart.AddUsage(mux)
	const answer = `{"kind":"` + api.KindContext + `","apiVersion":"` + api.Group + "/" + api.Version +
		`","response":{"uid":%q,"successful":true}}`
	mux.HandleFunc("/", apart.Floor(answer, apart.UID))
	return &http.Server{
		Handler: mux, ReadHeaderTimeout: serving.HeadTimeout, IdleTimeout: serving.IdleTimeout,
		MaxHeaderBytes: serving.MaximumHead,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
			Certificates: []tls.Certificate{certificate}},
	}
}

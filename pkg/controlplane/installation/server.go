// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// callsOnConnection is the average number of admissions on a connection: low enough to distribute connections to a new
// replica within a minute at a few admissions per second, and high enough to make the cost of connecting negligible.
const callsOnConnection = 256

// addServer adds the webhook server, for admissions and for the validation of profiles. It replaces controller-runtime's, which limits
// neither connections nor streams nor bodies.
func (o *Installation) addServer(ctx context.Context, mgr manager.Manager, callers *webhook.Callers, handler *webhook.Handler, validations webhook.ValidationHandler,
	draining *atomic.Bool,
) error {
	certificate, err := certwatcher.New(webhook.CertificateFile(o.CertDir), filepath.Join(o.CertDir, "tls.key"))
	if err != nil {
		return fmt.Errorf("reading the certificate of the webhook server: %w", err)
	}
	if err := mgr.Add(certificate); err != nil {
		return fmt.Errorf("adding the certificate of the webhook server: %w", err)
	}
	l := o.Config.Limits
	guard := serving.NewGuard(serving.Limits{
		Connections: int(l.Connections), Streams: int(l.Streams), Requests: int(l.Requests), Waiting: 4 * int(l.Requests),
		BodyBytes: handler.MaxReviewBytes, BodiesBytes: int64(l.BodiesBytes), Patience: handler.Timeout, BodyTimeout: serving.BodyTimeout,
	}, serving.NewMetrics(metrics.Registry, "extension"))
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Nothing is received from strangers.
		if !callers.Allow(w, r) {
			return
		}
		if err := guard.Serve(w, r, handler.MaxReviewBytes, func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
			if validation := validations(r.URL.Path); validation != nil {
				validation.ServeHTTP(w, r.WithContext(ctx))
			} else {
				handler.ServeHTTP(w, r.WithContext(ctx))
			}
		}); err != nil {
			w.Header().Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	mux := http.NewServeMux()
	mux.Handle(webhook.PathPrefix, serving.Drain{Handler: serving.Spread{Handler: guarded, Calls: callsOnConnection}, Draining: draining.Load})
	address := net.JoinHostPort(o.WebhookHost, strconv.Itoa(int(o.Config.Server.WebhookPort)))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("opening the port of the webhook server: %w", err)
	}
	server := guard.Server(mux, mgr.GetLogger().WithName("webhook-server"))
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: certificate.GetCertificate}
	o.verifyCallers(server.TLSConfig)
	return mgr.Add(&manager.Server{
		Name: "webhook", Server: server, Listener: tls.NewListener(guard.Listen(listener), server.TLSConfig),
		ShutdownTimeout: &o.Config.Shutdown.Timeout.Duration,
	})
}

// verifyCallers has the TLS server verify the certificate of a caller that has one; webhook.Callers demands it of those that ask.
func (o *Installation) verifyCallers(config *tls.Config) {
	if len(o.ClientCA) == 0 {
		return
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	config.ClientCAs.AppendCertsFromPEM(o.ClientCA)
}

// addHealth serves /healthz and /readyz at an address of their own, with connections of their own: no caller of the webhooks can take them.
func (o *Installation) addHealth(ctx context.Context, mgr manager.Manager, alive, ready map[string]healthz.Checker) error {
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/healthz": alive, "/readyz": ready} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Config.Server.HealthBindAddress)
	if err != nil {
		return fmt.Errorf("opening the address of health checks: %w", err)
	}
	log, timeout := mgr.GetLogger().WithName("health"), time.Second
	return mgr.Add(&manager.Server{Name: "health", Server: serving.Watched(mux, log), Listener: serving.ListenWatched(listener), ShutdownTimeout: &timeout})
}

// checkTimeout bounds one check; a kubelet's probe waits a second by default.
const checkTimeout = 900 * time.Millisecond

// addChecks makes /healthz say that the process lives and has no certificate that has ended, and /readyz that an admission would be answered: profiles are loaded, the
// caches are filled, the server shows a certificate that the API server trusts, and the registration leads there.
func (o *Installation) addChecks(
	ctx context.Context, mgr manager.Manager, store *webhook.Store, optOuts *webhook.OptOuts, registrar *webhook.Registrar, draining *atomic.Bool,
) error {
	expiry := webhook.Expiry{File: webhook.CertificateFile(o.CertDir), Bundle: registrar.Bundle}
	alive := map[string]healthz.Checker{
		"ping": healthz.Ping, "certificate": bounded(func(ctx context.Context) error { return expiry.Check(ctx, time.Now()) }),
	}
	serving := o.serving(registrar)
	ready := map[string]healthz.Checker{}
	for name, check := range map[string]func(context.Context) error{
		"shutdown": func(context.Context) error { return unless(!draining.Load(), "the program is shutting down") },
		"profiles": func(context.Context) error { return unless(store.Loaded(), "no profiles are loaded") },
		"caches": func(ctx context.Context) error {
			return unless(mgr.GetCache().WaitForCacheSync(ctx) && optOuts.Synced(), "the caches are not filled")
		},
		"webhook-server": serving.Check,
		"registration":   func(ctx context.Context) error { return registrar.Check(ctx, leads(mgr)) },
	} {
		ready[name] = bounded(check)
	}
	return o.addHealth(ctx, mgr, alive, ready)
}

// serving checks the webhook server of this process.
func (o *Installation) serving(registrar *webhook.Registrar) webhook.Serving {
	return webhook.Serving{
		Address: net.JoinHostPort(o.WebhookHost, strconv.Itoa(int(o.Config.Server.WebhookPort))),
		Name:    o.Endpoint.ServerName(), Bundle: registrar.Registered(),
	}
}

func bounded(check func(context.Context) error) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		return check(ctx)
	}
}

func unless(right bool, problem string) error {
	if right {
		return nil
	}
	return errors.New(problem)
}

func leads(mgr manager.Manager) bool {
	select {
	case <-mgr.Elected():
		return true
	default:
		return false
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"path/filepath"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts/cluster"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// addGraft adds handlers that serve the profiles in testdata as the extension does.
func addGraft(ctx context.Context, mux *http.ServeMux, folder string, reader *seedCache,
	guard *serving.Guard) error {
	source := cluster.New(reader, reader, cluster.Options{})
	served, err := semver.NewConstraint("~1.33") // the feature gates of the profiles are not locked in this version
	if err != nil {
		return err
	}
	const ofCluster = 7 // the number of rules for the kube-apiserver in cluster.yaml
	for prefix, readers := range map[string][]webhook.ProfileReader{
		"":       {webhook.Paths{filepath.Join(folder, "profiles")}, variant{folder, []string{"sixty"}, rulesOf - ofCluster}},
		"/fifty": {variant{folder, many(), 0}},
	} {
		measures := webhook.NewMetrics(prometheus.NewRegistry())
		store := webhook.NewStore(func(documents []*profile.Document) (webhook.Mutator, error) {
			program, err := compiler.Compile(documents,
				compiler.Options{Generation: contract.Today, Kubernetes: served, Mark: true})
			return bound{program, source}, err
		}, nil, measures, logr.Discard())
		if err := store.Load(ctx, readers...); err != nil {
			return err
		}
		mux.Handle(prefix+webhook.PathPrefix, http.StripPrefix(prefix, guarded(guard, &webhook.Handler{
			Engine: store, Metrics: measures, Log: logr.Discard(), MaxReviewBytes: maxReviewBytes, Timeout: timeout,
		})))
	}
	return nil
}

// The extension's defaults.
const (
	maxReviewBytes = 7 << 20
	timeout        = 10 * time.Second
)

// newGuard returns the default limits of the extension.
func newGuard() *serving.Guard {
	return serving.NewGuard(serving.Limits{
		Connections: 256, Streams: 32, Requests: 64, Waiting: 256,
		BodyBytes: maxReviewBytes, BodiesBytes: 64 << 20, Patience: timeout, BodyTimeout: serving.BodyTimeout,
	}, nil)
}

// guarded limits a handler as the extension does.
func guarded(guard *serving.Guard, handler *webhook.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := guard.Serve(w, r, handler.MaxReviewBytes,
			func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
				handler.ServeHTTP(w, r.WithContext(ctx))
			}); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
}

// bound is a program with the source of its facts.
type bound struct {
	*mutation.Program

	source facts.Source
}

// Admit implements webhook.Mutator.
func (b bound) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	return b.Program.Admit(ctx, r, b.source)
}

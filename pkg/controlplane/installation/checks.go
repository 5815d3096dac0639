// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
)

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

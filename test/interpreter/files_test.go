// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// TestFiles removes the CA of the files under steady calls through the registration, and restarts the leader at the
// worst moment: it has the new certificate at once, while the other replica still serves one of the old CA. No call
// fails, and in the end the old CA is not registered.
func TestFiles(t *testing.T) {
	alone(t)
	folder, clock, b := t.TempDir(), clocktesting.NewFakePassiveClock(time.Now()), newBalancer(t)
	issue := func(a *env.Authority) {
		t.Helper()
		cert, key := a.Issue("interpreter")
		for name, data := range map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": a.PEM} {
			if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	begun := func() *replicated {
		t.Helper()
		return open(t, b, certificate.NewFiles(certificate.FilesOptions{
			CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "tls.key"), CAFile: filepath.Join(folder, "ca.crt"),
			Told: true, Overlap: 10 * time.Minute, Clock: clock, Log: logr.Discard(),
		}), clock)
	}
	issue(env.NewAuthority(t))
	leader, other := begun(), begun()
	leader.leads.Store(true)
	leader.registrar.Look(t.Context())
	b.ready(leader.address, true)
	b.ready(other.address, true)
	k := newKarmada(t)
	pass := func(minutes int) {
		t.Helper()
		for range minutes {
			for _, r := range []*replicated{leader, other} {
				if err := r.source.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				r.registrar.Look(t.Context())
			}
			before := k.calls.Load()
			eventually(t, "calls go on", func() bool { return k.calls.Load() > before+1 || t.Failed() })
			clock.SetTime(clock.Now().Add(time.Minute))
		}
	}
	pass(12)
	b.ready(leader.address, false)
	young := env.NewAuthority(t)
	issue(young)
	leader = begun()
	leader.leads.Store(true)
	followed := k.current.Load()
	leader.registrar.Look(t.Context())
	eventually(t, "it is told", func() bool { return k.current.Load() != followed || t.Failed() })
	before := k.calls.Load()
	eventually(t, "calls by what was told before end", func() bool { return k.calls.Load() > before+30 || t.Failed() })
	b.ready(leader.address, true)
	pass(24)
	if calls := k.stop(); calls < 50 || !bytes.Equal(leader.source.Held().Bundle, young.PEM) || !other.source.Held().Covers(young.PEM) {
		t.Errorf("%d calls, and %d bytes of authorities in the end", calls, len(leader.source.Held().Bundle))
	}
}

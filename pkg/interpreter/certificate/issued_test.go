// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
)

// memory is a store that can fail.
type memory struct {
	mutex   sync.Mutex
	data    map[string][]byte
	version int
	down    bool
}

func (m *memory) String() string { return "memory" }

var errDown = errors.New("it is down")

func (m *memory) Read(context.Context) (certificate.Stored, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	switch {
	case m.down:
		return certificate.Stored{}, errDown
	case m.version == 0:
		return certificate.Stored{}, nil
	}
	return certificate.Stored{Data: maps.Clone(m.data), Version: strconv.Itoa(m.version)}, nil
}

func (m *memory) Write(_ context.Context, data map[string][]byte, version string) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.down {
		return errDown
	}
	if now := strconv.Itoa(m.version); m.version > 0 && version != now || m.version == 0 && version != "" {
		return certificate.ErrConflict
	}
	m.data, m.version = maps.Clone(data), m.version+1
	return nil
}

// ownNames are the names of replicas, each of another version.
var ownNames = [][]string{{"a.example.com", "c.example.com"}, {"a.example.com", "b.example.com"}, {"a.example.com"}}

// world has replicas with a common store, and callers that trust some authorities.
type world struct {
	store    *memory
	clock    *clocktesting.FakePassiveClock
	replicas []*certificate.Issued
	known    []byte
}

func newWorld(t *testing.T, told bool) *world {
	t.Helper()
	overlap := 24 * time.Hour
	if !told {
		overlap *= 20 // as long as the other replicas need
	}
	w := &world{store: &memory{}, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	for n := range 3 {
		i, err := certificate.NewIssued(certificate.Options{
			Store: w.store, Clock: w.clock, Log: logr.Discard(),
			Policy: certificate.Policy{
				DNSNames: ownNames[n], Addresses: []string{"10.0.0.1"},
				Authority: 365 * 24 * time.Hour, Certificate: 30 * 24 * time.Hour, Overlap: overlap, Told: told,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.replicas = append(w.replicas, i)
	}
	return w
}

// call calls a replica as a caller does now.
func (w *world) call(replica *certificate.Issued, name string) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.known)
	_, err := replica.Held().Certificate.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: w.clock.Now()})
	return err
}

// TestRotationFailsNoCall simulates replicas for three years in random steps: checks, failures of the store, and
// registrations. Callers trust every served certificate at any time.
func TestRotationFailsNoCall(t *testing.T) {
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprint(told), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			w := newWorld(t, told)
			for _, replica := range w.replicas {
				if err := replica.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			w.known = w.replicas[0].Held().Bundle
			authorities, certificates := map[string]bool{}, map[string]bool{}
			for end := w.clock.Now().AddDate(3, 0, 0); w.clock.Now().Before(end); {
				w.clock.SetTime(w.clock.Now().Add(time.Duration(1+random.IntN(48)) * time.Hour))
				w.step(t, random)
				for n, replica := range w.replicas {
					certificates[replica.Held().Certificate.Leaf.SerialNumber.String()] = true
					for _, name := range ownNames[n] {
						if err := w.call(replica, name); err != nil {
							t.Fatalf("%s, replica %d: %v", w.clock.Now(), n, err)
						}
					}
				}
				authorities[w.replicas[0].Held().AuthorityEnds.String()] = true
			}
			if len(authorities) < 4 || len(authorities) > 7 {
				t.Errorf("there were %d authorities in three years", len(authorities))
			}
			if len(certificates) < 54 || len(certificates) > 3*(54+len(authorities)) {
				t.Errorf("there were %d certificates in three years, each renewed after 20 days, for three replicas", len(certificates))
			}
		})
	}
}

// step simulates one moment.
func (w *world) step(t *testing.T, random *rand.Rand) {
	w.store.down = random.IntN(5) == 0
	for n := range 1 + random.IntN(len(w.replicas)) {
		replica := w.replicas[(n+random.IntN(len(w.replicas)))%len(w.replicas)]
		if err := replica.Refresh(t.Context()); (err != nil) != w.store.down {
			t.Fatal(err)
		}
	}
	leader := w.replicas[random.IntN(len(w.replicas))]
	if random.IntN(2) == 0 && !w.store.down {
		if err := leader.Refresh(t.Context()); err != nil { // the registration has the current store
			t.Fatal(err)
		}
		w.known = leader.Held().Bundle
		if err := leader.Registered(t.Context(), w.known); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAuthorityServesWhenRegistrationFails checks that a CA is used to its end if the next one cannot be registered, and that there is a
// certificate even then.
func TestAuthorityServesWhenRegistrationFails(t *testing.T) {
	w := newWorld(t, true)
	replica := w.replicas[0]
	if err := replica.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.known = replica.Held().Bundle
	begin := w.clock.Now()
	for day := range 365 {
		w.clock.SetTime(begin.AddDate(0, 0, day))
		if err := errors.Join(replica.Refresh(t.Context()), w.call(replica, "a.example.com")); err != nil {
			t.Fatalf("day %d: %v", day, err)
		}
	}
	next := replica.Held().Bundle
	w.clock.SetTime(begin.AddDate(0, 0, 366))
	if err := replica.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.call(replica, "a.example.com") == nil {
		t.Error("an authority was used beyond its end")
	}
	w.known = next
	if err := w.call(replica, "a.example.com"); err != nil {
		t.Errorf("a call fails with the renewed certificate: %v", err)
	}
	w.clock.SetTime(begin.AddDate(5, 0, 0)) // no replica for years
	if err := replica.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.known = replica.Held().Bundle
	if err := w.call(replica, "a.example.com"); err != nil {
		t.Error(err)
	}
}

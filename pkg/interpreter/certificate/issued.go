// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// Policy configures what is issued and when.
type Policy struct {
	// DNSNames and Addresses are the server's DNS names and IP addresses.
	DNSNames, Addresses []string
	// Authority and Certificate are the validity of each. They are renewed when a third of it is left.
	Authority, Certificate time.Duration
	// Overlap is the time for which callers trust an authority before it is used, and at least afterwards.
	Overlap time.Duration
	// Told states that Registered reports the callers' authorities. Otherwise callers are assumed to trust an
	// authority from its begin.
	Told bool
}

// Options configure an Issued.
type Options struct {
	Store  Store
	Policy Policy
	Clock  clock.PassiveClock
	Log    logr.Logger
}

// Issued is a Source that issues its certificates. Any number of instances can share a store.
type Issued struct {
	Options
	own []string
	// mutex serializes changes of the store.
	mutex   sync.Mutex
	current atomic.Pointer[Held]
}

// NewIssued returns an empty source. Call Refresh to read or issue a certificate. It fails if the policy has no
// name, or an invalid address.
func NewIssued(o Options) (*Issued, error) {
	i := &Issued{Options: o, own: slices.Clone(o.Policy.DNSNames)}
	for _, text := range o.Policy.Addresses {
		address := net.ParseIP(text)
		if address == nil {
			return nil, fmt.Errorf("%q is not an IP address", text)
		}
		i.own = append(i.own, address.String())
	}
	if len(i.own) == 0 {
		return nil, errors.New("a certificate needs the host name or the address of the server")
	}
	return i, nil
}

// Held implements Source.
func (i *Issued) Held() *Held { return i.current.Load() }

// attempts limits retries after conflicts.
const attempts = 5

// Refresh implements Source.
func (i *Issued) Refresh(ctx context.Context) error {
	return i.change(ctx, func(s *state) (did []string, err error) {
		for {
			line, err := i.Policy.step(s, i.own, i.Clock.Now())
			if err != nil || line == "" {
				return did, err
			}
			did = append(did, line)
		}
	})
}

// Registered implements Source. It stores the time when callers first trusted the next authority, for all
// replicas.
func (i *Issued) Registered(ctx context.Context, bundle []byte) error {
	if now := i.current.Load(); now == nil || !now.state.untold(bundle) {
		return nil
	}
	return i.change(ctx, func(s *state) ([]string, error) {
		if !s.untold(bundle) {
			return nil, nil
		}
		s.Known = i.Clock.Now()
		return []string{"Callers know the next authority"}, nil
	})
}

// change reads, changes and writes the store, and retries after a conflict. The result is served. do returns
// lines for the log, or none if the state stays the same.
func (i *Issued) change(ctx context.Context, do func(*state) (did []string, err error)) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for range attempts {
		stored, err := i.Store.Read(ctx)
		if err != nil {
			return fmt.Errorf("reading %s: %w", i.Store, err)
		}
		s, err := decode(stored.Data)
		if err != nil {
			return fmt.Errorf("%s is damaged; delete it to issue new certificates: %w", i.Store, err)
		}
		before := *s
		did, err := do(s)
		if err != nil {
			return err
		}
		if len(did) > 0 {
			var data map[string][]byte
			if data, err = s.encode(); err == nil {
				err = i.Store.Write(ctx, data, stored.Version)
			}
		}
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			i.adopt(&before) // another replica may have written it
			return fmt.Errorf("writing %s: %w", i.Store, err)
		}
		for _, line := range did {
			i.Log.Info(line, "store", i.Store.String())
		}
		i.adopt(s)
		return nil
	}
	return fmt.Errorf("writing %s: %w", i.Store, ErrConflict)
}

// adopt serves the certificate of a state, unless the store was empty.
func (i *Issued) adopt(s *state) {
	if s.Serving != nil {
		i.current.Store(s.toHeld())
	}
}

// backdated is subtracted from the start of certificates, because callers' clocks may be slow.
const backdated = time.Hour

// begun returns the time when a certificate was issued.
func begun(c *x509.Certificate) time.Time { return c.NotBefore.Add(backdated) }

// ending reports whether at most a third of a certificate's validity is left.
func ending(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotAfter.Add(-c.NotAfter.Sub(begun(c)) / 3))
}

// step makes the next due change and returns a line for the log, or "" if nothing is due.
func (p *Policy) step(s *state, own []string, now time.Time) (did string, err error) {
	switch {
	case s.Authority == nil:
		if s.Authority, err = newAuthority(now, p.Authority); err != nil {
			return "", err
		}
		return p.issue(s, now, own)
	case !now.Before(s.Authority.Certificate.NotAfter):
		// The successor could not take over in time.
		if s.Next == nil || !now.Before(s.Next.Certificate.NotAfter) {
			if s.Next, err = newAuthority(now, p.Authority); err != nil {
				return "", err
			}
		}
		return "Replaced the expired authority; callers may not trust the new one yet", p.follow(s, now, own)
	case s.Next != nil && p.mayServe(s, now):
		return "Rotated to the next authority", p.follow(s, now, own)
	case s.Next == nil && ending(s.Authority.Certificate, now):
		s.Next, err = newAuthority(now, p.Authority)
		return "Created the next authority", err
	}
	leaf := s.Serving.Certificate
	missing := slices.ContainsFunc(own, func(name string) bool { return leaf.VerifyHostname(name) != nil })
	switch {
	case leaf.CheckSignatureFrom(s.Authority.Certificate) != nil, ending(leaf, now) && p.end(s, now).After(leaf.NotAfter):
		return p.issue(s, now, own)
	case missing:
		// Other replicas may need other names, for instance during an upgrade. Their names stay until the
		// certificate is renewed.
		return p.issue(s, now, slices.Concat(own, namesOf(leaf)))
	}
	count := len(s.Retired)
	s.Retired = slices.DeleteFunc(slices.Clone(s.Retired), func(r retired) bool { return !now.Before(r.Until) })
	if len(s.Retired) < count {
		return "Removed an authority that has no valid certificates", nil
	}
	return "", nil
}

// end returns the expiry of a certificate that is issued now: with the authority at the latest.
func (p *Policy) end(s *state, now time.Time) time.Time {
	return slices.MinFunc([]time.Time{now.Add(p.Certificate), s.Authority.Certificate.NotAfter}, time.Time.Compare)
}

// mayServe reports whether callers have trusted the next authority for Overlap.
func (p *Policy) mayServe(s *state, now time.Time) bool {
	known := s.Known
	if !p.Told {
		known = begun(s.Next.Certificate)
	}
	return !known.IsZero() && !now.Before(known.Add(p.Overlap))
}

// follow makes the next authority the current one. The previous one stays in the bundle until all its
// certificates have expired.
func (p *Policy) follow(s *state, now time.Time, own []string) error {
	until := slices.MaxFunc([]time.Time{now.Add(p.Overlap), s.Serving.Certificate.NotAfter}, time.Time.Compare)
	s.Retired = slices.Insert(slices.Clone(s.Retired), 0, retired{string(signing.PEM(s.Authority.Certificate)), until})
	s.Authority, s.Next, s.Known = s.Next, nil, time.Time{}
	_, err := p.issue(s, now, own)
	return err
}

// issue replaces the certificate.
func (p *Policy) issue(s *state, now time.Time, names []string) (did string, err error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "graft-resource-interpreter"}, NotBefore: now.Add(-backdated), NotAfter: p.end(s, now), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		switch address := net.ParseIP(name); {
		case address == nil && !slices.Contains(template.DNSNames, name):
			template.DNSNames = append(template.DNSNames, name)
		case address != nil && !slices.ContainsFunc(template.IPAddresses, address.Equal):
			template.IPAddresses = append(template.IPAddresses, address)
		}
	}
	if s.Serving, err = signing.New(template, s.Authority); err != nil {
		return "", fmt.Errorf("making a certificate: %w", err)
	}
	return "Issued a certificate", nil
}

// newAuthority returns a new CA certificate with its key.
func newAuthority(now time.Time, validity time.Duration) (*signing.Pair, error) {
	made, err := signing.New(&x509.Certificate{
		Subject:   pkix.Name{CommonName: "graft-resource-interpreter " + now.UTC().Format(time.RFC3339)},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(validity), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("making an authority: %w", err)
	}
	return made, nil
}

// namesOf returns the DNS names and the IP addresses in a certificate.
func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, address := range c.IPAddresses {
		names = append(names, address.String())
	}
	return names
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/x509"
	"slices"
	"time"

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

// kept is the immutable content of a store.
type kept struct {
	// signing is the authority in use, next its successor; nil if there is none yet.
	signing, next *signing.Pair
	// known is the time when callers first trusted next; zero if they do not yet.
	known time.Time
	// retired holds earlier authorities until all their certificates have expired.
	retired []retired
	serving *leaf
}

type retired struct {
	certificate *x509.Certificate
	until       time.Time
}

// bundle returns the authorities that callers must trust.
func (k *kept) bundle() []byte {
	all := []*x509.Certificate{k.signing.Certificate}
	if k.next != nil {
		all = append(all, k.next.Certificate)
	}
	for _, r := range k.retired {
		all = append(all, r.certificate)
	}
	return united(all...)
}

// held returns the state for the server.
func (k *kept) held() *Held {
	return &Held{
		Certificate: k.serving.pair, Bundle: k.bundle(), Ends: k.serving.pair.Leaf.NotAfter, AuthorityEnds: k.signing.Certificate.NotAfter,
	}
}

// begun returns the time when a certificate was issued.
func begun(c *x509.Certificate) time.Time { return c.NotBefore.Add(backdated) }

// ending reports whether at most a third of a certificate's validity is left.
func ending(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotAfter.Add(-c.NotAfter.Sub(begun(c)) / 3))
}

// step performs the next due step and returns the new state with a log line. It returns nil and "" if nothing
// is due.
func (p *Policy) step(k *kept, own []string, now time.Time) (next *kept, did string, err error) {
	switch {
	case k == nil:
		return p.first(own, now)
	case !now.Before(k.signing.Certificate.NotAfter):
		return p.replace(k, own, now)
	case k.next != nil && p.mayServe(k, now):
		next, err = p.follow(k, own, now)
		return next, "Rotated to the next authority", err
	case k.next == nil && ending(k.signing.Certificate, now):
		next := *k
		next.next, err = newAuthority(now, p.Authority)
		return &next, "Created the next authority", err
	case !signedBy(k.serving.pair, []*x509.Certificate{k.signing.Certificate}) || ending(k.serving.pair.Leaf, now) && p.longer(k, now):
		return p.renew(k, own, now)
	case slices.ContainsFunc(own, func(name string) bool { return k.serving.pair.Leaf.VerifyHostname(name) != nil }):
		// Other replicas may need other names, for instance during an upgrade. Their names stay until the
		// certificate is renewed.
		return p.renew(k, union(own, namesOf(k.serving.pair.Leaf)), now)
	}
	return p.forget(k, now)
}

// longer reports whether a certificate issued now would expire later than the current one.
func (p *Policy) longer(k *kept, now time.Time) bool {
	end := k.serving.pair.Leaf.NotAfter
	return k.signing.Certificate.NotAfter.After(end) && now.Add(p.Certificate).After(end)
}

func (p *Policy) first(own []string, now time.Time) (*kept, string, error) {
	authority, err := newAuthority(now, p.Authority)
	if err != nil {
		return nil, "", err
	}
	return p.renew(&kept{signing: authority}, own, now)
}

// replace starts with a new authority. It is used if the authority expired before its successor could take
// over, when callers can no longer be told in time.
func (p *Policy) replace(k *kept, own []string, now time.Time) (*kept, string, error) {
	if k.next == nil || !now.Before(k.next.Certificate.NotAfter) {
		var err error
		next := *k
		if next.next, err = newAuthority(now, p.Authority); err != nil {
			return nil, "", err
		}
		k = &next
	}
	next, err := p.follow(k, own, now)
	return next, "Replaced the expired authority; callers may not trust the new one yet", err
}

// mayServe reports whether callers have trusted the next authority for Overlap.
func (p *Policy) mayServe(k *kept, now time.Time) bool {
	known := k.known
	if !p.Told {
		known = begun(k.next.Certificate)
	}
	return !known.IsZero() && !now.Before(known.Add(p.Overlap))
}

// follow makes the next authority the current one. The previous one stays in the bundle until all its
// certificates have expired.
func (p *Policy) follow(k *kept, own []string, now time.Time) (*kept, error) {
	until := now.Add(p.Overlap)
	if end := k.serving.pair.Leaf.NotAfter; end.After(until) {
		until = end
	}
	followed := &kept{signing: k.next, retired: append([]retired{{k.signing.Certificate, until}}, k.retired...)}
	var err error
	followed.serving, err = sign(followed.signing, now, p.Certificate, own)
	return followed, err
}

func (p *Policy) renew(k *kept, names []string, now time.Time) (*kept, string, error) {
	renewed := *k
	var err error
	renewed.serving, err = sign(k.signing, now, p.Certificate, names)
	return &renewed, "Issued a certificate", err
}

// forget drops retired authorities without valid certificates.
func (p *Policy) forget(k *kept, now time.Time) (*kept, string, error) {
	next := *k
	next.retired = slices.DeleteFunc(slices.Clone(k.retired), func(r retired) bool { return !now.Before(r.until) })
	if len(next.retired) == len(k.retired) {
		return nil, "", nil
	}
	return &next, "Removed an authority that has no valid certificates", nil
}

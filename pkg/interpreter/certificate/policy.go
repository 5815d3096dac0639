// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/x509"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// Policy says what is issued.
type Policy struct {
	// DNSNames and Addresses are those by which callers know the server; addresses are of IP.
	DNSNames, Addresses []string
	// Authority and Certificate are how long each holds. When a third is left, another follows.
	Authority, Certificate time.Duration
	// Overlap is how long callers know an authority before a certificate of it is served, and at least after.
	Overlap time.Duration
	// Told says that Registered tells what callers know; otherwise an authority counts as known from its beginning.
	Told bool
}

// kept is what a store keeps. It does not change: what is to be different is another one.
type kept struct {
	// signing is the authority of what is served, and next the one that follows; nil: none yet.
	signing, next *signing.Pair
	// known is when callers were told of next; zero: not yet.
	known time.Time
	// retired are the authorities before, until nothing can be served any more that is of them.
	retired []retired
	serving *leaf
}

type retired struct {
	certificate *x509.Certificate
	until       time.Time
}

// bundle are the authorities that callers must know.
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

// held is what a server sees of it.
func (k *kept) held() *Held {
	return &Held{
		Certificate: k.serving.pair, Bundle: k.bundle(), Ends: k.serving.pair.Leaf.NotAfter, AuthorityEnds: k.signing.Certificate.NotAfter,
	}
}

// begun is when a certificate was made.
func begun(c *x509.Certificate) time.Time { return c.NotBefore.Add(backdated) }

// ending says whether a third of the life of a certificate is left.
func ending(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotAfter.Add(-c.NotAfter.Sub(begun(c)) / 3))
}

// step is what is to be done next; nil with an empty text: nothing is. The text says what was done, for people.
func (p *Policy) step(k *kept, own names, now time.Time) (next *kept, did string, err error) {
	switch {
	case k == nil:
		return p.first(own, now)
	case !now.Before(k.signing.Certificate.NotAfter):
		return p.replace(k, own, now)
	case k.next != nil && p.mayServe(k, now):
		next, err = p.follow(k, own, now)
		return next, "The next authority signs", err
	case k.next == nil && ending(k.signing.Certificate, now):
		next := *k
		next.next, err = newAuthority(now, p.Authority)
		return &next, "An authority was made that is to sign next", err
	case !signedBy(k.serving.pair, []*x509.Certificate{k.signing.Certificate}) || ending(k.serving.pair.Leaf, now) && p.longer(k, now):
		return p.renew(k, own, now)
	case !namesOf(k.serving.pair.Leaf).has(own):
		// Other replicas may have other names, such as those of a version before: what they need stays until the certificate is renewed.
		return p.renew(k, own.and(namesOf(k.serving.pair.Leaf)), now)
	}
	return p.forget(k, now)
}

// longer says whether a certificate that was made now would hold longer than the one that is served.
func (p *Policy) longer(k *kept, now time.Time) bool {
	end := k.serving.pair.Leaf.NotAfter
	return k.signing.Certificate.NotAfter.After(end) && now.Add(p.Certificate).After(end)
}

func (p *Policy) first(own names, now time.Time) (*kept, string, error) {
	authority, err := newAuthority(now, p.Authority)
	if err != nil {
		return nil, "", err
	}
	return p.renew(&kept{signing: authority}, own, now)
}

// replace makes a new beginning when the authority has ended before another one could follow, since callers could not be told.
func (p *Policy) replace(k *kept, own names, now time.Time) (*kept, string, error) {
	if k.next == nil || !now.Before(k.next.Certificate.NotAfter) {
		var err error
		next := *k
		if next.next, err = newAuthority(now, p.Authority); err != nil {
			return nil, "", err
		}
		k = &next
	}
	next, err := p.follow(k, own, now)
	return next, "The authority has ended, and another one signs that callers may not know yet", err
}

// mayServe says whether callers know the next authority for long enough.
func (p *Policy) mayServe(k *kept, now time.Time) bool {
	known := k.known
	if !p.Told {
		known = begun(k.next.Certificate)
	}
	return !known.IsZero() && !now.Before(known.Add(p.Overlap))
}

// follow makes the next authority the one that signs. The one before stays known until all that it has signed has ended.
func (p *Policy) follow(k *kept, own names, now time.Time) (*kept, error) {
	until := now.Add(p.Overlap)
	if end := k.serving.pair.Leaf.NotAfter; end.After(until) {
		until = end
	}
	followed := &kept{signing: k.next, retired: append([]retired{{k.signing.Certificate, until}}, k.retired...)}
	var err error
	followed.serving, err = sign(followed.signing, now, p.Certificate, own)
	return followed, err
}

func (p *Policy) renew(k *kept, n names, now time.Time) (*kept, string, error) {
	renewed := *k
	var err error
	renewed.serving, err = sign(k.signing, now, p.Certificate, n)
	return &renewed, "A certificate was issued", err
}

// forget drops the authorities of which nothing can be served any more.
func (p *Policy) forget(k *kept, now time.Time) (*kept, string, error) {
	var left []retired
	for _, r := range k.retired {
		if now.Before(r.until) {
			left = append(left, r)
		}
	}
	if len(left) == len(k.retired) {
		return nil, "", nil
	}
	next := *k
	next.retired = left
	return &next, "An authority was forgotten, of which nothing is served any more", nil
}

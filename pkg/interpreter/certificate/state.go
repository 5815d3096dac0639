// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// The keys in a store. Those of the served certificate are the same as in Secrets of type kubernetes.io/tls.
const (
	keyServing, keyServingKey = "tls.crt", "tls.key"
	// KeyBundle has the authorities that callers must trust.
	KeyBundle                     = "ca.crt"
	keyAuthority, keyAuthorityKey = "authority.crt", "authority.key"
	keyNext, keyNextKey           = "next.crt", "next.key"
	keyRetired                    = "retired.crt"
	keyTimes                      = "times.json"
)

// state is the content of a store.
type state struct {
	// authority signed the certificate serving. next is the successor of authority, or nil.
	serving, authority, next *signing.Pair
	// known is the time when callers first trusted next; zero if they do not yet.
	known time.Time
	// retired holds earlier authorities until all their certificates have expired.
	retired []retired
}

type retired struct {
	certificate *x509.Certificate
	until       time.Time
}

// times contains the times of a state. Retired has the same order as the certificates.
type times struct {
	Known   time.Time   `json:"known,omitzero"`
	Retired []time.Time `json:"retired,omitempty"`
}

// storedPair is a pair with its keys in a store.
type storedPair struct {
	certificate, key string
	pair             **signing.Pair
}

func (s *state) pairs() []storedPair {
	return []storedPair{
		{keyAuthority, keyAuthorityKey, &s.authority}, {keyServing, keyServingKey, &s.serving}, {keyNext, keyNextKey, &s.next},
	}
}

// encode returns the data for a store.
func (s *state) encode() (map[string][]byte, error) {
	data := map[string][]byte{KeyBundle: s.bundle()}
	for _, p := range s.pairs() {
		if *p.pair == nil {
			continue
		}
		key, err := (*p.pair).KeyPEM()
		if err != nil {
			return nil, err
		}
		data[p.certificate], data[p.key] = signing.PEM((*p.pair).Certificate), key
	}
	t := times{Known: s.known}
	for _, r := range s.retired {
		data[keyRetired] = append(data[keyRetired], signing.PEM(r.certificate)...)
		t.Retired = append(t.Retired, r.until)
	}
	var err error
	data[keyTimes], err = json.Marshal(t)
	return data, err
}

// decode parses the data of a store. The state of an empty store has no pairs.
func decode(data map[string][]byte) (*state, error) {
	s, t := &state{}, times{}
	if len(data[keyAuthority]) == 0 && len(data[keyServing]) == 0 {
		return s, nil
	}
	for _, p := range s.pairs() {
		if p.certificate == keyNext && len(data[keyNext]) == 0 {
			continue
		}
		pair, err := parsePair(data[p.certificate], data[p.key])
		if err == nil && p.certificate != keyServing && !pair.Certificate.IsCA {
			err = errors.New("the certificate must be a CA")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", p.certificate, err)
		}
		*p.pair = pair
	}
	if err := json.Unmarshal(data[keyTimes], &t); err != nil {
		return nil, fmt.Errorf("reading %s: %w", keyTimes, err)
	}
	if s.next != nil {
		s.known = t.Known
	}
	all := parseAll(data[keyRetired])
	if len(all) != len(t.Retired) {
		return nil, fmt.Errorf("reading %s: %d certificates, but %d times", keyRetired, len(all), len(t.Retired))
	}
	for i, c := range all {
		s.retired = append(s.retired, retired{c, t.Retired[i]})
	}
	return s, nil
}

func parsePair(certificate, key []byte) (*signing.Pair, error) {
	parsed, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	signer, ok := parsed.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the key must be an ECDSA key")
	}
	return &signing.Pair{Certificate: parsed.Leaf, Key: signer}, nil
}

// bundle returns the authorities that callers must trust.
func (s *state) bundle() []byte {
	all := []*x509.Certificate{s.authority.Certificate}
	if s.next != nil {
		all = append(all, s.next.Certificate)
	}
	for _, r := range s.retired {
		all = append(all, r.certificate)
	}
	return united(all...)
}

// held returns the state for the server.
func (s *state) held() *Held {
	pair := s.serving.TLS()
	return &Held{Certificate: &pair, Bundle: s.bundle(), Ends: pair.Leaf.NotAfter, AuthorityEnds: s.authority.Certificate.NotAfter}
}

// untold reports whether callers that trust bundle know the next authority without this being stored yet.
func (s *state) untold(bundle []byte) bool {
	return s.next != nil && s.known.IsZero() && slices.ContainsFunc(parseAll(bundle), s.next.Certificate.Equal)
}

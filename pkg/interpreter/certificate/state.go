// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// The keys in a store.
const (
	// KeyBundle has the authorities that callers must trust, for people.
	KeyBundle = "ca.crt"
	keyState  = "state.json"
)

// state is the content of a store.
type state struct {
	// Authority signed the certificate Serving. Next is the successor of Authority, or nil.
	Serving   *signing.Pair `json:"serving"`
	Authority *signing.Pair `json:"authority"`
	Next      *signing.Pair `json:"next,omitempty"`
	// Known is the time when callers first trusted Next; zero if they do not yet.
	Known time.Time `json:"known,omitzero"`
	// Retired holds earlier authorities until all their certificates have expired.
	Retired []retired `json:"retired,omitempty"`
}

// retired has a certificate in PEM.
type retired struct {
	Certificate string    `json:"certificate"`
	Until       time.Time `json:"until"`
}

// encode returns the data for a store.
func (s *state) encode() (map[string][]byte, error) {
	text, err := json.Marshal(s)
	return map[string][]byte{KeyBundle: s.bundle(), keyState: text}, err
}

// decode parses the data of a store. The state of an empty store has no pairs.
func decode(data map[string][]byte) (*state, error) {
	s := &state{}
	if len(data[keyState])+len(data[KeyBundle]) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(data[keyState], s); err != nil {
		return nil, fmt.Errorf("reading %s: %w", keyState, err)
	}
	switch {
	case s.Authority == nil || s.Serving == nil:
		return nil, fmt.Errorf("reading %s: there is no certificate", keyState)
	case !s.Authority.Certificate.IsCA || s.Next != nil && !s.Next.Certificate.IsCA:
		return nil, fmt.Errorf("reading %s: the certificate of an authority must be a CA", keyState)
	}
	return s, nil
}

// bundle returns the authorities that callers must trust.
func (s *state) bundle() []byte {
	all := []*x509.Certificate{s.Authority.Certificate}
	if s.Next != nil {
		all = append(all, s.Next.Certificate)
	}
	for _, r := range s.Retired {
		all = append(all, signing.Certificates([]byte(r.Certificate))...)
	}
	return united(all...)
}

// toHeld returns the state for the server.
func (s *state) toHeld() *Held {
	pair := s.Serving.TLS()
	return &Held{Certificate: &pair, Bundle: s.bundle(), Ends: pair.Leaf.NotAfter, AuthorityEnds: s.Authority.Certificate.NotAfter, state: s}
}

// untold reports whether callers that trust bundle trust the next authority, but the state does not record this yet.
func (s *state) untold(bundle []byte) bool {
	return s.Next != nil && s.Known.IsZero() && slices.ContainsFunc(signing.Certificates(bundle), s.Next.Certificate.Equal)
}

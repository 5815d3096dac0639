// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"encoding/json"
	"fmt"
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

// times contains the times of a kept.
type times struct {
	Known *time.Time `json:"known,omitempty"`
	// Retired has the same order as the certificates.
	Retired []time.Time `json:"retired,omitempty"`
}

// encode returns the data for a store.
func (k *kept) encode() (map[string][]byte, error) {
	data := map[string][]byte{
		keyServing: k.serving.certificate, keyServingKey: k.serving.key, KeyBundle: k.bundle(), keyAuthority: signing.PEM(k.signing.Certificate),
	}
	var err error
	if data[keyAuthorityKey], err = encodeKey(k.signing.Key); err != nil {
		return nil, err
	}
	if k.next != nil {
		data[keyNext] = signing.PEM(k.next.Certificate)
		if data[keyNextKey], err = encodeKey(k.next.Key); err != nil {
			return nil, err
		}
	}
	var t times
	if !k.known.IsZero() {
		t.Known = &k.known
	}
	for _, r := range k.retired {
		data[keyRetired] = append(data[keyRetired], signing.PEM(r.certificate)...)
		t.Retired = append(t.Retired, r.until)
	}
	data[keyTimes], err = json.Marshal(t)
	return data, err
}

// decode parses the data of a store. It returns nil if the store is empty.
func decode(data map[string][]byte) (*kept, error) {
	if len(data[keyAuthority]) == 0 && len(data[keyServing]) == 0 {
		return nil, nil
	}
	k := &kept{}
	var err error
	if k.signing, err = parseAuthority(data[keyAuthority], data[keyAuthorityKey]); err != nil {
		return nil, fmt.Errorf("reading %s: %w", keyAuthority, err)
	}
	if k.serving, err = parseLeaf(data[keyServing], data[keyServingKey]); err != nil {
		return nil, fmt.Errorf("reading %s: %w", keyServing, err)
	}
	if len(data[keyNext]) > 0 {
		if k.next, err = parseAuthority(data[keyNext], data[keyNextKey]); err != nil {
			return nil, fmt.Errorf("reading %s: %w", keyNext, err)
		}
	}
	var t times
	if err := json.Unmarshal(data[keyTimes], &t); err != nil {
		return nil, fmt.Errorf("reading %s: %w", keyTimes, err)
	}
	if t.Known != nil && k.next != nil {
		k.known = *t.Known
	}
	all := parseAll(data[keyRetired])
	if len(all) != len(t.Retired) {
		return nil, fmt.Errorf("reading %s: %d certificates, but %d times", keyRetired, len(all), len(t.Retired))
	}
	for i, c := range all {
		k.retired = append(k.retired, retired{c, t.Retired[i]})
	}
	return k, nil
}

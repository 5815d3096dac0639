// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"encoding/json"
	"errors"
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
	data := map[string][]byte{keyServing: k.serving.certificate, keyServingKey: k.serving.key, KeyBundle: k.bundle()}
	err := put(data, keyAuthority, keyAuthorityKey, k.signing)
	if k.next != nil {
		err = errors.Join(err, put(data, keyNext, keyNextKey, k.next))
	}
	var t times
	if !k.known.IsZero() {
		t.Known = &k.known
	}
	for _, r := range k.retired {
		data[keyRetired] = append(data[keyRetired], signing.PEM(r.certificate)...)
		t.Retired = append(t.Retired, r.until)
	}
	var problem error
	data[keyTimes], problem = json.Marshal(t)
	return data, errors.Join(err, problem)
}

// put stores an authority with its key.
func put(data map[string][]byte, name, nameOfKey string, authority *signing.Pair) (err error) {
	data[name] = signing.PEM(authority.Certificate)
	data[nameOfKey], err = authority.KeyPEM()
	return err
}

// decode parses the data of a store. It returns nil if the store is empty.
func decode(data map[string][]byte) (*kept, error) {
	if len(data[keyAuthority]) == 0 && len(data[keyServing]) == 0 {
		return nil, nil
	}
	k, t := &kept{}, times{}
	var errs [4]error
	k.signing, errs[0] = parseAuthority(data[keyAuthority], data[keyAuthorityKey])
	k.serving, errs[1] = parseLeaf(data[keyServing], data[keyServingKey])
	if len(data[keyNext]) > 0 {
		k.next, errs[2] = parseAuthority(data[keyNext], data[keyNextKey])
	}
	errs[3] = json.Unmarshal(data[keyTimes], &t)
	for i, key := range []string{keyAuthority, keyServing, keyNext, keyTimes} {
		if errs[i] != nil {
			return nil, fmt.Errorf("reading %s: %w", key, errs[i])
		}
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

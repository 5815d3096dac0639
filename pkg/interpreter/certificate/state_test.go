// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// rotated is what is kept amid a rotation, with all that there can be.
func rotated(t testing.TB) *state {
	t.Helper()
	now := time.Now().Truncate(time.Second)
	var all [3]*signing.Pair
	for i := range all {
		var err error
		if all[i], err = newAuthority(now, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	k := &state{authority: all[0], next: all[1], known: now, retired: []retired{{all[2].Certificate, now.Add(time.Minute)}}}
	if _, err := (&Policy{Certificate: time.Hour}).issue(k, now, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestStoredFormLosesNothing checks that the stored form loses nothing.
func TestStoredFormLosesNothing(t *testing.T) {
	k := rotated(t)
	data, err := k.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !got.known.Equal(k.known) || !got.retired[0].until.Equal(k.retired[0].until) || !got.next.Certificate.Equal(k.next.Certificate) ||
		!got.next.Key.Equal(k.next.Key) || !got.authority.Key.Equal(k.authority.Key) || !got.serving.Key.Equal(k.serving.Key) {
		t.Errorf("got %+v", got)
	}
	if !bytes.Equal(got.bundle(), k.bundle()) || len(parseAll(k.bundle())) != 3 {
		t.Error("the bundle is another one")
	}
	for key := range data {
		if key == KeyBundle || key == keyNext || key == keyRetired {
			continue // derived from other fields, or optional
		}
		broken := map[string][]byte{}
		for other, value := range data {
			if other != key {
				broken[other] = value
			}
		}
		if _, err := decode(broken); err == nil {
			t.Errorf("nothing is said of a %s that is missing", key)
		}
	}
}

// FuzzKept checks that stored data is rejected, or can be stored again.
func FuzzKept(f *testing.F) {
	data, err := rotated(f).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[keyAuthority], data[keyAuthorityKey], data[keyServing], data[keyServingKey], data[keyRetired], data[keyTimes])
	f.Add(data[keyAuthority], data[keyAuthorityKey], data[keyServing], data[keyServingKey], []byte(nil), []byte(`{"retired":[null]}`))
	f.Fuzz(func(t *testing.T, authority, authorityKey, serving, servingKey, retired, times []byte) {
		k, err := decode(map[string][]byte{
			keyAuthority: authority, keyAuthorityKey: authorityKey, keyServing: serving, keyServingKey: servingKey, keyRetired: retired, keyTimes: times,
		})
		if err != nil || k.authority == nil {
			return
		}
		if _, err := k.encode(); err != nil {
			t.Error(err)
		}
		if _, err := (&Policy{Authority: time.Hour, Certificate: time.Hour}).step(k, nil, time.Now()); err != nil {
			t.Error(err)
		}
	})
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// rotated returns a state during a rotation with all possible fields.
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
	k := &state{Authority: all[0], Next: all[1], Known: now, Retired: []retired{{string(signing.PEM(all[2].Certificate)), now.Add(time.Minute)}}}
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
	if !got.Known.Equal(k.Known) || !got.Retired[0].Until.Equal(k.Retired[0].Until) || !got.Next.Certificate.Equal(k.Next.Certificate) ||
		!got.Next.Key.Equal(k.Next.Key) || !got.Authority.Key.Equal(k.Authority.Key) || !got.Serving.Key.Equal(k.Serving.Key) {
		t.Errorf("got %+v", got)
	}
	if !bytes.Equal(got.bundle(), k.bundle()) || len(signing.Certificates(k.bundle())) != 3 {
		t.Error("the decoded bundle differs, want three certificates")
	}
	for _, field := range []string{"serving", "authority"} {
		var fields map[string]any
		if err := json.Unmarshal(data[keyState], &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, field)
		broken, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(map[string][]byte{keyState: broken}); err == nil {
			t.Errorf("nothing is said of a %s that is missing", field)
		}
	}
	if _, err := decode(map[string][]byte{KeyBundle: data[KeyBundle]}); err == nil {
		t.Error("nothing is said of a state that is missing")
	}
}

// FuzzKept checks that stored data is rejected, or can be stored again.
func FuzzKept(f *testing.F) {
	data, err := rotated(f).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[keyState])
	f.Add(bytes.Replace(data[keyState], []byte(`"retired":[`), []byte(`"retired":[null,`), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := decode(map[string][]byte{keyState: text})
		if err != nil || k.Authority == nil {
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

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload_test

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestPanicWhileLoading checks that a panic during a reload is an error with the names of the profiles, and that the
// active profiles stay.
func TestPanicWhileLoading(t *testing.T) {
	w := newWorld(t)
	create := w.options.Cloud
	w.options.Cloud = func(spec policy.CloudSpec) (cloud.Cloud, source.Findings) {
		if strings.Contains(w.text, "panic") {
			panic(w.text)
		}
		return create(spec)
	}
	const told = "acme.yaml: loading panicked, which is a bug: a value of the type string"
	w.text = pool("10.0.0.1-10.0.0.4", "") + "clouds: {c: {http: {url: 'https://panic'}}}\n"
	if _, err := reload.Open(t.Context(), w.store, w.options); err == nil || err.Error() != told {
		t.Fatalf("the error at the start is %v", err)
	}
	if _, _, err := reload.Check(w.options); err == nil || err.Error() != told {
		t.Fatalf("the error of the check is %v", err)
	}
	wrong := w.text
	w.open(t, pool("10.0.0.1-10.0.0.4", ""))
	hash := w.Policy().Hash
	w.text = wrong
	for range 2 {
		if err := w.Load(t.Context()); err == nil || err.Error() != told {
			t.Fatalf("the error is %v", err)
		}
	}
	if got := w.Policy().Hash; got != hash {
		t.Errorf("active is %s, not %s", got, hash)
	}
	if got := strings.Count(w.log.String(), "this is a bug"); got != 3 {
		t.Errorf("%d panics are logged: %s", got, w.log.String())
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestTimeout checks the accepted forms of a caller's timeout, and that parsing allocates nothing.
func TestTimeout(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"":                             0,
		"timeout=":                     0,
		"timeout=10s":                  10 * time.Second,
		"timeout=1m30s":                90 * time.Second,
		"timeout=0s":                   0,
		"timeout=-1s":                  0,
		"timeout=10":                   0,
		"timeout=x":                    0,
		"timeout=10s&a=b":              10 * time.Second,
		"a=b&timeout=3s":               3 * time.Second,
		"timeout=%31s":                 time.Second,
		"timeout=+1s":                  0,
		"timeout=1s&timeout=2s":        time.Second,
		"timeout=1s;":                  0,
		"Timeout=1s":                   0,
		"timeout=9999999999999999999h": 0,
	} {
		if got := Timeout(httptest.NewRequest(http.MethodPost, "/?"+query, nil)); got != want {
			t.Errorf("%q: %s, not %s", query, got, want)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/?timeout=10s", nil)
	if n := testing.AllocsPerRun(100, func() { Timeout(r) }); n != 0 {
		t.Errorf("Timeout allocates %v times, want none", n)
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestTimeLimitIsBelowCallersTimeout checks that the time limit of an interpretation is shorter than the caller's timeout, and never longer
// than the maximum.
func TestTimeLimitIsBelowCallersTimeout(t *testing.T) {
	h := &Handler{options: Options{Patience: 10 * time.Second}}
	for query, want := range map[string]time.Duration{
		"": 10 * time.Second, "?timeout=1s": 900 * time.Millisecond, "?timeout=5s": 4500 * time.Millisecond, "?timeout=10s": 9 * time.Second,
		"?timeout=30s": 10 * time.Second, "?timeout=soon": 10 * time.Second, "?timeout=-1s": 10 * time.Second, "?timeout=0s": 10 * time.Second,
	} {
		if got := h.patience(httptest.NewRequest(http.MethodPost, "/"+query, nil)); got != want {
			t.Errorf("%q: got a timeout of %s, want %s", query, got, want)
		}
	}
}

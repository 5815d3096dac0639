// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"strings"
	"time"
)

// Timeout returns the timeout that kube-apiserver and Karmada send in the query of webhook calls, or 0 if there
// is none or it is invalid.
func Timeout(r *http.Request) time.Duration {
	text, only := strings.CutPrefix(r.URL.RawQuery, "timeout=") // fast path for a query with the timeout only
	if !only || strings.ContainsAny(text, "&;%+") {
		text = r.URL.Query().Get("timeout")
	}
	said, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return max(0, said)
}

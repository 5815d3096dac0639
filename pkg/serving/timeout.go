// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"strings"
	"time"
)

// Timeout is how long the caller of a webhook waits, which kube-apiserver and Karmada say in the query; 0: it does not say so, or not as a duration above 0.
func Timeout(r *http.Request) time.Duration {
	text, only := strings.CutPrefix(r.URL.RawQuery, "timeout=") // as they say it: nothing is taken apart then
	if !only || strings.ContainsAny(text, "&;%+") {
		text = r.URL.Query().Get("timeout")
	}
	said, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return max(0, said)
}

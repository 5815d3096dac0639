// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzReason checks that any answer of a cloud becomes a short line of text.
func FuzzReason(f *testing.F) {
	for _, seed := range []string{"", `{"message": "no"}`, `{"a": {"b": {"error": "x"}}}`, `[{"error": 1}]`, "plain\x00\xff\n", "<html>", `{"errors": [[]]}`, `{"error": {"error": {"error": {}}}}`} {
		f.Add([]byte(seed), "7")
	}
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		r := &response{call: &call{}, status: 422, header: http.Header{"Retry-After": {header}}, body: body}
		reason := r.reason()
		if reason == "" || strings.ContainsAny(reason, "\n\r\t\x00") || !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > longestReason+20 {
			t.Errorf("the reason is %q", reason)
		}
		if r.status = 503; r.failure(t.Context(), time.Unix(1e9, 0)) == nil {
			t.Error("status 503 is no error")
		}
	})
}

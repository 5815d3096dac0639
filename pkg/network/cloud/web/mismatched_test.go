// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"io"
	"net/http"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// finding puts a call that finds into document.yaml.
var finding = []string{"unbind:\n", "find:\n  method: GET\n  path: /ports?owner=${ allocation.owner }\nunbind:\n"}

// TestUnusableBindingIsReleased checks that a binding that differs from the request, or that cannot be read completely, is released.
func TestUnusableBindingIsReleased(t *testing.T) {
	type mismatched struct {
		Name, Body  string
		Sent, Found []string
	}
	for _, c := range cases[mismatched](t, "mismatched.yaml") {
		for with, want := range map[string][]string{"sent": c.Sent, "found": c.Found} {
			t.Run(c.Name+"/"+with, func(t *testing.T) {
				var got []string
				edits := []string{"{'id':  answer.id}", "answer.id", "reference.id", "reference"}
				if with == "found" {
					edits = append(edits, finding...)
				}
				made := answering(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodDelete {
						got = append(got, r.Method+" "+path.Base(r.URL.Path))
						w.WriteHeader(http.StatusNoContent)
						return
					}
					got = append(got, r.Method)
					_, _ = io.WriteString(w, c.Body)
				}, edits...)
				if err := made.Unbind(t.Context(), intent("10.0.0.10")); err != nil {
					got = append(got, err.Error())
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		}
	}
}

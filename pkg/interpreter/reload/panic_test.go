// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

// TestPanicWhileLoading checks that a panic during a reload is an error with the names of the profiles, and that the
// active profiles stay.
func TestPanicWhileLoading(t *testing.T) {
	const told = "a.yaml: loading panicked, which is a bug: a value of the type string"
	var log strings.Builder
	f := &files{texts: [][]byte{document("one", "2")}}
	panics := true
	o := Options{
		Read: f.read, Log: funcr.New(func(_, line string) { log.WriteString(line + "\n") }, funcr.Options{}),
		Empty: func([]string) []string {
			if panics {
				panic("with what is in a profile")
			}
			return nil
		},
	}
	if _, err := Open(o); err == nil || err.Error() != told {
		t.Fatalf("the error at the start is %v", err)
	}
	if _, err := Check(o); err == nil || err.Error() != told {
		t.Fatalf("the error of the check is %v", err)
	}
	panics = false
	r, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	panics, f.texts = true, [][]byte{document("one", "1")}
	for range 2 {
		if err := r.Load(t.Context()); err == nil || err.Error() != told {
			t.Fatalf("the error is %v", err)
		}
	}
	if got := replicas(t, r); got != 2 {
		t.Errorf("%d replicas", got)
	}
	if got := strings.Count(log.String(), "this is a bug"); got != 3 {
		t.Errorf("%d panics are logged: %s", got, log.String())
	}
}

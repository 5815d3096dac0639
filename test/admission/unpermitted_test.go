// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"syscall"
	"testing"
	"time"
)

// TestEndWithoutPermission stops a program that has no permission for a kind that it caches, so that its caches are never filled.
func TestEndWithoutPermission(t *testing.T) {
	for _, resource := range []string{"namespaces", "clusters"} {
		t.Run(resource, func(t *testing.T) {
			p := launch(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}, Without: resource})
			p.log.waitFor(t, "forbidden")
			if err := p.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			asked := time.Now()
			select {
			case <-p.Exited():
				t.Logf("it ended after %s with %s", time.Since(asked).Round(time.Millisecond), p.State())
			case <-time.After(patience):
				t.Errorf("the program did not end:\n%s", p.log.Tail(25))
			}
		})
	}
}

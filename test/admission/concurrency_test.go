// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestConcurrency admits different objects concurrently, each with a patch of its own content: shared state must not
// leak parts of one object into another.
func TestConcurrency(t *testing.T) {
	const workers, requests = 8, 60
	p := start(t, programOptions{Profiles: map[string]string{
		"echo":  setFlag("echo", "echo", "own", `'${ object.annotations["own"] }'`),
		"wrong": setFlag("wrong", "wrong", "own", `'${ object.annotations["no-such-key"] }'`),
	}})
	echo, wrong := newShoot(t, "concurrency", "echo"), newShoot(t, "concurrency-wrong", "wrong")
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := range requests {
				own := fmt.Sprintf("%d-%d-%s", worker, i, strings.Repeat(string(rune('a'+worker)), (i*37)%900))
				object := deployment(echo, "kube-controller-manager", "--before="+own)
				object.SetAnnotations(map[string]string{"own": own})
				if i%10 == 9 { // an admission that fails leaves things by another way
					object.SetNamespace(wrong)
					expectDenied(t, land.Client().Create(t.Context(), object, client.DryRunAll), 500, "ExpressionFailed")
					continue
				}
				if err := land.Client().Create(t.Context(), object, client.DryRunAll); err != nil {
					t.Errorf("an admission failed: %v", err)
					return
				}
				if got, want := commandOf(t, object), []string{"/kube-controller-manager", "--before=" + own, "--own=" + own}; !slices.Equal(got, want) {
					t.Errorf("the command is %q, want %q", got, want)
				}
			}
		})
	}
	group.Wait()
	if got, want := p.counter("graft_admissions_total", labels{"provider": "echo", "result": "patched"}), float64(workers*requests*9/10); got != want {
		t.Errorf("%v objects were patched, want %v", got, want)
	}
}

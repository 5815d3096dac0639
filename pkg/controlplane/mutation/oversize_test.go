// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/oversize"
)

// mostLive is how much memory that is in use may grow while ten oversize requests are answered.
const mostLive = 256 << 20

// sampled is the time between two looks at the heap. In this time it grows by a few MiB at most.
const sampled = 200 * time.Microsecond

// FuzzOversize checks that profiles with very large computed values are rejected with a position or deny with a reason,
// within the memory limit.
func FuzzOversize(f *testing.F) {
	for seed := range uint64(24) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		runtime.GC()
		before := heap()
		peak := watchHeap(t)
		admitOversize(t, seed)
		if grown := peak() - before; grown > mostLive {
			t.Errorf("case %d: the heap grew by %d MiB\n%s", seed, grown>>20, oversize.Profile(seed))
		}
	})
}

// admitOversize loads the profile of a case and admits ten objects at a time.
func admitOversize(t *testing.T, seed uint64) {
	documents, findings := profile.Load(source.File{Name: "p", Data: []byte(oversize.Profile(seed))})
	if len(findings) > 0 {
		t.Fatalf("%v\n%s", findings, oversize.Profile(seed))
	}
	program, err := compiler.Compile(documents, compiler.Options{Kubernetes: elsewhere})
	if err != nil {
		t.Logf("refused: %v", err)
		var problems source.Findings
		if !errors.As(err, &problems) || problems[0].Line == 0 {
			t.Errorf("case %d is refused without a place: %v", seed, err)
		}
		return
	}
	found, err := facts.FromCluster([]byte(fuzzedCluster))
	if err != nil {
		t.Fatal(err)
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "kube-controller-manager", "annotations": map[string]any{oversize.Key: oversize.Annotation(seed)}},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "kube-controller-manager"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			_, err := program.Admit(context.Background(), mutation.Request{
				Set: target.ControlPlane, Provider: oversize.Provider, Operation: "CREATE", Namespace: "n", Name: "kube-controller-manager",
				Group: "apps", Version: "v1", Kind: "Deployment", Object: object,
			}, &facts.Static{Facts: found})
			if err != nil {
				t.Logf("denied: %v", err)
			}
			var failure *mutation.Failure
			if err != nil && (!errors.As(err, &failure) || failure.Reason != mutation.ExpressionFailed) {
				t.Errorf("case %d is not denied as it should: %v", seed, err)
			}
		})
	}
	group.Wait()
}

// watchHeap returns a function that returns the largest size of the heap since then.
func watchHeap(t *testing.T) func() int64 {
	var peak int64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			peak = max(peak, heap())
			select {
			case <-done:
				return
			case <-time.After(sampled): // a loop would take half of two cores from the admissions
			}
		}
	}()
	stop := sync.OnceFunc(func() { close(done); <-ended })
	t.Cleanup(stop)
	return func() int64 {
		stop()
		return peak
	}
}

// heap returns the bytes of objects on the heap, with those that are not collected yet.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// TestOversizeFunctions checks that the generated profiles call every function that returns a text, bytes, a list or a map.
func TestOversizeFunctions(t *testing.T) {
	functions, err := expression.Functions()
	if err != nil {
		t.Fatal(err)
	}
	var profiles strings.Builder
	for seed := range uint64(500) {
		profiles.WriteString(oversize.Profile(seed))
	}
	for name, f := range functions {
		creates := slices.ContainsFunc(f.OverloadDecls(), func(o *decls.OverloadDecl) bool {
			return slices.Contains([]types.Kind{types.StringKind, types.BytesKind, types.ListKind, types.MapKind}, o.ResultType().Kind())
		})
		if creates && !strings.ContainsAny(name, "_@") && !strings.Contains(profiles.String(), name+"(") {
			t.Errorf("no profile of the test uses the function %s", name)
		}
	}
}

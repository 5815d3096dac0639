// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// TestPanicWhileLoading checks that a profile that makes the compiler panic is invalid: its objects are denied at the
// start, later the last valid version stays active, the panic is reported once, and the next profile is loaded.
func TestPanicWhileLoading(t *testing.T) {
	var log strings.Builder
	panics := func(documents []*profile.Document) (Mutator, error) {
		if len(documents) > 0 && documents[0].Providers[0] == "aws" {
			panic(documents[1])
		}
		return compile(documents)
	}
	store := NewStore(panics, nil, NewMetrics(prometheus.NewRegistry()), funcr.New(func(_, line string) { log.WriteString(line + "\n") }, funcr.Options{}))
	files := &reader{}
	load := func(provider string) error {
		files.set(text2profile("one", provider, "false"))
		return store.Load(context.Background(), files)
	}
	for range 2 {
		if err := load("aws"); err == nil || !strings.HasPrefix(err.Error(), "p.yaml: loading panicked") || !store.Loaded() {
			t.Fatalf("the error at the start is %v", err)
		}
	}
	if err := load("openstack"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := load("aws"); err == nil {
			t.Fatal("no error, want the panic as an error")
		}
	}
	if result, err := store.Admit(context.Background(), mutation.Request{}); err != nil || result.Target != "one" || !store.Serves(Route{Set: target.ControlPlane, Provider: "openstack"}) {
		t.Errorf("the active profile does not answer: %v", err)
	}
	if count := strings.Count(log.String(), "panic_test.go"); count == 0 || strings.Count(log.String(), "this is a bug") != 2 {
		t.Errorf("the log is\n%s", log.String())
	}
	if err := load("gcp"); err != nil || !store.Serves(Route{Set: target.ControlPlane, Provider: "gcp"}) {
		t.Errorf("the fixed profile is not loaded: %v", err)
	}
}

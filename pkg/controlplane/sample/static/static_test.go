// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package static_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// TestPlanes checks that each sample has facts, and that each of its objects is a target.
func TestPlanes(t *testing.T) {
	found := map[string]bool{}
	for _, plane := range static.Planes() {
		read := facts.FromCluster
		if plane.Garden {
			read = facts.FromGarden
		}
		if f, err := read(plane.Source); err != nil || f.Kubernetes() == "" {
			t.Errorf("%s: the facts: %v", plane.Name, err)
		}
		for _, raw := range plane.Objects {
			var o struct {
				APIVersion, Kind string
				Metadata         struct{ Name string }
			}
			if err := json.Unmarshal(raw, &o); err != nil {
				t.Fatal(err)
			}
			is, _ := target.Match(plane.Garden, schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group, o.Kind, o.Metadata.Name)
			if is == nil {
				t.Errorf("%s: %s %s is no target", plane.Name, o.Kind, o.Metadata.Name)
				continue
			}
			found[is.Name] = true
		}
	}
	for _, name := range target.Names() {
		if is, _ := target.Lookup(name); !found[name] && is.Name != "node" { // with kubelet in one object
			t.Errorf("no sample has the target %s", name)
		}
	}
}

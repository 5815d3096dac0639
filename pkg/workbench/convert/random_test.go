// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// TestRandom changes, adds and removes random parts of a control plane: there is a proposal, it reproduces the objects
// that it claims to, and most objects are reproduced.
func TestRandom(t *testing.T) {
	objects := sampled(t, sample.Options{}, contract.Today)
	reproduced, all := 0, 0
	for seed := range uint64(rounds) {
		random := rand.New(rand.NewPCG(seed, 1))
		object := objects[random.IntN(len(objects))]
		before, err := manifest.New(object.JSON, source.Position{})
		if err != nil {
			t.Fatal(err)
		}
		after := before
		after.JSON = changed(t, random, object.JSON)
		if _, err := manifest.New(after.JSON, source.Position{}); err != nil {
			continue
		}
		proposal, err := convert.Propose(t.Context(), []manifest.Object{before}, []manifest.Object{after}, convert.Options{Name: "acme", Provider: "acme"})
		if errors.Is(err, convert.ErrNoDifference) {
			continue
		}
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		all++
		if len(proposal.Missed) > 0 {
			t.Logf("%d: %v", seed, proposal.Missed)
			continue
		}
		reproduced++
		holdReproduced(t, proposal, []manifest.Object{before}, []manifest.Object{after})
	}
	t.Logf("%d of %d are reproduced", reproduced, all)
	if reproduced < all*9/10 {
		t.Errorf("only %d of %d are reproduced", reproduced, all)
	}
}

// rounds is how many objects are changed.
const rounds = 50

// changed is an object with some random changes in its spec and its metadata.
func changed(t *testing.T, random *rand.Rand, raw []byte) []byte {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	for range 1 + random.IntN(4) {
		change(random, object, "")
	}
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// kept are members that webhooks do not change randomly: members that identify an object or an item, members that the
// contract reserves, and members with few allowed words in Kubernetes.
var kept = []string{
	"apiVersion", "kind", "name", "namespace", "selector", "purpose", "type", "status", "uid", "labels", "replicas", "containerName",
	"controlledValues", "updateMode",
}

// change returns a random change of a value.
func change(random *rand.Rand, value any, name string) any {
	switch value := value.(type) {
	case map[string]any:
		keys := []string{}
		for key := range value {
			if !slices.Contains(kept, key) {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		switch action := random.IntN(8); {
		case len(keys) == 0:
		case action == 0 && name != "":
			delete(value, keys[random.IntN(len(keys))])
		default:
			key := keys[random.IntN(len(keys))]
			value[key] = change(random, value[key], key)
		}
		return value
	case []any:
		switch action := random.IntN(6); {
		case len(value) == 0 || action == 0 && len(value) > 1:
			at := random.IntN(max(len(value), 1))
			return slices.Delete(slices.Clone(value), min(at, len(value)), min(at+1, len(value)))
		case action == 1 && isText(value[0]):
			return append(value, "--added=value")
		default:
			at := random.IntN(len(value))
			value[at] = change(random, value[at], "item")
		}
		return value
	case string:
		if _, err := resource.ParseQuantity(value); err == nil {
			return "1" + value
		}
		return value + "x"
	case bool:
		return !value
	case float64:
		return value + 1
	}
	return value
}

func isText(value any) bool {
	_, ok := value.(string)
	return ok
}

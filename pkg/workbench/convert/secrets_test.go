// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// data are those of the Secrets in TestNoDataOfSecrets: a word, a text of several lines, a document and a list.
var data = []string{"Zq7", "sEcReT-wOrD", "-----BEGIN-----\nUXVpdGVTZWNyZXQ\n-----END-----\n", "usr: oNe1234\npwd: tWo5678\n", "iTem1,iTem2=x", `q"uO\te`}

// TestNoDataOfSecrets holds, of objects into which data of a Secret were written at random, or out of which they were taken, that none of it
// stands in the proposal or in what is said of it, plain or as base64.
func TestNoDataOfSecrets(t *testing.T) {
	objects := sampled(t, sample.Options{}, contract.Today)
	for seed := range uint64(4 * rounds) {
		random := rand.New(rand.NewPCG(seed, 2))
		object := objects[random.IntN(len(objects))]
		var parsed map[string]any
		if err := json.Unmarshal(object.JSON, &parsed); err != nil {
			t.Fatal(err)
		}
		for range 1 + random.IntN(4) {
			leak(random, parsed, "")
		}
		leaked, err := json.Marshal(parsed)
		if err != nil {
			t.Fatal(err)
		}
		before, after := object.JSON, leaked
		if random.IntN(3) == 0 {
			before, after = after, before
		}
		pair := convert.Pair{Before: objectsOf(t, before), After: objectsOf(t, after)}
		namespace := []string{pair.Before[0].Namespace, "garden-elsewhere"}[random.IntN(2)]
		cases, err := convert.Cases([]convert.Pair{pair}, objectsOf(t, secretIn(t, namespace)))
		if err != nil {
			continue
		}
		proposal, err := convert.Propose(t.Context(), cases, convert.Options{Name: "acme", Provider: "acme"})
		if errors.Is(err, convert.ErrNoDifference) {
			continue
		}
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		out := string(proposal.Profile)
		for _, missed := range proposal.Missed {
			out += "\n" + missed.String()
		}
		for _, datum := range data {
			if form := found(out, datum); form != "" {
				t.Fatalf("%d: %q stands in\n%s", seed, form, out)
			}
		}
	}
}

// found is the form in which a datum stands in a text, empty where it does not.
func found(text, datum string) string {
	encoded := base64.StdEncoding.EncodeToString([]byte(datum))
	words := strings.Join(strings.Fields(datum), "")
	switch {
	case strings.Contains(text, strings.TrimSpace(datum)):
		return datum
	case strings.Contains(text, encoded):
		return encoded
	case strings.Contains(datum, "\n") && strings.Contains(strings.NewReplacer("\n", "", " ", "", "#", "").Replace(text), words):
		return words
	}
	return ""
}

func objectsOf(t *testing.T, raw []byte) []manifest.Object {
	t.Helper()
	object, err := manifest.New(raw, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	return []manifest.Object{object}
}

func secretIn(t *testing.T, namespace string) []byte {
	t.Helper()
	values := map[string]any{}
	for i, datum := range data {
		values[string(rune('a'+i))] = []byte(datum)
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "credentials", "namespace": namespace}, "data": values,
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// leak writes a datum somewhere into a value, and gives what is to stand there.
func leak(random *rand.Rand, value any, name string) any {
	datum := data[random.IntN(len(data))]
	switch random.IntN(4) {
	case 0:
		datum = base64.StdEncoding.EncodeToString([]byte(datum))
	case 1:
		datum = base64.StdEncoding.EncodeToString([]byte("x" + datum + "y"))
	}
	switch value := value.(type) {
	case map[string]any:
		keys := []string{}
		for key := range value {
			if !slices.Contains(kept, key) {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		if len(keys) == 0 || name != "" && random.IntN(8) == 0 {
			value[datum] = datum
			return value
		}
		key := keys[random.IntN(len(keys))]
		value[key] = leak(random, value[key], key)
		return value
	case []any:
		if len(value) == 0 || isText(value[0]) && random.IntN(2) == 0 {
			return append(value, "--added="+datum)
		}
		at := random.IntN(len(value))
		value[at] = leak(random, value[at], "item")
		return value
	case string:
		return []string{datum, value + datum, value + "\n" + datum, value + "," + datum}[random.IntN(4)]
	}
	return datum
}

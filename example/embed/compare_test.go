// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// compare compares the results of a webhook and of the engine, except for acme's changes in Go.
func compare(t *testing.T, o sample.Object, webhook, engine []byte) {
	t.Helper()
	got, want := tree(t, webhook), tree(t, engine)
	metadata := got["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if marked := annotations[inGo] == "true"; marked != (o.Target == "kube-scheduler") {
		t.Errorf("%s: acme's own code was called: %t", o.Target, marked)
	}
	if delete(annotations, inGo); len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s %s (-engine +webhook):\n%s", o.Target, o.Object.GetName(), diff)
	}
}

// tree decodes an object.
func tree(t *testing.T, object []byte) map[string]any {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(object, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

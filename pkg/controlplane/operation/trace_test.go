// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
)

// TestTraceText checks that records are written and read back unchanged.
func TestTraceText(t *testing.T) {
	for text, trace := range map[string]operation.Trace{
		`spec.etcd.quota`:                         {Path: "spec.etcd.quota"},
		`spec.items[+ 01234567]`:                  {Path: "spec.items", Item: "01234567"},
		`spec.items[0].name`:                      {Path: "spec.items[0].name"},
		`yaml "data[\"c.yaml\"]" a.b`:             {Document: `data["c.yaml"]`, Format: "yaml", Path: "a.b"},
		`json b64 "spec.a" x[name=y][+ 89abcdef]`: {Document: "spec.a", Format: "json", Encoding: "b64", Path: "x[name=y]", Item: "89abcdef"},
	} {
		if got := trace.String(); got != text {
			t.Errorf("%+v is written %s, not %s", trace, got, text)
		}
		var read operation.Trace
		if err := read.UnmarshalText([]byte(text)); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(trace, read); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

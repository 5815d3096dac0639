// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestLimits checks that the tags of fields limit decoded values, but not absent ones.
func TestLimits(t *testing.T) {
	nodes, findings := source.Parse(source.File{Name: "f", Data: []byte("[{level: inf, port: 0}, {level: info, port: 30}, {}, {level: null}, {broken: 1}]")})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	var into []struct {
		Level  string `json:"level" oneOf:"debug,info"`
		Port   int32  `json:"port" between:"1,30"`
		Broken int32  `json:"broken" between:"1"`
	}
	want := `f:1:10: [0].level: must be one of debug, info (did you mean "info"?)
f:1:21: [0].port: must be 1 to 30
f:1:78: [4].broken: reading the tag between:"1": unexpected EOF`
	if diff := cmp.Diff(want, source.Decode(nodes[0], "", &into).Error()); diff != "" {
		t.Error(diff)
	}
}

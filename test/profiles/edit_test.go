// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// edit changes the objects of a kind and name; an empty name, or an empty purpose, is any.
type edit struct {
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	// Patch is an RFC 6902 patch.
	Patch json.RawMessage `json:"patch,omitempty"`
	// Replace changes the texts of units and files of an OperatingSystemConfig.
	Replace []replacement `json:"replace,omitempty"`
}

// replacement puts New in the place of Old, which must be there, in the content of a unit or a file.
type replacement struct {
	Unit string `json:"unit,omitempty"`
	File string `json:"file,omitempty"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

func (e edit) matches(s *subject) bool {
	return e.Kind == s.kind && (e.Name == "" || e.Name == s.name) && (e.Purpose == "" || e.Purpose == s.purpose)
}

func (e edit) apply(t *testing.T, object []byte) []byte {
	t.Helper()
	object = golden.Apply(t, object, e.Patch)
	if len(e.Replace) == 0 {
		return object
	}
	var tree map[string]any
	if err := json.Unmarshal(object, &tree); err != nil {
		t.Fatal(err)
	}
	for _, r := range e.Replace {
		if !r.apply(tree["spec"].(map[string]any)) {
			t.Fatalf("the edit finds no text %q in %s%s", r.Old, r.Unit, r.File)
		}
	}
	changed, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func (r replacement) apply(spec map[string]any) bool {
	done := false
	change := func(text string) string {
		done = done || strings.Contains(text, r.Old)
		return strings.Replace(text, r.Old, r.New, 1)
	}
	for _, item := range items(spec["units"]) {
		if content, ok := item["content"].(string); ok && r.Unit != "" && item["name"] == r.Unit {
			item["content"] = change(content)
		}
	}
	for _, item := range items(spec["files"]) {
		if r.File == "" || item["path"] != r.File {
			continue
		}
		inline := item["content"].(map[string]any)["inline"].(map[string]any)
		text, _ := inline["data"].(string)
		if inline["encoding"] != "b64" {
			inline["data"] = change(text)
		} else if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			inline["data"] = base64.StdEncoding.EncodeToString([]byte(change(string(decoded))))
		}
	}
	return done
}

func items(list any) []map[string]any {
	var found []map[string]any
	all, _ := list.([]any)
	for _, item := range all {
		if object, ok := item.(map[string]any); ok {
			found = append(found, object)
		}
	}
	return found
}

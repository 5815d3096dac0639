// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
)

// edit changes objects before they are admitted.
type edit struct {
	selector

	at      source.Node
	patch   jsonpatch.Patch
	replace []v1alpha1.TestReplacement
}

// compileEdits compiles edits; of is the default position of their findings.
func compileEdits(of source.Node, written []v1alpha1.TestEdit, path string) ([]edit, source.Findings) {
	var (
		edits    []edit
		findings source.Findings
	)
	for i, w := range written {
		at := fmt.Sprintf("%s[%d]", path, i)
		e := edit{at: w.Of.At, replace: w.Replace}
		if w.Of.At.Node == nil {
			findings = append(findings, of.Finding(at+".of", "is missing: a target, or kind and name such as Deployment/acme"))
			continue
		}
		var more source.Findings
		e.selector, more = compileSelector(w.Of.At, at+".of", w.Of.Value, w.Purposes, false)
		findings = append(findings, more...)
		if len(w.Patch) == 0 && len(w.Replace) == 0 {
			findings = append(findings, w.Of.At.Finding(at, "changes nothing: it has neither patch nor replace"))
		}
		if len(w.Patch) > 0 {
			operations := make([]any, len(w.Patch))
			for j, node := range w.Patch {
				operations[j] = comparison.Plain(node)
			}
			raw, err := json.Marshal(operations)
			if err == nil {
				e.patch, err = jsonpatch.DecodePatch(raw)
			}
			findings = append(findings, source.FindingsOf(w.Patch[0], at+".patch", err)...)
		}
		edits = append(edits, e)
	}
	return edits, findings
}

// apply returns the object with the edit.
func (e *edit) apply(object []byte) ([]byte, error) {
	var err error
	if e.patch != nil {
		if object, err = e.patch.Apply(object); err != nil {
			return nil, err
		}
	}
	if len(e.replace) == 0 {
		return object, nil
	}
	var tree map[string]any
	if err := json.Unmarshal(object, &tree); err != nil {
		return nil, err
	}
	spec, _ := tree["spec"].(map[string]any)
	for _, r := range e.replace {
		if err := replaceText(spec, r); err != nil {
			return nil, err
		}
	}
	return json.Marshal(tree)
}

var errNotThere = errors.New("the text to replace is not there")

// replaceText puts a text into the place of another in the content of a unit or a file.
func replaceText(spec map[string]any, r v1alpha1.TestReplacement) error {
	done := false
	change := func(text string) string {
		done = done || strings.Contains(text, r.Old)
		return strings.Replace(text, r.Old, r.New, 1)
	}
	for _, item := range itemsOf(spec["units"]) {
		if content, ok := item["content"].(string); ok && r.Unit != "" && item["name"] == r.Unit {
			item["content"] = change(content)
		}
	}
	for _, item := range itemsOf(spec["files"]) {
		content, _ := item["content"].(map[string]any)
		inline, ok := content["inline"].(map[string]any)
		if !ok || r.File == "" || item["path"] != r.File {
			continue
		}
		text, _ := inline["data"].(string)
		if inline["encoding"] != "b64" {
			inline["data"] = change(text)
			continue
		}
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("reading the file %s: %w", r.File, err)
		}
		inline["data"] = base64.StdEncoding.EncodeToString([]byte(change(string(decoded))))
	}
	if !done {
		return fmt.Errorf("%w: %q in %s%s", errNotThere, r.Old, r.Unit, r.File)
	}
	return nil
}

func itemsOf(list any) []map[string]any {
	var found []map[string]any
	all, _ := list.([]any)
	for _, item := range all {
		if object, ok := item.(map[string]any); ok {
			found = append(found, object)
		}
	}
	return found
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// held is a golden file: the readable difference (diff), or the objects that changed (yaml).
type held struct{ form, path string }

// hold compares the golden file with the result.
func (r *run) hold(ctx context.Context, h held) (golden.Golden, error) {
	write := map[string]func(context.Context) (string, error){"diff": r.diff, "yaml": r.yaml}[h.form]
	text, err := write(ctx)
	if err != nil {
		return golden.Golden{}, err
	}
	return golden.Hold(h.path, []byte(text))
}

// yaml returns the objects that changed, and a comment for each that is denied.
func (r *run) yaml(context.Context) (string, error) {
	var blocks []string
	for _, o := range r.objects {
		switch {
		case o.denied != nil:
			blocks = append(blocks, fmt.Sprintf("# %s is denied: %s\n", o, o.denied.Reason))
		case o.changed():
			text, err := yaml.JSONToYAML(o.result)
			if err != nil {
				return "", fmt.Errorf("writing %s: %w", o, err)
			}
			blocks = append(blocks, string(text))
		}
	}
	if len(blocks) == 0 {
		return "# No object changes.\n", nil
	}
	return strings.Join(blocks, "---\n"), nil
}

// diff returns the results for the changed objects. Identical results of several objects of a kind are written once,
// below all their names.
func (r *run) diff(ctx context.Context) (string, error) {
	type key struct{ kind, text string }
	var order []key
	names := map[key][]string{}
	for _, o := range r.objects {
		var text string
		if o.denied != nil {
			text = "  denied: " + string(o.denied.Reason) + "\n"
		} else {
			change, err := o.change(ctx)
			if err != nil {
				return "", err
			}
			if text = sections(render.Sections(change.Edits(), 1), true); text == "" {
				continue
			}
		}
		k := key{o.Kind, text}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k] = append(names[k], o.String()+"\n")
	}
	if len(order) == 0 {
		return "no object changes\n", nil
	}
	blocks := make([]string, len(order))
	for i, k := range order {
		blocks[i] = strings.Join(names[k], "") + k.text
	}
	return strings.Join(blocks, "\n"), nil
}

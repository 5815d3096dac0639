// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// TestServiceOfEdit checks which edits keep the parsed unit. A cache keeps the edits of many objects.
func TestServiceOfEdit(t *testing.T) {
	const command = "[Service]\nExecStart=/opt/bin/kubelet"
	for name, test := range map[string]struct {
		unit string
		kept bool
	}{
		"a usual unit":                      {command + strings.Repeat(" \\\n --flag=value", 30) + "\n", true},
		"many lines":                        {command + "\n" + strings.Repeat("#\n", 200), false},
		"many lines with carriage returns":  {command + "\n" + strings.Repeat("#\r", 200), false},
		"many arguments":                    {command + strings.Repeat(" a", 200) + "\n", false},
		"a unit without a command":          {"[Service]\n", false},
		"a unit with a command and a shell": {"[Service]\nExecStart=/bin/sh -c kubelet\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(map[string]any{"spec": map[string]any{
				"units": []any{map[string]any{"name": KubeletUnit, "content": test.unit}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := document.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			edit, ok := (&Object{Document: parsed}).KubeletEdit(KubeletTexts{Unit: []byte(`"another"`)})
			if !ok || edit.unit == nil {
				t.Fatal("want the edit of the unit")
			}
			if kept := edit.service != nil; kept != test.kept {
				t.Errorf("the service is kept: %t, want %t", kept, test.kept)
			}
		})
	}
}

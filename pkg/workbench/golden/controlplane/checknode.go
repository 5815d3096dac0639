// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
)

// units compiles assertions about systemd units of a node.
func units(c *compiler, path string) {
	c.eachText(path, "units", c.expected.Units, func(o *subject, name string) (*document.Node, string, error) {
		unit := o.Document.Root().Find("spec", "units").ItemWith("name", name)
		text, _ := unit.Get("content").Text()
		return unit, text, nil
	})
}

// files compiles assertions about files of a node.
func files(c *compiler, path string) {
	c.eachText(path, "files", c.expected.Files, func(o *subject, name string) (*document.Node, string, error) {
		file := o.File(name)
		if file.Find("content", "inline") == nil {
			return file, "", nil
		}
		content, err := o.Content(name)
		if err != nil {
			return nil, "", err
		}
		return file, string(content.Text()), nil
	})
}

// eachText compares units or files; find gives the item and its text.
func (c *compiler) eachText(
	path, field string, wanted map[string]v1alpha1.TestText, find func(o *subject, name string) (*document.Node, string, error),
) {
	for name, want := range wanted {
		if c.target == nil || !c.target.Has(target.Units) {
			c.refuse(want.At, fieldName(path, field, name), "%s has no %s; kubelet and node have", c.title, field)
			continue
		}
		if field == "files" && want.Sections != nil {
			c.refuse(want.At, fieldName(path, field, name), "sections are those of units")
		}
		t := textChecks{at: want.At, field: field + "." + name, name: name, find: find}
		switch {
		case want.At.Absent():
			c.add(t.assertion(t.at, "", func(item *document.Node, _ string) []comparison.Mismatch {
				value, there := valueOf(item)
				return comparison.Differences("", nil, value, there)
			}))
		default:
			c.add(t.assertion(t.at, "", nil))
			c.texts(t, want)
		}
	}
}

// textChecks make the assertions about a unit or a file.
type textChecks struct {
	at    source.Node
	field string
	name  string
	// word selects the lines that contain it; empty selects all lines of the item.
	word string
	find func(o *subject, name string) (*document.Node, string, error)
}

// assertion returns an assertion about the item and its text; without look, that the item exists.
func (t textChecks) assertion(at source.Node, below string, look func(item *document.Node, text string) []comparison.Mismatch) assertion {
	near := []string{t.name}
	if t.word != "" {
		near = append(near, t.word)
	}
	return assertion{at: at, field: t.field + below, about: t.name, near: near, look: func(o *subject) ([]comparison.Mismatch, error) {
		item, text, err := t.find(o, t.name)
		switch {
		case err != nil:
			return nil, err
		case look == nil && item == nil:
			return []comparison.Mismatch{{Want: "to be there", Got: comparison.Absent}}, nil
		case look == nil || item == nil && below != "":
			return nil, nil
		}
		return look(item, text), nil
	}}
}

func (c *compiler) texts(t textChecks, want v1alpha1.TestText) {
	for _, part := range want.Contains {
		c.add(t.assertion(part.At, ".contains", func(_ *document.Node, text string) []comparison.Mismatch {
			if strings.Contains(text, part.Value) {
				return nil
			}
			return []comparison.Mismatch{{Want: part.Value, Got: text}}
		}))
	}
	for _, part := range want.Lacks {
		c.add(t.assertion(part.At, ".lacks", func(_ *document.Node, text string) []comparison.Mismatch {
			if !strings.Contains(text, part.Value) {
				return nil
			}
			return []comparison.Mismatch{{Want: "no " + part.Value, Got: text}}
		}))
	}
	if want.Content.At.Node != nil {
		c.add(t.assertion(want.Content.At, ".content", func(_ *document.Node, text string) []comparison.Mismatch {
			return comparison.Differences("", want.Content.Value, text, true)
		}))
	}
	for text, node := range want.Fields {
		at, ok := c.path(t.field+".fields."+text, text, node)
		if !ok {
			continue
		}
		t.word = at[len(at)-1].Key
		c.add(t.assertion(node, ".fields."+text, func(item *document.Node, _ string) []comparison.Mismatch {
			value, there := valueOf(follow(item, at))
			return comparison.Differences("", comparison.Plain(node), value, there)
		}))
	}
	for section, options := range want.Sections {
		for option, node := range options {
			t.word = option
			c.add(t.assertion(node, fmt.Sprintf(".sections.%s.%s", section, option), func(_ *document.Node, text string) []comparison.Mismatch {
				return optionDifferences(section, option, comparison.Plain(node), text)
			}))
		}
	}
}

// optionDifferences compare an option of a unit: a list is all of its values, anything else is one of them, and null none.
func optionDifferences(section, option string, want any, text string) []comparison.Mismatch {
	unit, err := systemd.Parse(text)
	if err != nil {
		return []comparison.Mismatch{{Want: comparison.Shown(want), Got: err.Error()}}
	}
	values := unit.Values(section, option)
	got := any(nil)
	if len(values) > 0 {
		got = canonical(values)
	}
	if one := fmt.Sprint(want); want != nil && slices.Contains(values, one) {
		return nil
	}
	if len(values) == 1 {
		if _, list := want.([]any); !list {
			got = values[0]
		}
	}
	return comparison.Differences("", want, got, len(values) > 0)
}

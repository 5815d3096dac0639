// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// input is an object of a sample control plane, with something in it that samples do not have.
type input struct {
	shoot  sample.Options
	target string
	// edit changes the object, as Gardener, its operators or an API server might; nil leaves it as it is.
	edit func(t *testing.T, object map[string]any)
	// stored reports that the object is there already, as it is: the request is an update that changes nothing.
	stored bool
	// kept is a part of the object's JSON that both sides must keep.
	kept string
}

// build makes the object and the two sides. Of the OperatingSystemConfigs it takes one of purpose reconcile.
func (in input) build(t *testing.T, changed map[string]bool) (subject, *sides) {
	t.Helper()
	objects, err := sample.ControlPlane(t.Context(), in.shoot)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(objects, func(o sample.Object) bool {
		return o.Target == in.target && find(tree(t, o.JSON), "spec", "purpose") != "provision"
	})
	if i < 0 {
		t.Fatalf("the sample has no %s", in.target)
	}
	object := tree(t, objects[i].JSON)
	if in.edit != nil {
		in.edit(t, object)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	o := subject{Object: objects[i], raw: raw}
	if in.stored {
		o.old = raw
	}
	return o, newSides(t, in.shoot, changed)
}

type editor = func(t *testing.T, object map[string]any)

// set sets a member of an object below the path.
func set(value any, path ...string) editor {
	return func(t *testing.T, object map[string]any) {
		t.Helper()
		for _, key := range path[:len(path)-1] {
			if object, _ = object[key].(map[string]any); object == nil {
				t.Fatalf("the sample lacks the field %v", path)
			}
		}
		object[path[len(path)-1]] = value
	}
}

// appendTo adds items at the end of a list, and prependTo at the beginning. They create a missing list.
func appendTo(path []string, items ...any) editor { return edited(path, items, false) }

func prependTo(path []string, items ...any) editor { return edited(path, items, true) }

func edited(path []string, items []any, before bool) editor {
	return func(t *testing.T, object map[string]any) {
		t.Helper()
		list, _ := find(object, path...).([]any)
		if before {
			list = slices.Concat(items, list)
		} else {
			list = slices.Concat(list, items)
		}
		set(list, path...)(t, object)
	}
}

var podSpec = []string{"spec", "template", "spec"}

// inContainer edits the first container.
func inContainer(edit editor) editor {
	return inItem(slices.Concat(podSpec, []string{"containers"}), "", "", edit)
}

// inItem edits the first item of a list with the value in the member key; with an empty key, the first item.
func inItem(path []string, key, value string, edit editor) editor {
	return func(t *testing.T, object map[string]any) {
		t.Helper()
		list, _ := find(object, path...).([]any)
		for _, item := range list {
			if one := item.(map[string]any); key == "" || one[key] == value {
				edit(t, one)
				return
			}
		}
		t.Fatalf("%v has no item with %s %s", path, key, value)
	}
}

// inUnit edits the text of the kubelet's unit.
func inUnit(edit func(string) string) editor {
	return inItem([]string{"spec", "units"}, "name", kubeletUnit, func(_ *testing.T, unit map[string]any) {
		unit["content"] = edit(unit["content"].(string))
	})
}

// inKubelet edits the text of the kubelet's configuration.
func inKubelet(edit func(string) string) editor {
	return inItem([]string{"spec", "files"}, "path", kubeletPath, func(t *testing.T, file map[string]any) {
		inline := file["content"].(map[string]any)["inline"].(map[string]any)
		inline["data"] = base64.StdEncoding.EncodeToString([]byte(edit(decodeInline(t, inline))))
	})
}

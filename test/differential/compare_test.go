// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener/pkg/client/kubernetes"
)

// aspect is the compared property of an object.
type aspect string

const (
	// denied: the object is not admitted at all.
	denied aspect = "denied"
	// field is a field that the Go type of the object has.
	field aspect = "field"
	// unknown is a field that the Go type of the object does not have.
	unknown aspect = "unknown field"
	// flags are the flags of a command line without their order, and flagOrder the command line unchanged.
	flags     aspect = "flags"
	flagOrder aspect = "order of flags"
	// options are the options of a systemd unit without their order, as go-systemd reads them; optionOrder is their
	// order.
	options     aspect = "unit options"
	optionOrder aspect = "order of unit options"
	// comment is the comments in a unit or in the kubelet's configuration.
	comment aspect = "comments"
	// kubeletField and kubeletUnknown are fields of the kubelet's configuration, which its type has or does not have.
	kubeletField   aspect = "kubelet field"
	kubeletUnknown aspect = "unknown kubelet field"
)

// orderOf says which aspects are compared only where the members are the same.
var orderOf = map[aspect]aspect{flagOrder: flags, optionOrder: options}

// at is an aspect of a part of an object.
type at struct {
	aspect aspect
	place  string
}

// delta is the difference of the two results: of values with several lines the lines of one side only, and of an order
// the lines from the first to the last moved one.
type delta struct {
	at

	gardener, graft string
}

func (d delta) String() string {
	return fmt.Sprintf("%s at %s\n  gardener: %q\n  graft:    %q", d.aspect, d.place, d.gardener, d.graft)
}

// compare finds the differences in meaning of two results for an object.
func compare(t *testing.T, gardener, graft outcome) []delta {
	t.Helper()
	ours, theirs := meaning(t, graft), meaning(t, gardener)
	var found []delta
	for _, key := range slices.SortedFunc(maps.Keys(union(ours, theirs)), func(a, b at) int {
		return cmp.Or(cmp.Compare(a.aspect, b.aspect), cmp.Compare(a.place, b.place))
	}) {
		members, isOrder := orderOf[key.aspect]
		same := at{members, key.place}
		// Where an object is denied, the rest of it is not compared.
		if ours[key] == theirs[key] || (isOrder && ours[same] != theirs[same]) ||
			(key.aspect != denied && gardener.denied+graft.denied != "") {
			continue
		}
		d := delta{at: key, gardener: onlyIn(theirs[key], ours[key]), graft: onlyIn(ours[key], theirs[key])}
		if isOrder {
			d.gardener, d.graft = between(theirs[key], ours[key]), between(ours[key], theirs[key])
		}
		found = append(found, d)
	}
	return found
}

func union(a, b map[at]string) map[at]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// onlyIn are the lines of a that b does not have as often.
func onlyIn(a, b string) string {
	rest := strings.Split(b, "\n")
	var out []string
	for _, line := range strings.Split(a, "\n") {
		if i := slices.Index(rest, line); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// between is a without the lines that it begins and ends with as b does.
func between(a, b string) string {
	ours, theirs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for len(ours) > 0 && len(theirs) > 0 && ours[0] == theirs[0] {
		ours, theirs = ours[1:], theirs[1:]
	}
	for len(ours) > 0 && len(theirs) > 0 && ours[len(ours)-1] == theirs[len(theirs)-1] {
		ours, theirs = ours[:len(ours)-1], theirs[:len(theirs)-1]
	}
	return strings.Join(ours, "\n")
}

// meaning takes an object apart: through its Go type, and where it holds a command line, a unit or the kubelet's
// configuration, through the type of that.
func meaning(t *testing.T, o outcome) map[at]string {
	t.Helper()
	out := map[at]string{}
	if o.denied != "" {
		out[at{aspect: denied}] = o.denied
		return out
	}
	raw, typed := trees(t, o.object)
	takeCommandLines(typed, out)
	takeCommandLines(raw, map[at]string{})
	takeNode(t, typed, out)
	takeNode(t, raw, map[at]string{})
	addTree(out, field, unknown, raw, typed)
	return out
}

// trees returns the object as it is, and as its Go type decodes it.
func trees(t *testing.T, object []byte) (raw, typed map[string]any) {
	t.Helper()
	raw = tree(t, object)
	gvk := schema.FromAPIVersionAndKind(raw["apiVersion"].(string), raw["kind"].(string))
	into, err := kubernetes.SeedScheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	return raw, through(t, object, into)
}

func through(t *testing.T, object []byte, into runtime.Object) map[string]any {
	t.Helper()
	if err := json.Unmarshal(object, into); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(into)
	if err != nil {
		t.Fatal(err)
	}
	return tree(t, encoded)
}

func tree(t *testing.T, object []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(object, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// addTree adds the leaves of typed under known, and those that only raw has under other.
func addTree(out map[at]string, known, other aspect, raw, typed map[string]any) {
	fields, all := map[string]string{}, map[string]string{}
	leaves(fields, "", typed)
	leaves(all, "", raw)
	for place, value := range fields {
		out[at{known, place}] = value
	}
	for place, value := range all {
		if _, ok := fields[place]; !ok {
			out[at{other, place}] = value
		}
	}
}

// leaves flattens a tree. Items of lists of objects are named by their key where they have one; null is as good as
// absent.
func leaves(out map[string]string, place string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			leaves(out, strings.TrimPrefix(place+"."+key, "."), member)
		}
		if len(value) == 0 {
			out[place] = "{}"
		}
	case []any:
		for i, item := range value {
			leaves(out, place+"["+itemName(item, i)+"]", item)
		}
	case nil:
	default:
		out[place] = fmt.Sprint(value)
	}
}

func itemName(item any, i int) string {
	object, ok := item.(map[string]any)
	if !ok {
		return strconv.Itoa(i)
	}
	for _, key := range []string{"name", "path", "containerName"} {
		if name, ok := object[key].(string); ok {
			return name
		}
	}
	return strconv.Itoa(i)
}

// takeCommandLines takes command and args out of the containers, as the one list that the process sees.
func takeCommandLines(object map[string]any, out map[at]string) {
	pod, _ := find(object, "spec", "template", "spec").(map[string]any)
	containers, _ := pod["containers"].([]any)
	for _, item := range containers {
		container := item.(map[string]any)
		var line []string
		for _, member := range []string{"command", "args"} {
			list, _ := container[member].([]any)
			for _, token := range list {
				line = append(line, token.(string))
			}
			delete(container, member)
		}
		addCommandLine(out, fmt.Sprint("container ", container["name"]), line)
	}
}

func addCommandLine(out map[at]string, place string, line []string) {
	out[at{flagOrder, place}] = strings.Join(line, "\n")
	out[at{flags, place}] = strings.Join(slices.Sorted(slices.Values(line)), "\n")
}

func find(object map[string]any, path ...string) any {
	for _, key := range path[:len(path)-1] {
		object, _ = object[key].(map[string]any)
	}
	return object[path[len(path)-1]]
}

// takeNode takes the units and the kubelet's configuration out of an OperatingSystemConfig.
func takeNode(t *testing.T, object map[string]any, out map[at]string) {
	t.Helper()
	if object["kind"] != "OperatingSystemConfig" {
		return
	}
	units, _ := find(object, "spec", "units").([]any)
	for _, item := range units {
		one := item.(map[string]any)
		if content, ok := one["content"].(string); ok {
			addUnit(t, out, one["name"].(string), content)
			delete(one, "content")
		}
	}
	files, _ := find(object, "spec", "files").([]any)
	for _, item := range files {
		one := item.(map[string]any)
		inline, _ := find(one, "content", "inline").(map[string]any)
		if one["path"] == kubeletPath && inline != nil {
			addKubelet(t, out, decodeInline(t, inline))
			delete(inline, "data")
		}
	}
}

func addKubelet(t *testing.T, out map[at]string, text string) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	addTree(out, kubeletField, kubeletUnknown, tree(t, raw), through(t, raw, &kubeletFile{}))
	addComments(out, kubeletPath, text)
}

// kubeletFile is the kubelet's configuration without the defaults that the kubelet sets.
type kubeletFile struct {
	kubeletconfigv1beta1.KubeletConfiguration
}

// addComments adds the comment lines of units and YAML, without indentation.
func addComments(out map[at]string, place, text string) {
	var comments []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			comments = append(comments, line)
		}
	}
	if len(comments) > 0 {
		out[at{comment, place}] = strings.Join(comments, "\n")
	}
}

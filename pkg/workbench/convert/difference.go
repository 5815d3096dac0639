// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
)

// differ collects the entries of one object. It deletes compared parts from before and after, so that the last step
// compares the rest.
type differ struct {
	subject       *subject
	owner         *target.Target
	before, after tree
	entries       []*entry
}

// differences returns the entries that turn one state of an object into another.
func differences(before, after tree, s *subject) []*entry {
	d := &differ{subject: s, owner: s.target, before: runtime.DeepCopyJSON(before), after: runtime.DeepCopyJSON(after)}
	forget(d.before)
	forget(d.after)
	if s.form.Kind == "Secret" {
		for _, field := range []string{"data", "stringData"} {
			delete(d.before, field)
			delete(d.after, field)
		}
	}
	if s.form.Kind == "OperatingSystemConfig" {
		d.node()
	}
	d.texts("labels", "metadata", "labels")
	d.texts("annotations", "metadata", "annotations")
	if s.form.Has(target.PodTemplate) {
		d.texts("podLabels", "spec", "template", "metadata", "labels")
		d.texts("podAnnotations", "spec", "template", "metadata", "annotations")
		d.pods()
	}
	if s.form.Kind == "Etcd" {
		d.storage("class", "storageClass")
		d.storage("capacity", "storageCapacity")
	}
	if s.form.Kind == "StatefulSet" && s.form.Has(target.Storage) {
		d.claims()
	}
	if s.form.Has(target.ContainerPolicies) {
		d.policies()
	}
	if s.form.Kind == "ConfigMap" {
		d.data()
	}
	d.fields("fields", nil, d.before, d.after)
	for _, e := range d.entries {
		e.in = []*subject{s}
		if s.purpose != "" {
			e.purposes = []string{s.purpose}
		}
	}
	return d.entries
}

func (d *differ) add(operation string, fixed []argument, value any, path ...string) {
	d.entries = append(d.entries, &entry{owner: d.owner, operation: operation, fixed: fixed, path: path, value: value})
}

// remove adds the removal of a name.
func (d *differ) remove(operation string, fixed []argument, name string) {
	d.add(operation, fixed, name, "remove", item)
}

// forget deletes parts written by kube-apiserver and controllers, defaults of containers, and annotations derived from
// volumes.
func forget(t tree) {
	drop(t, "status")
	for _, list := range []string{"containers", "initContainers"} {
		forgetDefaults(treeAt(t, podSpec...)[list])
	}
	for _, field := range []string{"resourceVersion", "generation", "managedFields", "creationTimestamp", "uid", "selfLink"} {
		drop(t, "metadata", field)
	}
	for _, path := range [][]string{{"metadata"}, {"spec", "template", "metadata"}} {
		annotations := treeAt(t, append(path, "annotations")...)
		for key := range annotations {
			if strings.HasPrefix(key, target.ReferencePrefix) || strings.HasPrefix(key, "graft.provider.extensions.gardener.cloud/") ||
				key == "kubectl.kubernetes.io/last-applied-configuration" || key == "deployment.kubernetes.io/revision" {
				delete(annotations, key)
			}
		}
	}
}

// named adds an entry for each name that has another value or none.
func (d *differ) named(operation string, before, after tree, prefix ...string) {
	for _, name := range union(after, before) {
		switch value, has := after[name]; {
		case has && equal(before[name], value):
		case !has:
			d.add(operation, nil, name, append(slices.Clone(prefix), "remove", item)...)
		default:
			d.add(operation, nil, value, append(slices.Clone(prefix), "set", name)...)
		}
	}
}

// gates adds an entry for each feature gate that differs; null removes one.
func (d *differ) gates(before, after tree) {
	for _, name := range union(after, before) {
		if !equal(before[name], after[name]) {
			d.add("featureGates", nil, after[name], name)
		}
	}
}

// texts compares labels or annotations.
func (d *differ) texts(operation string, path ...string) {
	d.named(operation, treeAt(d.before, path...), treeAt(d.after, path...))
	drop(d.before, path...)
	drop(d.after, path...)
}

// storage compares a field of an Etcd that the operation storage writes.
func (d *differ) storage(argument, field string) {
	was, is := at(d.before, "spec", field), at(d.after, "spec", field)
	if is == nil {
		return
	}
	if !sameQuantity(was, is) {
		d.add("storage", nil, is, argument)
	}
	drop(d.before, "spec", field)
	drop(d.after, "spec", field)
}

// sameQuantity reports whether two values are equal, or the same quantity in different spellings.
func sameQuantity(a, b any) bool {
	if equal(a, b) {
		return true
	}
	x, err := resource.ParseQuantity(scalarText(a))
	y, errB := resource.ParseQuantity(scalarText(b))
	return err == nil && errB == nil && x.Cmp(y) == 0
}

// claims compares the volume claims of a StatefulSet: class and capacity of the one that the operation storage writes.
func (d *differ) claims() {
	find := func(t tree) tree {
		items, _ := at(t, "spec", "volumeClaimTemplates").([]any)
		i := slices.IndexFunc(items, func(claim any) bool { return textAt(claim, "metadata", "name") == d.subject.object.Name })
		if i < 0 {
			return nil
		}
		return treeAt(items[i], "spec")
	}
	before, after := find(d.before), find(d.after)
	if before == nil || after == nil {
		return
	}
	for argument, path := range map[string][]string{"class": {"storageClassName"}, "capacity": {"resources", "requests", "storage"}} {
		if is := at(after, path...); is != nil && !sameQuantity(at(before, path...), is) {
			d.add("storage", nil, is, argument)
			drop(before, path...)
			drop(after, path...)
		}
	}
}

// policies compares the policies of a VerticalPodAutoscaler for containers.
func (d *differ) policies() {
	path := []string{"spec", "resourcePolicy", "containerPolicies"}
	before, after := treeAt(d.before, path[:2]...), treeAt(d.after, path[:2]...)
	l, ok := listsOf(before, after, path[2], "containerName")
	if !ok {
		return
	}
	d.removed("containerPolicies", nil, l)
	for _, name := range l.afterNames {
		switch {
		case l.before[name] != nil:
			d.merged("containerPolicies", name, itemPath(path, "containerName", name), l.before[name], l.after[name])
		case !d.sidecar(name, nil):
			d.add("containerPolicies", nil, but(l.after[name], "containerName"), "set", name)
		}
	}
	delete(before, path[2])
	delete(after, path[2])
}

// itemPath returns the path of a named item of a list.
func itemPath(list []string, key, name string) fieldpath.Path {
	var path fieldpath.Path
	for _, member := range list {
		path = path.With(member)
	}
	return append(path, fieldpath.Step{Key: name, By: key, Quoted: !plainItem(name)})
}

// lists holds the named items of a list before and after, and their names in order.
type lists struct {
	before, after           map[string]tree
	beforeNames, afterNames []string
}

// listsOf returns the items of a field by a member, or false if the member does not distinguish them.
func listsOf(before, after tree, field, key string) (l lists, ok bool) {
	var also bool
	l.before, l.beforeNames, ok = keyed(before[field], key)
	l.after, l.afterNames, also = keyed(after[field], key)
	return l, ok && also
}

// removed adds the removal of each item that is missing after.
func (d *differ) removed(operation string, fixed []argument, l lists) {
	for _, name := range l.beforeNames {
		if l.after[name] == nil {
			d.remove(operation, fixed, name)
		}
	}
}

// podSpec is the path of a workload's pods.
var podSpec = []string{"spec", "template", "spec"}

// pods compares containers and volumes. Fields of containers without an operation remain for fields.
func (d *differ) pods() {
	before, after := treeAt(d.before, podSpec...), treeAt(d.after, podSpec...)
	l, ok := listsOf(before, after, "containers", "name")
	if before == nil || after == nil || !ok {
		return
	}
	d.removed("containers", nil, l)
	for _, name := range l.afterNames {
		switch {
		case l.before[name] != nil:
			d.commandLine(name, l.before[name], l.after[name])
			d.environment(name, l.before[name], l.after[name])
		case l.after[name]["image"] == nil || !d.sidecar(name, l.after[name]):
			d.add("containers", nil, but(l.after[name], "name"), "set", name)
		}
	}
	d.volumes(before, after, l)
	for _, name := range l.afterNames {
		if l.before[name] != nil {
			d.container(name, l.before[name], l.after[name])
		}
	}
	delete(before, "containers")
	delete(after, "containers")
}

// sidecarPrefix begins the name of the container that a provider adds to the machine-controller-manager.
const sidecarPrefix = "machine-controller-manager-provider-"

// sidecar proposes a provider's new sidecar with its image and its mounts, except that of the kubeconfig, or without a
// container only its policy. It reports whether the name is one of a sidecar.
func (d *differ) sidecar(name string, container tree) bool {
	provider, isSidecar := strings.CutPrefix(name, sidecarPrefix)
	if !isSidecar || !d.owner.Has(target.ProviderSidecar) {
		return false
	}
	value, mounts := tree{"provider": provider}, tree{}
	if container != nil {
		value["image"] = container["image"]
	}
	items, _ := container["volumeMounts"].([]any)
	for _, mount := range items {
		if name := textAt(mount, "name"); name != "kubeconfig" {
			mounts[name] = but(mount.(tree), "name")
		}
	}
	if len(mounts) > 0 {
		value["volumeMounts"] = mounts
	}
	d.add("machineControllerManagerProvider", nil, value)
	return true
}

// container compares the fields of a container. The operation containers merges them, and fields removes them.
func (d *differ) container(name string, before, after tree) {
	var added []any
	mounts, _ := before["volumeMounts"].([]any)
	wanted, _ := after["volumeMounts"].([]any)
	for _, mount := range wanted {
		if !slices.ContainsFunc(mounts, func(other any) bool { return equal(mount, other) }) {
			added = append(added, mount)
		}
	}
	if len(added) > 0 {
		d.add("containers", nil, added, "set", name, "volumeMounts")
	}
	path := itemPath(append(slices.Clone(podSpec), "containers"), "name", name)
	if len(added) == 0 && len(wanted) < len(mounts) {
		d.remove("fields", nil, path.With("volumeMounts").String())
	}
	d.merged("containers", name, path, but(before, "name", "volumeMounts"), but(after, "name", "volumeMounts"))
}

// merged compares the members of a named item, which an operation merges and only fields removes.
func (d *differ) merged(operation, name string, item fieldpath.Path, before, after tree) {
	members := comparison{
		set: func(p fieldpath.Path, value any) {
			d.add(operation, nil, value, append([]string{"set", name}, p.Keys()...)...)
		},
		remove: func(p fieldpath.Path) { d.remove("fields", nil, append(item[:len(item):len(item)], p...).String()) },
	}
	members.compare(nil, before, after)
}

func (d *differ) containerArgument(name string) []argument {
	if name == d.owner.Container {
		return nil
	}
	return []argument{{"container", name}}
}

// environment compares environment variables by their names.
func (d *differ) environment(container string, before, after tree) {
	l, ok := listsOf(before, after, "env", "name")
	if !ok {
		return
	}
	fixed := d.containerArgument(container)
	d.removed("env", fixed, l)
	for _, name := range l.afterNames {
		from := treeAt(l.after[name], "valueFrom")
		switch {
		case equal(l.before[name], l.after[name]):
		case from != nil:
			d.add("env", fixed, from, "set", name)
		default:
			d.add("env", fixed, textAt(l.after[name], "value"), "set", name)
		}
	}
	delete(before, "env")
	delete(after, "env")
}

// volumes compares volumes. A removed one takes its mounts with it.
func (d *differ) volumes(before, after tree, containers lists) {
	l, ok := listsOf(before, after, "volumes", "name")
	if !ok {
		return
	}
	d.removed("volumes", nil, l)
	for _, name := range l.beforeNames {
		if l.after[name] == nil {
			for _, container := range containers.before {
				withoutMounts(container, name)
			}
		}
	}
	for _, name := range l.afterNames {
		if !equal(l.before[name], l.after[name]) {
			d.add("volumes", nil, but(l.after[name], "name"), "set", name)
		}
	}
	delete(before, "volumes")
	delete(after, "volumes")
}

// withoutMounts deletes the mounts of a volume from a container.
func withoutMounts(container tree, volume string) {
	items, _ := container["volumeMounts"].([]any)
	left := slices.DeleteFunc(slices.Clone(items), func(item any) bool { return textAt(item, "name") == volume })
	if len(left) == 0 {
		delete(container, "volumeMounts")
		return
	}
	container["volumeMounts"] = left
}

// commandLine compares the flags of a container; other arguments are left for fields.
func (d *differ) commandLine(name string, before, after tree) {
	was, is := commandOf(before), commandOf(after)
	if was == nil || is == nil || !slices.Equal(was.Program(), is.Program()) {
		return
	}
	d.flags(name == d.owner.Container, d.containerArgument(name), flagsIn(&was.FlagList), flagsIn(&is.FlagList))
	for _, member := range []string{"command", "args"} {
		delete(before, member)
		delete(after, member)
	}
}

// commandOf reads the command line of a container; nil where it is not one of flags.
func commandOf(container tree) *commandline.CommandLine {
	words := tree{"command": []any{}, "args": []any{}}
	for list := range words {
		if value, ok := container[list]; ok {
			words[list] = value
		}
	}
	parsed, err := document.Parse(rawOf(words))
	if err != nil {
		return nil
	}
	line, err := commandline.CommandLineOf(parsed.Root())
	if err != nil {
		return nil
	}
	return line
}

// flagValue holds the values of a flag, none for one without a value.
type flagValue struct {
	values []string
	bare   bool
}

func flagsIn(list *commandline.FlagList) map[string]flagValue {
	flags := map[string]flagValue{}
	for _, name := range list.Names() {
		flags[name] = flagValue{values: list.Values(name), bare: list.Bare(name)}
	}
	return flags
}

// joined returns the entries of a flag that may be repeated.
func (v flagValue) joined() string { return strings.Join(v.values, ",") }

// Flags with lists of feature gates and admission plugins, which have their own operations.
const (
	gatesFlag   = "feature-gates"
	enableFlag  = "enable-admission-plugins"
	disableFlag = "disable-admission-plugins"
)

// flags compares flags; own reports that they are the component's.
func (d *differ) flags(own bool, fixed []argument, before, after map[string]flagValue) {
	if own {
		d.gates(mapIn(before[gatesFlag]), mapIn(after[gatesFlag]))
		d.plugins(before, after)
	}
	for _, name := range union(after, before) {
		was := before[name]
		is, has := after[name]
		history, _ := kubeflags.Flag(d.owner.Component, name)
		switch {
		case has && equal(was, is), own && (name == gatesFlag || name == enableFlag || name == disableFlag):
		case !has:
			d.remove("flags", fixed, name)
		case own && strings.HasPrefix(history.Type, "map") && len(was.values) == 1 && len(is.values) == 1:
			d.named("mapFlags", mapIn(was), mapIn(is), name)
		case is.bare:
			d.add("flags", fixed, nil, "set", name)
		default:
			d.add("flags", fixed, texts(is.values), "set", name)
		}
	}
}

// mapIn returns the entries of a flag with a map, with true and false as such.
func mapIn(flag flagValue) tree {
	entries := tree{}
	for key, value := range commandline.MapValue(flag.joined()).Entries() {
		entries[key] = value
		if value == "true" || value == "false" {
			entries[key] = value == "true"
		}
	}
	return entries
}

// plugins compares the two lists of admission plugins.
func (d *differ) plugins(before, after map[string]flagValue) {
	state := func(flags map[string]flagValue) map[string]string {
		states := map[string]string{}
		for list, flag := range map[string]string{"enable": enableFlag, "disable": disableFlag} {
			for _, plugin := range commandline.ListValue(flags[flag].joined()).Items() {
				states[plugin] = list
			}
		}
		return states
	}
	was, is := state(before), state(after)
	for _, plugin := range union(is, was) {
		switch list := is[plugin]; {
		case was[plugin] == list || plugin == "":
		case list == "":
			d.add("admissionPlugins", nil, plugin, "default", item)
		default:
			d.add("admissionPlugins", nil, plugin, list, item)
		}
	}
}

// data compares the documents in a ConfigMap.
func (d *differ) data() {
	was, is := treeAt(d.before, "data"), treeAt(d.after, "data")
	for _, key := range union(is, was) {
		before, after := textAt(was, key), textAt(is, key)
		fixed := []argument{{"at", fieldpath.Path{}.With("data").With(key).String()}}
		if before != after && d.document(fixed, before, after, strings.HasSuffix(key, ".json")) {
			delete(was, key)
			delete(is, key)
		}
	}
}

// document compares the fields of a YAML document inside the object; false where one of the texts is none.
func (d *differ) document(fixed []argument, before, after string, isJSON bool) bool {
	was, ok := yamlTree(before)
	is, isOk := yamlTree(after)
	if !ok || !isOk {
		return false
	}
	if isJSON {
		fixed = append(fixed, argument{"format", "json"})
	}
	d.fields("document", fixed, was, is)
	return true
}

// fields compares all fields that no other operation writes.
func (d *differ) fields(operation string, fixed []argument, before, after tree) {
	c := comparison{
		set:    func(p fieldpath.Path, value any) { d.add(operation, fixed, value, "set", p.String()) },
		remove: func(p fieldpath.Path) { d.remove(operation, fixed, p.String()) },
		items:  true,
	}
	c.compare(nil, before, after)
}

// texts returns one text, or a list of several.
func texts(values []string) any {
	if len(values) == 1 {
		return values[0]
	}
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list
}

// scalarText returns a scalar as text.
func scalarText(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	default:
		return fmt.Sprint(value)
	}
}

// comparison calls set and remove for the differing fields of two values, with paths in the form of operations.
type comparison struct {
	set    func(fieldpath.Path, any)
	remove func(fieldpath.Path)
	// items reports that paths may lead to items of lists; lists are set whole otherwise.
	items bool
}

func (c comparison) compare(p fieldpath.Path, before, after any) {
	was, wasTree := before.(tree)
	is, isTree := after.(tree)
	old, wasList := before.([]any)
	items, isList := after.([]any)
	switch {
	case same(p, before, after):
	case wasTree && isTree && (len(is) > 0 || len(p) == 0):
		for _, key := range union(is, was) {
			_, had := was[key]
			switch now, has := is[key]; {
			case !has:
				c.remove(p.With(key))
			case !had:
				c.set(p.With(key), now)
			default:
				c.compare(p.With(key), was[key], now)
			}
		}
	case wasList && isList && c.list(p, old, items):
	case wasTree && isTree:
		// A mapping is merged, so an empty one would change nothing.
		for _, key := range union(was, nil) {
			c.remove(p.With(key))
		}
	case wasTree:
		c.remove(p)
		c.set(p, after)
	default:
		c.set(p, after)
	}
}

// same reports whether two values at a path mean the same.
func same(p fieldpath.Path, before, after any) bool {
	return equal(before, after) || isQuantity(p) && sameQuantity(before, after)
}

// isQuantity reports whether a path leads to an amount of a resource.
func isQuantity(p fieldpath.Path) bool {
	return len(p) > 1 && slices.Contains([]string{"requests", "limits", "minAllowed", "maxAllowed"}, p[len(p)-2].Key)
}

// itemKeys lists the members that identify items of lists.
var itemKeys = []string{"name", "path", "containerName", "mountPath", "key", "host", "id"}

// list compares lists of named items. It returns false if items have no names or a different order.
func (c comparison) list(p fieldpath.Path, before, after []any) bool {
	for _, key := range itemKeys {
		was, order, ok := keyed(before, key)
		is, now, isOk := keyed(after, key)
		if !ok || !isOk || len(was) == 0 || len(is) == 0 {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(order), func(name string) bool { return is[name] == nil })
		same := len(now) == len(order) && len(now) == len(left)
		if !same && (len(now) < len(left) || !slices.Equal(left, now[:len(left)])) {
			return false
		}
		step := func(name string) fieldpath.Path {
			return append(p[:len(p):len(p)], fieldpath.Step{Key: name, By: key, Quoted: !plainItem(name)})
		}
		for _, name := range order {
			if is[name] == nil {
				c.remove(step(name))
			}
		}
		if !c.items {
			c.set(p, after)
			return true
		}
		for _, name := range now {
			if was[name] == nil {
				c.set(step(name), but(is[name], key))
				continue
			}
			c.compare(step(name), was[name], is[name])
		}
		return true
	}
	return false
}

// plainItem reports whether a name needs no quotes in [name=…].
func plainItem(name string) bool {
	parsed, err := fieldpath.Parse("x[name=" + name + "]")
	if err != nil || len(parsed) != 2 || parsed[1].Key != name || parsed[1].Quoted || name == "true" || name == "false" {
		return false
	}
	return slices.ContainsFunc([]rune(name), func(c rune) bool { return (c < '0' || c > '9') && c != '-' })
}

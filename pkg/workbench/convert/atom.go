// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// atom is one argument of one operation: the least that a rule can say of a difference.
type atom struct {
	owner     *target.Target
	operation string
	// fixed are the arguments that say what of the object is meant, such as the container.
	fixed []argument
	// path is where among the arguments the value stands; empty: the value is all arguments; "[]" at its end: an item of a list.
	path []string
	// value is JSON; nil is null.
	value any
	// plain says that the value is a name, and no expression.
	plain bool
	// notes are comments on the rule.
	notes []string
}

type argument struct{ name, value string }

// item is the last step of a path to a list.
const item = "[]"

// group is what atoms have in common that can be one rule.
func (a *atom) group() string {
	return strings.Join([]string{a.owner.Name, formName(a.owner), a.operation, fmt.Sprint(a.fixed)}, "\x00")
}

// place is what the atom writes.
func (a *atom) place() string {
	place := a.group() + "\x00" + strings.Join(a.path, "\x00")
	switch {
	case a.whole():
		place += "\x00" + a.subject()
	case a.path[len(a.path)-1] == item:
		place += "\x00" + string(rawOf(a.value))
	}
	return place
}

// subject is what an atom that is a rule of its own is about: the path of a file, the provider of a sidecar, the place of a patch.
func (a *atom) subject() string {
	if steps, ok := a.value.([]any); ok && len(steps) > 0 {
		return textAt(steps[len(steps)-1], "path")
	}
	return textAt(a.value, "path") + textAt(a.value, "provider")
}

// whole says that the atom is a rule of its own.
func (a *atom) whole() bool { return len(a.path) == 0 }

// formName tells targets of other objects apart, which have several versions of a kind.
func formName(t *target.Target) string {
	if !t.Other {
		return ""
	}
	return t.Forms[0].Group + "/" + t.Forms[0].Version
}

// differ finds the atoms of one object. What it has found it takes out of before and after, so that the last steps see the rest.
type differ struct {
	subject       *subject
	owner         *target.Target
	before, after tree
	atoms         []*atom
	// left says why a difference is left alone.
	left []string
}

// diff finds the atoms of an object.
func diff(s *subject, sidecar sidecarHook) *differ {
	d := &differ{subject: s, owner: s.target, before: clone(s.before).(tree), after: clone(s.after).(tree)}
	forget(d.before)
	forget(d.after)
	if s.form.Kind == "Secret" && s.form.Group == "" {
		d.secret()
	}
	if s.form.Kind == "OperatingSystemConfig" {
		d.node()
	}
	d.metadata()
	if s.form.Has(target.PodTemplate) {
		d.pods(sidecar)
	}
	if s.form.Has(target.Storage) {
		d.storage()
	}
	if s.form.Has(target.ServiceSpec) {
		d.service()
	}
	if s.form.Has(target.ContainerPolicies) {
		d.policies()
	}
	d.texts()
	d.rest()
	return d
}

// add adds an atom for the target of the differ.
func (d *differ) add(operation string, fixed []argument, value any, path ...string) *atom {
	a := &atom{owner: d.owner, operation: operation, fixed: fixed, path: path, value: value}
	d.atoms = append(d.atoms, a)
	return a
}

// leave notes once why a difference is left alone.
func (d *differ) leave(why string) {
	if !slices.Contains(d.left, why) {
		d.left = append(d.left, why)
	}
}

// remove adds the removal of a name.
func (d *differ) remove(operation string, fixed []argument, name string) {
	d.add(operation, fixed, name, "remove", item).plain = true
}

// forget takes out what the API server keeps for itself, and what follows by itself from what rules do.
func forget(t tree) {
	drop(t, "status")
	for _, field := range serverFields {
		drop(t, "metadata", field)
	}
	for _, path := range [][]string{{"metadata"}, {"spec", "template", "metadata"}} {
		annotations := treeAt(t, append(path, "annotations")...)
		for key := range annotations {
			if ignoredAnnotation(key) {
				delete(annotations, key)
			}
		}
	}
}

var serverFields = []string{"resourceVersion", "generation", "managedFields", "creationTimestamp", "uid", "selfLink"}

// ignoredAnnotation says whether an annotation is written by those who keep objects: the reference annotations follow from the
// volumes, and the others are of kubectl, the controllers of workloads and Graft itself.
func ignoredAnnotation(key string) bool {
	return strings.HasPrefix(key, target.ReferencePrefix) || strings.HasPrefix(key, "graft.provider.extensions.gardener.cloud/") ||
		key == "kubectl.kubernetes.io/last-applied-configuration" || key == "deployment.kubernetes.io/revision"
}

// metadata are labels and annotations of the object and of its pods.
func (d *differ) metadata() {
	d.texted("labels", "metadata", "labels")
	d.texted("annotations", "metadata", "annotations")
	if d.subject.form.Has(target.PodTemplate) {
		d.texted("podLabels", "spec", "template", "metadata", "labels")
		d.texted("podAnnotations", "spec", "template", "metadata", "annotations")
	}
}

// texted compares a map of texts.
func (d *differ) texted(operation string, path ...string) {
	before, after := treeAt(d.before, path...), treeAt(d.after, path...)
	for _, key := range union(after, before) {
		was, had := before[key]
		is, has := after[key]
		switch {
		case had == has && equal(was, is):
		case !has:
			d.remove(operation, nil, key)
		case operation == "podAnnotations" && d.checksum(key, scalarText(is)):
		default:
			d.add(operation, nil, is, "set", key)
		}
	}
	drop(d.before, path...)
	drop(d.after, path...)
}

var (
	checksumKey   = regexp.MustCompile(`^checksum/(secret|configmap)-(.+)$`)
	checksumValue = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// checksum proposes checksumAnnotations where the annotation is that of a Secret or ConfigMap which is there; false elsewhere, with a
// note where the object would have to be there.
func (d *differ) checksum(key, value string) bool {
	match := checksumKey.FindStringSubmatch(key)
	if match == nil || !checksumValue.MatchString(value) {
		return false
	}
	request, argument := facts.LookupRequest{GroupVersionKind: facts.Secret, ObjectName: match[2], Checksum: true}, "secret"
	if match[1] == "configmap" {
		request.GroupVersionKind, argument = facts.ConfigMap, "configMap"
	}
	found, err := (&facts.Static{Objects: d.subject.from.Present}).Lookup(context.Background(), d.subject.object.Namespace, request)
	if err != nil || found == nil || found.Checksum != value {
		a := d.add("podAnnotations", nil, value, "set", key)
		a.notes = append(a.notes, "this looks like a checksum; with the "+request.Kind+" among the manifests, it would be checksumAnnotations: "+
			"{set: {"+key+": {"+argument+": "+match[2]+"}}}")
		return true
	}
	d.add("checksumAnnotations", nil, tree{argument: match[2]}, "set", key).plain = true
	return true
}

// secret leaves the data of a Secret alone: they have no place in a profile.
func (d *differ) secret() {
	for _, field := range []string{"data", "stringData"} {
		if !equal(d.before[field], d.after[field]) {
			d.left = append(d.left, field+" of a Secret differs; what is secret has no place in a profile, rules get it by a lookup")
		}
		delete(d.before, field)
		delete(d.after, field)
	}
}

// rest is what no other operation knows.
func (d *differ) rest() {
	f := fieldDiff{set: func(p fieldpath.Path, value any) { d.add("fields", nil, value, "set", p.String()) },
		remove: func(p fieldpath.Path) { d.remove("fields", nil, p.String()) }}
	f.compare(nil, d.before, d.after)
}

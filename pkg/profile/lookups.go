// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// lookup validates a lookup, except its paths and expressions.
func (v *validator) lookup(name string, l v1alpha1.Lookup) {
	path := "lookups." + name
	named := selectingFields(l)
	if len(named) == 0 {
		v.add(source.ExclusiveFields, path, "names no object: one of secret, configMap, infrastructure, backupBucket and object is needed")
		return
	}
	if len(named) > 1 {
		v.add(source.ExclusiveFields, path, "a lookup reads one object, this one names %s and %s", named[0], named[1])
		return
	}
	if l.Object != nil {
		v.object(path+".object", *l.Object)
	}
	if len(l.Keys)+len(l.Paths)+len(l.Labels)+len(l.Annotations) == 0 && !l.Checksum {
		v.add(source.MissingField, path, "selects nothing to read: add keys, paths, labels, annotations or checksum; only selected parts are read and kept")
	}
	if hasData := named[0] == "secret" || named[0] == "configMap"; !hasData {
		if len(l.Keys) > 0 {
			v.add(source.UnknownField, path+".keys", "only a Secret or ConfigMap has keys; read fields of other objects, such as paths: {nodes: status.nodesCIDR}")
		}
		if l.Checksum {
			v.add(source.UnknownField, path+".checksum", "only a Secret or ConfigMap has a checksum")
		}
	}
	v.checkNames(name, l)
}

// selectingFields returns the fields of the lookup that select its object.
func selectingFields(l v1alpha1.Lookup) []string {
	var named []string
	add := func(name string, given bool) {
		if given {
			named = append(named, name)
		}
	}
	add("secret", l.Secret.Value != "")
	add("configMap", l.ConfigMap.Value != "")
	add("infrastructure", l.Infrastructure.Value != "")
	add("backupBucket", l.BackupBucket.Value != "")
	add("object", l.Object != nil)
	return named
}

func (v *validator) object(path string, o v1alpha1.LookupObject) {
	for _, field := range [][2]string{{"apiVersion", o.APIVersion}, {"kind", o.Kind}, {"name", o.Name.Value}} {
		if field[1] == "" {
			v.add(source.MissingField, path, "%s is missing", field[0])
		}
	}
	group, err := schema.ParseGroupVersion(o.APIVersion)
	switch {
	case err != nil:
		v.add(source.WrongValue, path+".apiVersion", "%q is not an apiVersion, such as v1 or apps/v1", o.APIVersion)
	case group.Group == "" && o.Kind == "Secret":
		v.add(source.ExclusiveFields, path, "a Secret is looked up by secret: <name>")
	case group.Group == "" && o.Kind == "ConfigMap":
		v.add(source.ExclusiveFields, path, "a ConfigMap is looked up by configMap: <name>")
	}
}

// checkNames reports name conflicts between the results of a lookup, and duplicates.
func (v *validator) checkNames(name string, l v1alpha1.Lookup) {
	path, taken := "lookups."+name, map[string]string{}
	take := func(field, member, what string) {
		if earlier, ok := taken[member]; ok {
			v.add(source.DuplicateName, path+"."+field, "lookups.%s.%s is already %s", name, member, earlier)
		}
		taken[member] = what
	}
	if len(l.Labels) > 0 {
		take("labels", "labels", "the map of labels")
	}
	if len(l.Annotations) > 0 {
		take("annotations", "annotations", "the map of annotations")
	}
	if l.Checksum {
		take("checksum", "checksum", "the checksum")
	}
	for _, key := range l.Keys {
		take("keys", key, "a key")
	}
	for _, member := range slices.Sorted(maps.Keys(l.Paths)) {
		take("paths", member, "a key")
		if !source.IsIdentifier(member) {
			v.add(source.InvalidName, path+".paths."+member, "a name that expressions use must consist of letters, digits and _, and not begin with a digit")
		}
	}
	for field, list := range map[string][]string{"keys": l.Keys, "labels": l.Labels, "annotations": l.Annotations} {
		if slices.Contains(list, "") {
			v.add(source.InvalidName, path+"."+field, "a key must not be empty")
		}
	}
}

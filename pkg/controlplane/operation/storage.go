// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// storage defines the operation for the class and the capacity of an etcd's volumes, in an Etcd and in the older
// generation's StatefulSet. By default an existing etcd keeps its values, because neither can change: a StatefulSet's
// volumeClaimTemplates are immutable, and so is storageClass of an Etcd.
func storage() Definition {
	return Definition{
		Name:     "storage",
		Summary:  "sets class and capacity of an etcd's volumes; an existing etcd keeps its values, unless the rule has onUpdate: set",
		Example:  "storage: {class: gardener.cloud-fast, capacity: 25Gi}",
		Examples: []string{"storage: {class: \"fast-${ shoot.region }\"}"},
		Arguments: []Argument{
			{Name: "class", Type: anyText, Summary: "the StorageClass"},
			{Name: "capacity", Type: anyText, Summary: "the size, a quantity such as 25Gi"},
		},
		Parts:   target.Storage,
		Compile: compileStorage,

		KeepsByDefault: true,
	}
}

// The two fields of storage, and their places in an Etcd (etcd-druid api/core/v1alpha1, EtcdSpec).
const (
	storageClass    = "class"
	storageCapacity = "capacity"
)

var etcdFields = map[string]string{storageClass: "storageClass", storageCapacity: "storageCapacity"}

func compileStorage(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	var a struct {
		Class    source.Node `json:"class"`
		Capacity source.Node `json:"capacity"`
	}
	findings := source.Decode(arguments, path, &a)
	if a.Class.Absent() && a.Capacity.Absent() && len(findings) == 0 {
		findings = append(findings, arguments.Finding(path, "one of class and capacity is needed").Of(source.MissingField))
	}
	var writes []Write
	for _, name := range []string{storageClass, storageCapacity} {
		n := map[string]source.Node{storageClass: a.Class, storageCapacity: a.Capacity}[name]
		if n.Absent() {
			continue
		}
		value, problems := c.Text(n, path+"."+name)
		if constant, ok := value.Constant(); ok && name == storageCapacity {
			if _, err := resource.ParseQuantity(constant.Text()); err != nil {
				problems = append(problems, n.Finding(path+".capacity", "%q is not a quantity, such as 25Gi", constant.Text()).Of(source.WrongValue))
			}
		}
		findings = append(findings, problems...)
		writes = append(writes, Write{
			Place: Place{Kind: StorageField, Name: name}, Value: value, At: n, Path: path + "." + name,
			Apply: func(o *target.Object, v Resolved) error { return setStorage(o, name, v.Text()) },
			Keep:  func(o *target.Object) error { return keepStorage(o, name) },
		})
	}
	return writes, findings
}

// setStorage writes one field.
func setStorage(o *target.Object, field, value string) error {
	if _, err := resource.ParseQuantity(value); err != nil && field == storageCapacity {
		return fmt.Errorf("%w: the capacity is not a quantity", ErrValue)
	}
	return writeStorage(o, field, document.Quote(value))
}

// keepStorage restores a field from the old object. If the old object lacks it, a class is removed, and a capacity
// remains as Gardener writes it.
func keepStorage(o *target.Object, field string) error {
	if old := storageNode(o, o.Old.Original(), field); old != nil {
		return writeStorage(o, field, old.Raw())
	}
	if field == storageCapacity || storageNode(o, o.Document.Root(), field) == nil {
		return nil // etcd-druid requires no capacity of an Etcd, and gardenlet writes the one that it has
	}
	parent, member, err := storagePlace(o, field)
	if err != nil {
		return err
	}
	parent.Remove(member)
	return nil
}

// writeStorage writes a field as JSON. It keeps an equal quantity in another notation.
func writeStorage(o *target.Object, field string, wanted []byte) error {
	if present := storageNode(o, o.Document.Root(), field); field == storageCapacity && present != nil {
		if parsed, err := document.Parse(wanted); err == nil && equalQuantities(text(present), text(parsed.Root())) {
			return nil
		}
	}
	parent, member, err := storagePlace(o, field)
	if err != nil {
		return err
	}
	_, err = parent.Set(member, wanted)
	return err
}

// storageNode returns the field in a document of the object's form, or nil.
func storageNode(o *target.Object, root *document.Node, field string) *document.Node {
	if o.Form.Kind == "Etcd" {
		return root.Find("spec", etcdFields[field])
	}
	var spec *document.Node
	for _, template := range root.Find("spec", "volumeClaimTemplates").Items() {
		if name, _ := template.Find("metadata", "name").Text(); name == o.Form.Name {
			spec = template.Get("spec")
		}
	}
	if field == storageClass {
		return spec.Get("storageClassName")
	}
	return spec.Find("resources", "requests", "storage")
}

// storagePlace returns the object and the member that hold the field.
func storagePlace(o *target.Object, field string) (*document.Node, string, error) {
	spec, err := o.Document.Root().Ensure("spec", document.Object)
	if err != nil {
		return nil, "", nested(err, "spec")
	}
	if o.Form.Kind == "Etcd" {
		return spec, etcdFields[field], nil
	}
	for _, template := range spec.Get("volumeClaimTemplates").Items() {
		if name, _ := template.Find("metadata", "name").Text(); name != o.Form.Name {
			continue
		}
		return claimPlace(template, field)
	}
	return nil, "", nested(fmt.Errorf("has no template named %q", o.Form.Name), "volumeClaimTemplates")
}

func claimPlace(template *document.Node, field string) (*document.Node, string, error) {
	spec, err := template.Ensure("spec", document.Object)
	if err != nil || field == storageClass {
		return spec, "storageClassName", nested(err, "volumeClaimTemplates")
	}
	resources, err := spec.Ensure("resources", document.Object)
	if err != nil {
		return nil, "", nested(err, "volumeClaimTemplates")
	}
	requests, err := resources.Ensure("requests", document.Object)
	return requests, "storage", nested(err, "volumeClaimTemplates")
}

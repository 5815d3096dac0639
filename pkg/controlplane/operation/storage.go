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
		compile: compileStorage,

		KeepsByDefault: true,
	}
}

// The two fields of storage.
const (
	storageClass    = "class"
	storageCapacity = "capacity"
)

// The paths of the fields in an Etcd (etcd-druid api/core/v1alpha1, EtcdSpec), and in a claim template of a StatefulSet.
var (
	etcdFields  = map[string]fieldPath{storageClass: pathOf("spec", "storageClass"), storageCapacity: pathOf("spec", "storageCapacity")}
	claimFields = map[string]fieldPath{
		storageClass: pathOf("spec", "storageClassName"), storageCapacity: pathOf("spec", "resources", "requests", "storage"),
	}
)

func compileStorage(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	var (
		writes   []Write
		findings source.Findings
	)
	for _, name := range []string{storageClass, storageCapacity} {
		n := arguments.Get(name)
		if n.Absent() {
			continue
		}
		value, problems := c.Text(n, path+"."+name)
		if constant, ok := value.Constant(); ok && name == storageCapacity {
			if quantity, err := resource.ParseQuantity(constant.Text()); err != nil || quantity.Sign() <= 0 {
				problems = append(problems, n.Finding(path+".capacity", "%q is not a positive quantity, such as 25Gi", constant.Text()).Of(source.WrongValue))
			}
		}
		findings = append(findings, problems...)
		writes = append(writes, Write{
			Place: Place{Kind: StorageField, Name: name}, Value: value, At: n, Path: path + "." + name,
			Apply: func(o *target.Object, v Resolved) error { return setStorage(o, name, v.Text()) },
			Keep:  func(o *target.Object) error { return keepStorage(o, name) },
		})
	}
	if len(writes) == 0 {
		findings = append(findings, arguments.Finding(path, "one of class and capacity is needed").Of(source.MissingField))
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
	then, path := storagePlace(o, o.Old.Original(), field)
	if old := path.find(then); old != nil {
		return writeStorage(o, field, old.Raw())
	}
	if field == storageCapacity {
		return nil // etcd-druid requires no capacity of an Etcd, and gardenlet writes the one that it has
	}
	now, path := storagePlace(o, o.Document.Root(), field)
	path.remove(now)
	return nil
}

// writeStorage writes a field as JSON. It keeps an equal quantity in another notation. It fails if a StatefulSet has no
// claim template for the etcd.
func writeStorage(o *target.Object, field string, wanted []byte) error {
	node, path := storagePlace(o, o.Document.Root(), field)
	if node == nil {
		return nested(fmt.Errorf("has no template named %q", o.Form.Name), "volumeClaimTemplates")
	}
	return path.merge(node, wanted)
}

// storagePlace returns the node with a field, and the path of the field in it. The node is the document or a claim
// template. It is nil if there is no claim template for the etcd.
func storagePlace(o *target.Object, root *document.Node, field string) (*document.Node, fieldPath) {
	if o.Form.Kind == "Etcd" {
		return root, etcdFields[field]
	}
	for _, template := range root.Find("spec", "volumeClaimTemplates").Items() {
		if template.Find("metadata", "name").Is(o.Form.Name) {
			return template, claimFields[field]
		}
	}
	return nil, claimFields[field]
}

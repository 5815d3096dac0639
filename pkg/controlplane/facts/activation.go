// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// value returns the value of a part, or nil if it is unknown. The engine decodes parts before it evaluates expressions, so
// that expressions need not handle decoding errors.
func (p *Part) value() ref.Val {
	r, err := p.get()
	if err != nil {
		return types.WrapErr(expression.Failure("the resource cannot be decoded"))
	}
	return r.variable()
}

func (r *resource) variable() ref.Val {
	if r == nil {
		return nil
	}
	return r.value
}

// Object is the object that is being admitted.
type Object struct {
	APIVersion, Kind, Name, Namespace string
	Labels, Annotations               map[string]string
	// Raw decodes the whole object, with whole numbers as int64 (see expression.ParseJSON). It is called at most once for each activation, and only if an
	// expression names metadata, spec, status or data. It may be nil.
	Raw func() any
}

// Activation binds the variables to the facts for one object. The operation is CREATE or UPDATE. Unknown facts are not
// bound: an expression that uses them fails. An activation with this one as its parent can add variables.
func (f *Facts) Activation(object Object, operation string) interpreter.Activation {
	a := &activation{facts: f, operation: types.String(operation)}
	a.fields.Object = object
	return a
}

// LabelWorkerPool is the label of an OperatingSystemConfig with the name of its worker pool (gardener:
// pkg/apis/core/v1beta1/constants).
const LabelWorkerPool = "worker.gardener.cloud/pool"

type activation struct {
	facts     *Facts
	operation ref.Val
	fields    objectFields
}

// ResolveName implements interpreter.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	var value ref.Val
	switch name {
	case "shoot":
		value = a.facts.shoot.variable()
	case "seed":
		value = a.facts.seed.value()
	case "cloudProfile":
		value = a.facts.cloudProfile.value()
	case "namespaceObject":
		value = a.facts.Namespace.value()
	case "garden":
		value = a.facts.garden.variable()
	case "pool":
		if pool := a.facts.Pool(a.fields.Labels[LabelWorkerPool]); pool != nil {
			value = pool.value
		}
	case "operation":
		value = a.operation
	case "object":
		value = objectType.object.Value(&a.fields)
	}
	return value, value != nil
}

// Parent implements interpreter.Activation.
func (a *activation) Parent() interpreter.Activation { return nil }

// objectFields are the fields of an Object.
type objectFields struct {
	Object
	once sync.Once
	tree map[string]any
}

// Field implements expression.Fields.
func (o *objectFields) Field(name string) (any, bool) {
	switch name {
	case "apiVersion":
		return o.APIVersion, o.APIVersion != ""
	case "kind":
		return o.Kind, o.Kind != ""
	case "name":
		return o.Name, o.Name != ""
	case "namespace":
		return o.Namespace, o.Namespace != ""
	case "labels":
		return o.Labels, true
	case "annotations":
		return o.Annotations, true
	}
	o.once.Do(o.decode)
	value := o.tree[name]
	return value, value != nil
}

func (o *objectFields) decode() {
	if o.Raw == nil {
		return
	}
	switch tree := o.Raw().(type) {
	case map[string]any:
		o.tree = tree
	case error:
		failed := expression.Failure("the object cannot be decoded")
		if expression.ExceedsLimit(tree) {
			failed = tree
		}
		o.tree = map[string]any{"metadata": failed, "spec": failed, "status": failed, "data": failed}
	}
}

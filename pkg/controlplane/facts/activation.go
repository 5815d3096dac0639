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
func (p *LazyResource) value() ref.Val {
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

// AdmittedObject is the object that is being admitted.
type AdmittedObject struct {
	APIVersion, Kind, Name, Namespace string
	Labels, Annotations               map[string]string
	// Raw decodes the whole object, with whole numbers as int64 (see expression.ParseJSON). It is called at most once for each activation, and only if an
	// expression names metadata, spec, status or data. It may be nil.
	Raw func() any
}

// Activation binds the variables to the facts for one object. The operation is CREATE or UPDATE. Unknown facts are not
// bound: an expression that uses them fails. An activation with this one as its parent can add variables.
func (f *Facts) Activation(object AdmittedObject, operation string) interpreter.Activation {
	return &activation{facts: f, operation: types.String(operation), object: object}
}

// LabelWorkerPool is the label of an OperatingSystemConfig with the name of its worker pool (gardener:
// pkg/apis/core/v1beta1/constants).
const LabelWorkerPool = "worker.gardener.cloud/pool"

type activation struct {
	facts     *Facts
	operation ref.Val
	object    AdmittedObject
	// fields are the fields of the object, from their first use on.
	fields expression.Values
}

// Parent implements interpreter.Activation.
func (a *activation) Parent() interpreter.Activation { return nil }

// values returns the fields of the object in expressions.
func (o AdmittedObject) values() expression.Values {
	values := expression.Values{
		"apiVersion": expression.Optional(o.APIVersion), "kind": expression.Optional(o.Kind), "name": expression.Optional(o.Name),
		"namespace": expression.Optional(o.Namespace), "labels": o.Labels, "annotations": o.Annotations,
	}
	tree := sync.OnceValue(o.decode)
	for _, name := range []string{"metadata", "spec", "status", "data"} {
		values[name] = expression.Lazy(func() any { return tree()[name] })
	}
	return values
}

// decode returns the whole object, or an error in each of its parts.
func (o AdmittedObject) decode() map[string]any {
	if o.Raw == nil {
		return nil
	}
	switch tree := o.Raw().(type) {
	case map[string]any:
		return tree
	case error:
		failed := expression.Failure("the object cannot be decoded")
		if expression.ExceedsLimit(tree) {
			failed = tree
		}
		return map[string]any{"metadata": failed, "spec": failed, "status": failed, "data": failed}
	default:
		return nil
	}
}

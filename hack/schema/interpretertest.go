// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// interpreterProfileTest returns the schema of test tables for interpreter profiles.
func interpreterProfileTest() (object, error) {
	b, err := interpreterTests()
	if err != nil {
		return nil, err
	}
	schema, err := b.top(
		reflect.TypeFor[v1alpha1.InterpreterProfileTest](), reflect.Value{}, v1alpha1.GroupVersion.String(), v1alpha1.KindInterpreterProfileTest)
	if err != nil {
		return nil, err
	}
	properties := schema["properties"].(object)
	properties["objects"].(object)["additionalProperties"] = subject()
	items := properties["cases"].(object)["items"].(object)
	for _, name := range []string{"object", "observed"} {
		of := items["properties"].(object)
		of[name] = described(subject(), of[name].(object)["description"].(string))
	}
	items["anyOf"] = []object{{"required": []string{"want"}}, {"required": []string{"golden"}}}
	return schema, nil
}

// subject returns the schema of an object or its name.
func subject() object { return object{"type": []string{"object", "string"}} }

// interpreterTests returns a builder with the types of tables.
func interpreterTests() (*builder, error) {
	b := newBuilder()
	// null means that there is no value
	b.special[reflect.TypeFor[source.Node]()] = func() (object, error) { return object{}, nil }
	b.special[reflect.TypeFor[v1alpha1.TestTexts]()] = func() (object, error) {
		word := object{"enum": interpreter.Operations()}
		return object{"anyOf": []object{word, {"type": "array", "items": word}}}, nil
	}
	b.special[reflect.TypeFor[v1alpha1.InterpreterTestFailure]()] = func() (object, error) {
		return b.fields(reflect.TypeFor[v1alpha1.InterpreterTestFailure](), reflect.Value{})
	}
	wanted, err := b.plain(reflect.TypeFor[v1alpha1.InterpreterTestWant](), reflect.Value{})
	if err != nil {
		return nil, err
	}
	comment, err := b.comments.ofType(reflect.TypeFor[v1alpha1.InterpreterTestWant]())
	if err != nil {
		return nil, err
	}
	b.definitions["want"] = described(wanted, comment)
	b.special[reflect.TypeFor[v1alpha1.InterpreterTestWant]()] = func() (object, error) { return reference("want"), nil }
	return b, nil
}

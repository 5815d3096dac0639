// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// providerProfileTest returns the schema of the test tables of graft test.
func providerProfileTest() (object, error) {
	b := newBuilder()
	if err := b.defineTests(); err != nil {
		return nil, err
	}
	schema, err := b.top(reflect.TypeFor[v1alpha1.ProviderProfileTest](), reflect.Value{}, v1alpha1.GroupVersion.String(), v1alpha1.KindProviderProfileTest)
	if err != nil {
		return nil, err
	}
	items := schema["properties"].(object)["cases"].(object)["items"].(object)
	orNull(items)
	items["anyOf"] = []object{{"required": []string{"expect"}}, {"required": []string{"golden"}}}
	return schema, nil
}

// defineTests defines the types of tables.
func (b *builder) defineTests() error {
	// null means that there is no value
	b.special[reflect.TypeFor[source.Node]()] = func() (object, error) { return object{}, nil }
	several := func() (object, error) {
		return object{"type": []string{"string", "array"}, "items": object{"type": "string"}}, nil
	}
	b.special[reflect.TypeFor[v1alpha1.TestVersions]()] = several
	b.special[reflect.TypeFor[v1alpha1.TestTexts]()] = several
	b.special[reflect.TypeFor[v1alpha1.TestText]()] = func() (object, error) {
		text, err := b.fields(reflect.TypeFor[v1alpha1.TestText](), reflect.Value{})
		if err == nil {
			text["type"] = []string{"object", "null"}
		}
		return text, err
	}
	b.special[reflect.TypeFor[map[string]v1alpha1.TestExpectation]()] = func() (object, error) { return reference("expectations"), nil }
	b.special[reflect.TypeFor[v1alpha1.TestSetting]()] = func() (object, error) { return reference("setting"), nil }

	expected, err := b.plain(reflect.TypeFor[v1alpha1.TestExpected](), reflect.Value{})
	if err != nil {
		return err
	}
	rules := expected["properties"].(object)["rules"].(object)
	rules["additionalProperties"] = object{"enum": v1alpha1.TestOutcomes}
	b.definitions["expectation"] = object{"anyOf": []object{{"enum": v1alpha1.TestStates}, expected}}
	b.definitions["expectations"] = expectations()
	setting, err := b.plain(reflect.TypeFor[v1alpha1.TestSetting](), reflect.Value{})
	if err != nil {
		return err
	}
	orNull(setting)
	b.definitions["setting"] = setting
	return nil
}

// expectations returns the schema of expectations: by target, by kind and name, and for all other objects.
func expectations() object {
	of := object{}
	for _, name := range target.Names() {
		on, _ := target.Lookup(name)
		of[name] = object{"$ref": definitions + "expectation", "description": on.Summary}
	}
	of[v1alpha1.TestOthers] = object{"$ref": definitions + "expectation", "description": "all objects that no other entry is for"}
	return object{
		"type": "object", "properties": of, "patternProperties": object{"^[^/]+/[^/]+$": reference("expectation")}, "additionalProperties": false,
	}
}

// orNull allows null for each field of a setting, which resets it.
func orNull(of object) {
	kept := []string{"name", "description", "for", "expect", "golden", "profiles"}
	for name, field := range of["properties"].(object) {
		schema := field.(object)
		if kind, ok := schema["type"].(string); ok && !slices.Contains(kept, name) {
			schema["type"] = []string{kind, "null"}
		}
	}
}

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

// providerProfileTest is the schema of the tables that graft test runs.
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

// testFolder is the schema of the file case.yaml.
func testFolder() (object, error) {
	b := newBuilder()
	if err := b.defineTests(); err != nil {
		return nil, err
	}
	schema, err := b.caseFile(reflect.TypeFor[v1alpha1.TestFolder]())
	if err != nil {
		return nil, err
	}
	orNull(schema)
	return schema, nil
}

// caseFile is the schema of a file case.yaml.
func (b *builder) caseFile(of reflect.Type) (object, error) {
	schema, err := b.document(of, reflect.Value{})
	if err != nil {
		return nil, err
	}
	comment, err := b.comments.ofType(of)
	if err != nil {
		return nil, err
	}
	schema = described(schema, comment)
	schema["$schema"], schema["title"] = dialect, "case.yaml"
	schema["$comment"] = generated
	schema["definitions"] = b.used(schema)
	return schema, nil
}

// defineTests defines what tables and folders share.
func (b *builder) defineTests() error {
	b.special[reflect.TypeFor[source.Node]()] = func() (object, error) { return object{}, nil } // a null says that nothing is there
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

// expectations are what is expected by target, by kind and name, and of all others.
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

// orNull allows a null for each field of a setting, which takes it away.
func orNull(of object) {
	kept := []string{"name", "description", "for", "expect", "golden", "profiles"}
	for name, field := range of["properties"].(object) {
		schema := field.(object)
		if kind, ok := schema["type"].(string); ok && !slices.Contains(kept, name) {
			schema["type"] = []string{kind, "null"}
		}
	}
}

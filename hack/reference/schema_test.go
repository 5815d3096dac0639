// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// root is the folder of the repository.
var root = filepath.Join("..", "..")

// profiles is the schema of profiles, built once.
var profiles = sync.OnceValues(providerProfile)

// compiled is a schema as a validator reads it.
func compiled(t *testing.T, build func() (jsonSchema, error)) *jsonschema.Schema {
	t.Helper()
	schema, err := build()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", read); err != nil {
		t.Fatal(err)
	}
	validator, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return validator
}

// documents returns the documents of a YAML file.
func documents(t *testing.T, path string) []any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %s", path, err)
		}
		if document != nil {
			all = append(all, document)
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: nothing found (%v)", pattern, err)
	}
	return found
}

// TestValid checks that the schema accepts all documents that the engine accepts: the examples, and the engine's own
// cases.
func TestValid(t *testing.T) {
	validator := compiled(t, profiles)
	for _, pattern := range []string{"example/profiles/*/profile.yaml", "pkg/controlplane/mutation/testdata/admit/*/profile.yaml",
		"test/*/testdata/profile.yaml"} {
		for _, path := range glob(t, pattern) {
			for _, document := range documents(t, path) {
				if err := validator.Validate(document); err != nil {
					t.Errorf("%s: %s", path, err)
				}
			}
		}
	}
}

// TestExamples checks that the examples of each operation are valid for one of its targets.
func TestExamples(t *testing.T) {
	validator := compiled(t, profiles)
	for _, d := range operation.All() {
		for _, text := range append([]string{d.Example}, d.Examples...) {
			var problems []error
			valid := false
			for _, name := range target.Names() {
				on, _ := target.Lookup(name)
				if err := validator.Validate(profileWith(t, "controlplane: {"+name+": [{"+text+"}]}")); err == nil {
					valid = true
				} else if d.On(on) {
					problems = append(problems, err)
				}
			}
			if !valid {
				t.Errorf("%s: %v", text, problems)
			}
		}
	}
}

// profileWith returns a profile with the text below its head.
func profileWith(t *testing.T, text string) map[string]any {
	t.Helper()
	var document map[string]any
	head := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: acme}\nproviders: [acme]\n"
	if err := yaml.Unmarshal([]byte(head+text), &document); err != nil {
		t.Fatalf("%s: %s", text, err)
	}
	return document
}

// TestMistakes checks that the schema marks each mistake in testdata at its place.
func TestMistakes(t *testing.T) {
	validator := compiled(t, profiles)
	for _, document := range documents(t, "testdata/mistakes.yaml") {
		for _, c := range document.([]any) {
			mistake := c.(map[string]any)
			t.Run(mistake["mistake"].(string), func(t *testing.T) {
				profile := profileWith(t, mistake["profile"].(string))
				head, _ := mistake["head"].(map[string]any)
				for field, value := range head {
					if profile[field] = value; value == nil {
						delete(profile, field)
					}
				}
				held(t, validator.Validate(profile), mistake["at"].(string))
			})
		}
	}
}

// held reports whether a validator found something wrong at the place.
func held(t *testing.T, err error, at string) {
	t.Helper()
	var wrong *jsonschema.ValidationError
	if !errors.As(err, &wrong) {
		t.Fatalf("want a validation error, got %v", err)
	}
	var places []string
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		places = append(places, "/"+strings.Join(e.InstanceLocation, "/"))
		for _, cause := range e.Causes {
			visit(cause)
		}
	}
	visit(wrong)
	for _, place := range places {
		if place == at {
			return
		}
	}
	t.Errorf("something is wrong at %v, want %s: %s", places, at, err)
}

// TestRefused checks that the schema rejects the profiles in testdata/marked.txt, which the engine also rejects.
func TestRefused(t *testing.T) {
	validator := compiled(t, profiles)
	for _, name := range strings.Fields(string(must(os.ReadFile("testdata/marked.txt")))) {
		t.Run(name, func(t *testing.T) {
			marked := false
			for _, document := range documents(t, filepath.Join(root, "pkg", "controlplane", "mutation", "testdata", "refused", name, "profile.yaml")) {
				marked = marked || validator.Validate(document) != nil
			}
			if !marked {
				t.Error("the document is valid, want an error")
			}
		})
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(fmt.Sprint("reading: ", err))
	}
	return data
}

// TestConfiguration checks the schemas of the configurations with samples and mistakes.
func TestConfiguration(t *testing.T) {
	configuration(t, "ControllerConfiguration", controllerConfiguration, "everything.yaml", map[string]string{
		"server: {webhookPort: 70000}":     "/server/webhookPort",
		"logging: {level: loud}":           "/logging/level",
		"shutdown: {delay: 3 seconds}":     "/shutdown/delay",
		"profiles: {path: [x]}":            "/profiles",
		"webhook: {timeoutSeconds: \"5\"}": "/webhook/timeoutSeconds",
		"kind: Configuration":              "/kind",
	})
	configuration(t, "NetworkProviderConfiguration", networkProviderConfiguration, "network.yaml", map[string]string{
		"limits: {requests: 0}":                                 "/limits/requests",
		"listeners: [{}]":                                       "/listeners/0",
		"listeners: [{address: x, contracts: [dra]}]":           "/listeners/0/contracts/0",
		"ledger: {etcd: {}}":                                    "/ledger/etcd",
		"listeners: [{address: x, tls: {certFile: a, key: b}}]": "/listeners/0/tls",
	})
	configuration(t, "ResourceInterpreterConfiguration", resourceInterpreterConfiguration, "resource-interpreter.yaml", map[string]string{
		"limits: {bodyBytes: 1}":              "/limits/bodyBytes",
		"certificate: {files: {certFile: a}}": "/certificate/files",
		"certificate: {dnsNames: a}":          "/certificate/dnsNames",
		"registration: {timeoutSeconds: 31}":  "/registration/timeoutSeconds",
		"registration: {service: {name: a}}":  "/registration/service",
		"leaderElection: {enabled: \"true\"}": "/leaderElection/enabled",
	})
}

func configuration(t *testing.T, kind string, build func() (jsonSchema, error), sample string, mistakes map[string]string) {
	t.Helper()
	validator := compiled(t, build)
	document := documents(t, filepath.Join(root, "pkg", "apis", "config", "v1alpha1", "testdata", sample))[0]
	if err := validator.Validate(document); err != nil {
		t.Error(err)
	}
	for text, at := range mistakes {
		var mistake map[string]any
		if err := yaml.Unmarshal([]byte(text), &mistake); err != nil {
			t.Fatal(err)
		}
		for key, value := range map[string]any{"apiVersion": "graft.provider.extensions.config.gardener.cloud/v1alpha1", "kind": kind} {
			if mistake[key] == nil {
				mistake[key] = value
			}
		}
		held(t, validator.Validate(mistake), at)
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	druidcrds "github.com/gardener/etcd-druid/api/core/v1alpha1/crds"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
)

// definition is the schema of a kind in an API server.
type definition struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// definitions returns the definitions of Gardener's kinds that the modules of Gardener and etcd-druid install in seeds.
func definitions(t *testing.T) map[interpreter.Kind]definition {
	t.Helper()
	where, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/gardener/gardener").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(where)), "example", "seed-crds", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	druid, err := druidcrds.GetAll("v1.34.0")
	if err != nil {
		t.Fatal(err)
	}
	texts := slices.Collect(maps.Values(druid))
	for _, file := range files {
		texts = append(texts, string(read(t, file)))
	}
	known := map[interpreter.Kind]bool{}
	for _, k := range load(t).Kinds() {
		known[k.Kind] = true
	}
	all := map[interpreter.Kind]definition{}
	for _, text := range texts {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal([]byte(text), &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			kind := interpreter.Kind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			if known[kind] {
				all[kind] = newDefinition(t, version.Schema)
			}
		}
	}
	for kind := range known {
		if _, ok := all[kind]; !ok && kind.Kind != "Shoot" { // which is no custom resource
			t.Errorf("no CustomResourceDefinition of %s found", kind)
		}
	}
	return all
}

// newDefinition compiles a schema.
func newDefinition(t *testing.T, schema *apiextensionsv1.CustomResourceValidation) definition {
	t.Helper()
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(schema, &internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return definition{structural, validator}
}

// position matches the position of an item in a path.
var position = regexp.MustCompile(`\[\d+\]`)

// breaches returns the errors of an API server about an object, without list positions: rejections, and dropped fields.
func (d definition) breaches(t *testing.T, raw []byte) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	var content object
	if err := utiljson.Unmarshal(raw, &content); err != nil {
		t.Fatal(err)
	}
	problems := validation.ValidateCustomResource(nil, content, d.validator)
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, d.structural, content)...)
	for _, problem := range problems {
		found[position.ReplaceAllString(problem.Field, "[]")+": "+string(problem.Type)] = true
	}
	for _, dropped := range pruning.PruneWithOptions(content, d.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		found[position.ReplaceAllString(dropped, "[]")+": unknown"] = true
	}
	return found
}

// completed adds the required fields of its schema to a value.
func completed(value any, s *structuralschema.Structural) any {
	switch value := value.(type) {
	case object:
		var required []string
		if s.ValueValidation != nil {
			required = s.ValueValidation.Required
		}
		for _, key := range required {
			if below := s.Properties[key]; value[key] == nil {
				value[key] = least(&below)
			}
		}
		for key, member := range value {
			if below, ok := s.Properties[key]; ok {
				value[key] = completed(member, &below)
			}
		}
	case []any:
		for i, item := range value {
			if s.Items != nil {
				value[i] = completed(item, s.Items)
			}
		}
	}
	return value
}

// least is a value that a schema takes.
func least(s *structuralschema.Structural) any {
	v := s.ValueValidation
	switch {
	case s.Default.Object != nil:
		return s.Default.Object
	case v != nil && len(v.Enum) > 0:
		return v.Enum[0].Object
	case v != nil && v.Format == "date-time":
		return "2026-03-01T10:00:00Z"
	case v != nil && v.Format == "byte":
		return "YQ=="
	case s.XIntOrString:
		return 1
	}
	return map[string]any{"object": completed(object{}, s), "array": []any{}, "string": "a", "boolean": false, "integer": 1, "number": 1}[s.Type]
}

// whole completes the objects of a question with the required fields of their definitions.
func (d definition) whole(t *testing.T, r interpreter.Request) interpreter.Request {
	t.Helper()
	complete := func(raw []byte, s *structuralschema.Structural) json.RawMessage {
		if len(raw) == 0 {
			return raw
		}
		var value any
		if err := utiljson.Unmarshal(raw, &value); err != nil {
			t.Fatal(err)
		}
		return marshal(t, completed(value, s))
	}
	status := d.structural.Properties["status"]
	r.Object, r.Observed, r.Members = complete(r.Object, d.structural), complete(r.Observed, d.structural), slices.Clone(r.Members)
	for i := range r.Members {
		r.Members[i].Status = complete(r.Members[i].Status, &status)
	}
	return r
}

// came returns the errors in the inputs of an answer, except for the fields that Karmada adds to a reflected status,
// which no answer may contain.
func (d definition) came(t *testing.T, r interpreter.Request) map[string]bool {
	t.Helper()
	found := d.breaches(t, r.Object)
	if len(r.Observed) > 0 {
		maps.Copy(found, d.breaches(t, r.Observed))
	}
	for _, member := range r.Members {
		if len(member.Status) > 0 {
			with := decode(t, r.Object)
			with["status"] = member.Status
			maps.Copy(found, d.breaches(t, marshal(t, with)))
		}
	}
	delete(found, "status.generation: unknown")
	delete(found, "status.resourceTemplateGeneration: unknown")
	return found
}

// TestSchemas checks that the results of revise, retain and aggregate in testdata/answers fit Gardener's definitions,
// apart from errors in their inputs. Each case is tried unchanged, and completed with all required fields.
func TestSchemas(t *testing.T) {
	all := definitions(t)
	programs := map[string]*rule.Program{}
	answered, whole := map[interpreter.Operation]int{}, 0
	for _, q := range questions(t) {
		asked := q.request(t)
		d, ok := all[asked.Kind]
		if !ok || !asked.Operation.Patches() {
			continue
		}
		key := strings.Join(q.Optional, ",")
		if programs[key] == nil {
			programs[key] = load(t, q.Optional...)
		}
		for _, r := range []interpreter.Request{asked, d.whole(t, asked)} {
			response, err := programs[key].Interpret(t.Context(), r)
			if err != nil || response.Patch == nil {
				continue
			}
			came := d.came(t, r)
			for _, breach := range slices.Sorted(maps.Keys(d.breaches(t, patched(t, r.Object, response.Patch)))) {
				if !came[breach] {
					t.Errorf("%s: %s", q.Name, breach)
				}
			}
			if answered[r.Operation]++; len(came) == 0 {
				whole++
			}
		}
	}
	if answered[interpreter.Aggregate] < 60 || answered[interpreter.Retain] < 10 || answered[interpreter.Revise] < 2 || whole < 40 {
		t.Errorf("too few answers: %v, of these %d for valid objects", answered, whole)
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	sigsyaml "sigs.k8s.io/yaml"
)

// TestManifests decodes every manifest of every chart with all values, and its CustomResourceDefinitions.
func TestManifests(t *testing.T) {
	decode := newDecoder(t)
	each(t, func(t *testing.T, _, _, _, manifest string) {
		if err := decode(manifest); err != nil {
			t.Errorf("%v in\n%s", err, manifest)
		}
	})
	for _, name := range names(t) {
		for _, crd := range load(t, name).CRDObjects() {
			if err := decode(string(crd.File.Data)); err != nil {
				t.Errorf("%s: %v", crd.Filename, err)
			}
		}
	}
}

// TestWrongManifests checks that mistakes in a manifest are found.
func TestWrongManifests(t *testing.T) {
	decode := newDecoder(t)
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	for name, test := range map[string]struct{ manifest, want string }{
		"accepts a valid ConfigMap":            {manifest: configMap + "data: {a: b}\n"},
		"accepts any field of an unknown kind": {manifest: "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: x}\nwhatever: 1\n"},
		"rejects an unknown field":             {manifest: configMap + "dta: {a: b}\n", want: `unknown field "dta"`},
		"rejects a duplicate key":              {manifest: configMap + "data: {a: b, a: c}\n", want: "already set"},
		"rejects an object without a name":     {manifest: "apiVersion: v1\nkind: ConfigMap\n", want: "ConfigMap has no name"},
		"rejects an object without a kind":     {manifest: "metadata: {name: x}\n", want: "apiVersion or kind is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := decode(test.manifest); err != nil {
				got = err.Error()
			}
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want an error with %q", got, test.want)
			}
		})
	}
}

// newDecoder returns a function that decodes kinds of Kubernetes strictly, and other kinds as objects with a name.
func newDecoder(t *testing.T) func(manifest string) error {
	t.Helper()
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), apiextensionsv1.AddToScheme(known)); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	return func(manifest string) error {
		object := &unstructured.Unstructured{}
		if err := sigsyaml.UnmarshalStrict([]byte(manifest), &object.Object); err != nil {
			return err
		}
		kind := object.GroupVersionKind()
		switch {
		case kind.Kind == "" || kind.Version == "":
			return errors.New("apiVersion or kind is missing")
		case object.GetName() == "":
			return fmt.Errorf("%s has no name", kind.Kind)
		case !known.Recognizes(kind):
			return nil
		}
		_, _, err := decoder.Decode([]byte(manifest), nil, nil)
		return err
	}
}

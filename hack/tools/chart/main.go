// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command chart renders Helm charts with their default values, or with given ones, and decodes every resulting
// manifest, strictly if the kind belongs to Kubernetes. It needs neither a cluster nor the helm program. Usage: chart
// [-print] [-values FILE] FOLDER...
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

func main() {
	show := flag.Bool("print", false, "print the manifests")
	values := flag.String("values", "", "file of values that take the place of defaults")
	flag.Parse()
	if err := run(flag.Args(), *values, *show); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// run checks the charts in the folders, and reports all their problems together.
func run(folders []string, valuesFile string, show bool) error {
	if len(folders) == 0 {
		return errors.New("no chart folders given")
	}
	check, err := newChecker()
	if err != nil {
		return err
	}
	var values chartutil.Values
	if valuesFile != "" {
		if values, err = chartutil.ReadValuesFile(valuesFile); err != nil {
			return fmt.Errorf("reading the values: %w", err)
		}
	}
	var problems []error
	for _, folder := range folders {
		manifests, err := render(folder, values)
		if err != nil {
			problems = append(problems, fmt.Errorf("rendering %s: %w", folder, err))
			continue
		}
		for _, m := range manifests {
			if err := check.manifest(m.text); err != nil {
				problems = append(problems, fmt.Errorf("%s, document %d: %w", m.file, m.index, err))
			}
			if show {
				fmt.Printf("---\n# %s\n%s\n", m.file, m.text)
			}
		}
		fmt.Fprintf(os.Stderr, "chart %s: %d manifests\n", folder, len(manifests))
	}
	return errors.Join(problems...)
}

// manifest is one document that a template gave; index counts from 1 within its file.
type manifest struct {
	file  string
	index int
	text  string
}

// render returns the manifests of a chart, in the order of their files. It fails for a chart without manifests. Missing
// values have their defaults.
func render(folder string, given chartutil.Values) ([]manifest, error) {
	loaded, err := loader.LoadDir(folder)
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: loaded.Name(), Namespace: "garden", Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(loaded, given, options, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(loaded, values)
	if err != nil {
		return nil, err
	}
	manifests := split(loaded, files)
	if len(manifests) == 0 {
		return nil, errors.New("no template gave a manifest")
	}
	return manifests, nil
}

// split takes the rendered files apart and leaves out notes and empty documents.
func split(loaded *chart.Chart, files map[string]string) []manifest {
	var manifests []manifest
	for name, text := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		documents := releaseutil.SplitManifests(text)
		for i := range len(documents) {
			manifests = append(manifests, manifest{file: name, index: i + 1, text: documents[fmt.Sprintf("manifest-%d", i)]})
		}
	}
	for _, crd := range loaded.CRDObjects() {
		manifests = append(manifests, manifest{file: crd.Filename, index: 1, text: string(crd.File.Data)})
	}
	manifests = slices.DeleteFunc(manifests, func(m manifest) bool { return isEmpty(m.text) })
	slices.SortFunc(manifests, func(a, b manifest) int {
		if order := strings.Compare(a.file, b.file); order != 0 {
			return order
		}
		return a.index - b.index
	})
	return manifests
}

// isEmpty is true for a document of comments and blank lines.
func isEmpty(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// checker decodes manifests: the kinds of its scheme strictly, and all other kinds as unstructured objects.
type checker struct {
	scheme  *runtime.Scheme
	decoder runtime.Decoder
}

func newChecker() (*checker, error) {
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), apiextensionsv1.AddToScheme(known)); err != nil {
		return nil, fmt.Errorf("registering kinds: %w", err)
	}
	codecs := serializer.NewCodecFactory(known, serializer.EnableStrict)
	return &checker{scheme: known, decoder: codecs.UniversalDeserializer()}, nil
}

// manifest reports a document that is no object, has no name, or has fields that its kind does not know.
func (c *checker) manifest(text string) error {
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &object.Object); err != nil {
		return err
	}
	kind := object.GroupVersionKind()
	if kind.Kind == "" || kind.Version == "" {
		return errors.New("apiVersion or kind is missing")
	}
	if object.GetName() == "" {
		return fmt.Errorf("%s has no name", kind.Kind)
	}
	if !c.scheme.Recognizes(kind) {
		return nil
	}
	if _, _, err := c.decoder.Decode([]byte(text), nil, nil); err != nil {
		return fmt.Errorf("decoding %s %s: %w", kind.Kind, object.GetName(), err)
	}
	return nil
}

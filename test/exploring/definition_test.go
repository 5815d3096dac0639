// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package exploring_test compares the definition of ResourceExploringWebhookConfiguration with package configuration: a
// real kube-apiserver uses the same defaults and refuses the same values. Start reading at TestDefinition.
package exploring_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// TestDefinition shares one kube-apiserver between its cases.
func TestDefinition(t *testing.T) {
	logf.SetLogger(logr.Discard())
	land, err := landscape.Start(t.Context(), landscape.Options{Without: landscape.AllCRDs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = land.Stop() })
	install(t, land.Config())
	var table struct {
		Base    map[string]any
		Instead map[string][]any
		Lists   []any
	}
	raw, err := os.ReadFile("testdata/webhooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, &table); err != nil {
		t.Fatal(err)
	}
	seen := map[bool]int{}
	for _, field := range slices.Sorted(maps.Keys(table.Instead)) {
		for _, value := range table.Instead[field] {
			webhook := maps.Clone(table.Base)
			webhook[field] = value
			seen[agrees(t, land.Client(), []any{webhook})]++
		}
	}
	for _, list := range append(table.Lists, []any{table.Base}) {
		seen[agrees(t, land.Client(), list)]++
	}
	if seen[true] < 20 || seen[false] < 20 {
		t.Errorf("seen are %v", seen)
	}
	t.Run("generated configurations", func(t *testing.T) { generated(t, land.Client()) })
}

// install brings the definition into the cluster.
func install(t *testing.T, c *rest.Config) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(configuration.Definition(), crd); err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(c,
		envtest.CRDInstallOptions{MaxTime: time.Minute, CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		t.Fatal(err)
	}
}

// agrees checks that kube-apiserver and validate agree on a list of webhooks, and reports whether both take it.
func agrees(t *testing.T, c client.Client, webhooks any) bool {
	t.Helper()
	object := map[string]any{"apiVersion": configuration.APIVersion, "kind": configuration.KindExploring,
		"metadata": map[string]any{"name": "a"}}
	if webhooks != nil {
		object["webhooks"] = webhooks
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	ours := &configuration.Configuration{}
	if err := yaml.UnmarshalStrict(raw, ours); err != nil {
		t.Fatal(err)
	}
	errs := validate(ours)
	theirs := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &theirs.Object); err != nil {
		t.Fatal(err)
	}
	err = c.Create(t.Context(), theirs, client.DryRunAll)
	if (err == nil) != (len(errs) == 0) {
		t.Errorf("%s: %v, and kube-apiserver: %v", raw, errs, err)
		return false
	}
	if err != nil {
		for _, one := range errs {
			if !blames(err, one.Field) {
				t.Errorf("%s: %v, and kube-apiserver: %v", raw, one, err)
			}
		}
		return false
	}
	ours.Default()
	same(t, ours, theirs)
	return true
}

// blames reports whether an error of kube-apiserver is about a field, or about the one that it is in.
func blames(err error, field string) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && status.ErrStatus.Details != nil &&
		slices.ContainsFunc(status.ErrStatus.Details.Causes, func(cause metav1.StatusCause) bool {
			return strings.HasPrefix(field, cause.Field) || strings.HasPrefix(cause.Field, field)
		})
}

// same checks that the webhooks of both are the same.
func same(t *testing.T, ours *configuration.Configuration, theirs *unstructured.Unstructured) {
	t.Helper()
	raw, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	var want, got struct{ Webhooks any }
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if raw, err = json.Marshal(theirs); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("the defaults (-ours +theirs):\n%s", diff)
	}
}

// generated checks that the configuration of Gardener's kinds is taken as it is written.
func generated(t *testing.T, c client.Client) {
	documents, err := gardener.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	program, findings := rule.Compile(documents)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	ours := configuration.Generate(api.KindReview, "graft", program.Kinds(),
		configuration.Endpoint{URL: "https://graft.example.com/interpret"})
	raw, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	theirs := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &theirs.Object); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	same(t, ours, theirs)
}

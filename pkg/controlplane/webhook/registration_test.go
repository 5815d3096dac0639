// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

var service = Endpoint{
	Name: "gardener-extension-provider-graft.extension-provider-graft", Service: "gardener-extension-provider-graft", Mode: ModeService, Namespace: "extension-provider-graft", ServicePort: 443,
	TimeoutSeconds: 10, FailurePolicy: admissionregistrationv1.Fail,
}

// forms are all forms of the named targets, as a program lists them.
func forms(t *testing.T, names ...string) []target.Form {
	t.Helper()
	var out []target.Form
	for _, name := range names {
		found, ok := target.Lookup(name)
		if !ok {
			t.Fatalf("no target %s", name)
		}
		out = append(out, found.Forms...)
	}
	slices.SortFunc(out, target.Compare)
	return out
}

func TestConfiguration(t *testing.T) {
	registrations := []mutation.Registration{
		{Set: target.ControlPlane, Provider: "openstack", Forms: forms(t, "kube-apiserver", "kube-scheduler", "vpn-seed-server", "machine-controller-manager-vpa")},
		{Set: target.Exposure, Provider: "openstack", Forms: forms(t, "etcd-main", "kube-apiserver-service")},
		{Set: target.ControlPlane, Garden: true, Forms: forms(t, "virtual-garden-etcd-main")},
	}
	got := service.Configuration(registrations, []byte("PEM"), "s3gment")
	if got.Name != "gardener-extension-provider-graft.extension-provider-graft" || got.Labels["remediation.webhook.shoot.gardener.cloud/exclude"] != "true" {
		t.Errorf("the metadata is %+v", got.ObjectMeta)
	}
	type summary struct {
		Name, Path, Selector string
		Rules                []string
	}
	var summaries []summary
	for _, w := range got.Webhooks {
		s := summary{Name: w.Name, Path: *w.ClientConfig.Service.Path}
		expression := w.NamespaceSelector.MatchExpressions[0]
		s.Selector = expression.Key + " " + string(expression.Operator) + " " + strings.Join(expression.Values, ",")
		for _, rule := range w.Rules {
			s.Rules = append(s.Rules, strings.Join(rule.APIGroups, ",")+"/"+strings.Join(rule.APIVersions, ",")+" "+strings.Join(rule.Resources, ","))
		}
		summaries = append(summaries, s)
		if string(w.ClientConfig.CABundle) != "PEM" || *w.ClientConfig.Service.Port != 443 || w.ClientConfig.Service.Namespace != "extension-provider-graft" {
			t.Errorf("%s: the client is %+v", w.Name, w.ClientConfig)
		}
		if *w.FailurePolicy != "Fail" || *w.TimeoutSeconds != 10 || *w.ReinvocationPolicy != "IfNeeded" || *w.SideEffects != "None" || *w.MatchPolicy != "Equivalent" {
			t.Errorf("%s: the policies are %v %v %v %v %v", w.Name, *w.FailurePolicy, *w.TimeoutSeconds, *w.ReinvocationPolicy, *w.SideEffects, *w.MatchPolicy)
		}
	}
	want := []summary{
		{"controlplane.openstack.graft.extensions.gardener.cloud", "/webhooks/s3gment/controlplane/openstack", "shoot.gardener.cloud/provider In openstack",
			[]string{"apps/v1 deployments,statefulsets", "autoscaling.k8s.io/v1 verticalpodautoscalers"}},
		{"controlplaneexposure.openstack.graft.extensions.gardener.cloud", "/webhooks/s3gment/controlplaneexposure/openstack", "seed.gardener.cloud/provider In openstack",
			[]string{"/v1 services", "apps/v1 statefulsets", "druid.gardener.cloud/v1alpha1 etcds"}},
		{"garden.controlplane.graft.extensions.gardener.cloud", "/webhooks/s3gment/controlplane/-garden", "kubernetes.io/metadata.name In garden",
			[]string{"druid.gardener.cloud/v1alpha1 etcds"}},
	}
	if diff := cmp.Diff(want, summaries); diff != "" {
		t.Error(diff)
	}
}

func TestURLMode(t *testing.T) {
	endpoint := Endpoint{Name: "x", Mode: ModeURL, URL: "10.0.0.1:9443", FailurePolicy: admissionregistrationv1.Ignore, TimeoutSeconds: 5}
	w := endpoint.Configuration([]mutation.Registration{{Set: target.Backup, Provider: "aws", Forms: forms(t, "etcd-main")}}, nil, "s3gment").Webhooks[0]
	if *w.ClientConfig.URL != "https://10.0.0.1:9443/webhooks/s3gment/controlplanebackup/aws" || w.ClientConfig.Service != nil {
		t.Errorf("the client is %+v", w.ClientConfig)
	}
	if *w.FailurePolicy != "Ignore" || endpoint.ServerName() != "10.0.0.1" {
		t.Errorf("policy %s, server name %s", *w.FailurePolicy, endpoint.ServerName())
	}
}

func TestWebhookNames(t *testing.T) {
	seen := map[string]string{}
	for _, provider := range []string{"openstack", "garden", "Open_Stack", "open_stack", "a.b", strings.Repeat("a", 63)} {
		name := webhookName(mutation.Registration{Set: target.ControlPlane, Provider: provider})
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both called %s", provider, other, name)
		}
		seen[name] = provider
		route := Route{Set: target.ControlPlane, Provider: provider}
		for _, segment := range []string{"", "s3gment"} {
			if parsed, ok := parseRoute(route.Path(segment)); !ok || parsed != route {
				t.Errorf("the path %s leads to %+v", route.Path(segment), parsed)
			}
		}
	}
	if _, ok := seen[webhookName(mutation.Registration{Set: target.ControlPlane, Garden: true})]; ok {
		t.Error("a provider has the name of the garden's webhook")
	}
}

// TestMatchConditions evaluates the conditions with the code of the kube-apiserver.
func TestMatchConditions(t *testing.T) {
	conditions := matchConditions(append(forms(t, "kube-apiserver", "etcd-main", "kube-apiserver-service"),
		target.Form{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "OperatingSystemConfig", Resource: "operatingsystemconfigs"},
		target.Form{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Name: "cloud-*"},
		target.Form{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Name: "exact"},
		target.Form{Version: "v1", Kind: "ServiceAccount", Resource: "serviceaccounts", Name: "cloud-*"}))
	accessors := make([]plugincel.ExpressionAccessor, len(conditions))
	for i := range conditions {
		condition := matchconditions.MatchCondition(conditions[i])
		accessors[i] = &condition
	}
	// NewExpressions has the CEL limits of the API server for a new configuration.
	compiler := plugincel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true))
	evaluator := compiler.CompileCondition(accessors, plugincel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions)
	if problems := evaluator.CompilationErrors(); len(problems) > 0 {
		t.Fatal(problems)
	}
	fail := admissionregistrationv1.Fail
	matcher := matchconditions.NewMatcher(evaluator, &fail, "webhook", "admit", "test")
	for name, test := range map[string]struct {
		group, version, kind, resource, name, generateName string
		deleted                                            bool
		want                                               bool
	}{
		"matches a target":                                {group: "apps", version: "v1", kind: "Deployment", resource: "deployments", name: "kube-apiserver", want: true},
		"target being deleted":                            {group: "apps", version: "v1", kind: "Deployment", resource: "deployments", name: "kube-apiserver", deleted: true},
		"does not match another Deployment":               {group: "apps", version: "v1", kind: "Deployment", resource: "deployments", name: "gardener-resource-manager"},
		"does not match a generated name":                 {group: "apps", version: "v1", kind: "Deployment", resource: "deployments", generateName: "kube-"},
		"kind of another name":                            {group: "apps", version: "v1", kind: "StatefulSet", resource: "statefulsets", name: "kube-apiserver"},
		"matches a target of the older contract":          {group: "apps", version: "v1", kind: "StatefulSet", resource: "statefulsets", name: "etcd-main", want: true},
		"matches an Etcd resource":                        {group: "druid.gardener.cloud", version: "v1alpha1", kind: "Etcd", resource: "etcds", name: "etcd-main", want: true},
		"matches a target of the core group":              {version: "v1", kind: "Service", resource: "services", name: "kube-apiserver", want: true},
		"does not match another Service":                  {version: "v1", kind: "Service", resource: "services", name: "vpn-seed-server"},
		"every name of a kind":                            {group: "extensions.gardener.cloud", version: "v1alpha1", kind: "OperatingSystemConfig", resource: "operatingsystemconfigs", name: "anything", want: true},
		"matches a ConfigMap by its prefix":               {version: "v1", kind: "ConfigMap", resource: "configmaps", name: "cloud-config", want: true},
		"exact name and prefix":                           {version: "v1", kind: "ConfigMap", resource: "configmaps", name: "exact", want: true},
		"does not match another prefix":                   {version: "v1", kind: "ConfigMap", resource: "configmaps", name: "my-cloud-config"},
		"only a beginning":                                {version: "v1", kind: "ServiceAccount", resource: "serviceaccounts", name: "cloud-x", want: true},
		"does not match a generated name with the prefix": {version: "v1", kind: "ConfigMap", resource: "configmaps", generateName: "cloud-"},
		"same kind, other group":                          {group: "example.org", version: "v1", kind: "Deployment", resource: "deployments", name: "kube-apiserver"},
	} {
		t.Run(name, func(t *testing.T) {
			gvk := schema.GroupVersionKind{Group: test.group, Version: test.version, Kind: test.kind}
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(gvk)
			object.SetName(test.name)
			object.SetGenerateName(test.generateName)
			if test.deleted {
				object.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
			}
			attributes := admission.NewAttributesRecord(object, nil, gvk, "ns", test.name,
				schema.GroupVersionResource{Group: test.group, Version: test.version, Resource: test.resource}, "", admission.Create, nil, false, nil)
			versioned, err := admission.NewVersionedAttributes(attributes, gvk, admission.NewObjectInterfacesFromScheme(nil))
			if err != nil {
				t.Fatal(err)
			}
			result := matcher.Match(context.Background(), versioned, nil, nil)
			if result.Error != nil || result.Matches != test.want {
				t.Errorf("matches %v because of %q (%v), want %v", result.Matches, result.FailedConditionName, result.Error, test.want)
			}
		})
	}
}

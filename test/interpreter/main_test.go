// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// State shared by the tests; TestMain sets it.
var (
	land    *landscape.Landscape
	account *landscape.Account
	objects dynamic.Interface
	clients kubernetes.Interface
	binary  string
)

const (
	namespace = "graft-system"
	program   = "graft-resource-interpreter"
	// patience limits every wait.
	patience = 60 * time.Second
)

func TestInterpreter(t *testing.T) { suite.Run(t, "interpreter", "karmada") }

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(patience)
	var err error
	binary, err = env.Program("../..", program)
	Expect(err).NotTo(HaveOccurred())
	// The servers outlive the context of this node.
	land, err = landscape.Start(context.Background(), landscape.Options{Without: landscape.AllCRDs()})
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
	DeferCleanup(land.Stop)
	prepare(ctx)
})

// Each spec finds no registration, no certificate and no Lease: a killed replica would lead for some seconds more, and
// the others would register only what it answered.
var _ = BeforeEach(func() {
	DeferCleanup(func(ctx SpecContext) {
		for _, resource := range []schema.GroupVersionResource{shippedResource, exploring} {
			err := objects.Resource(resource).Delete(ctx, "graft", metav1.DeleteOptions{})
			Expect(client.IgnoreNotFound(err)).To(Succeed(), "deleting the registration")
		}
		secrets := clients.CoreV1().Secrets(namespace)
		Expect(secrets.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
		leases := clients.CoordinationV1().Leases(namespace)
		Expect(leases.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
	})
})

// shippedResource is the resource of the configurations that Karmada ships, exploring that of the proposal.
var shippedResource, exploring = configuration.ResourceOf(api.KindContext), configuration.ResourceOf(api.KindReview)

// prepare defines the kinds of registrations, and creates an account with exactly the permissions that the program
// needs.
func prepare(ctx context.Context) {
	GinkgoHelper()
	Expect(land.Client().Create(ctx, registrations())).To(Succeed())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	Expect(yaml.UnmarshalStrict(configuration.Definition(), crd)).To(Succeed())
	Expect(land.Client().Create(ctx, crd)).To(Succeed())
	Expect(land.InstallCRDs(ctx)).To(Succeed(), "waiting for the definitions")
	var err error
	objects, err = dynamic.NewForConfig(land.Config())
	Expect(err).NotTo(HaveOccurred())
	clients, err = kubernetes.NewForConfig(land.Config())
	Expect(err).NotTo(HaveOccurred())
	registered := []string{shippedResource.Resource, exploring.Resource}
	account, err = land.CreateServiceAccount(ctx, landscape.ServiceAccountOptions{
		Namespace: namespace, Name: "interpreter",
		ClusterRules: []rbacv1.PolicyRule{
			{APIGroups: []string{shippedResource.Group}, Resources: registered, Verbs: []string{"create"}},
			{
				APIGroups: []string{shippedResource.Group}, Resources: registered,
				ResourceNames: []string{"graft"}, Verbs: []string{"get", "update", "delete"},
			},
		},
		Rules: map[string][]rbacv1.PolicyRule{namespace: {
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
			{
				APIGroups: []string{""}, Resources: []string{"secrets"},
				ResourceNames: []string{"interpreter"}, Verbs: []string{"get", "update"},
			},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
			{
				APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
				ResourceNames: []string{program, program + "-replicas"}, Verbs: []string{"get", "update"},
			},
		}},
	})
	Expect(err).NotTo(HaveOccurred(), "creating the account of the program")
}

// registrations defines ResourceInterpreterWebhookConfiguration with Karmada's fields; other fields are dropped, as
// there.
func registrations() *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	texts := apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}}
	number := apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int32"}
	of := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	list := func(items apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}}
	}
	type fields = map[string]apiextensionsv1.JSONSchemaProps
	webhook := of(fields{
		"name": text, "timeoutSeconds": number, "interpreterContextVersions": texts,
		"clientConfig": of(fields{
			"url": text, "caBundle": {Type: "string", Format: "byte"},
			"service": of(fields{"namespace": text, "name": text, "path": text, "port": number}),
		}),
		"rules": list(of(fields{"operations": texts, "apiGroups": texts, "apiVersions": texts, "kinds": texts})),
	})
	webhook.Required = []string{"clientConfig", "interpreterContextVersions", "name"}
	whole := of(fields{"webhooks": list(webhook)})
	whole.Required = []string{"webhooks"}
	const kind = "ResourceInterpreterWebhookConfiguration"
	names := apiextensionsv1.CustomResourceDefinitionNames{
		Kind: kind, ListKind: kind + "List",
		Plural: shippedResource.Resource, Singular: "resourceinterpreterwebhookconfiguration",
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: names.Plural + "." + shippedResource.Group,
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: shippedResource.Group, Names: names, Scope: apiextensionsv1.ClusterScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: shippedResource.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: ptr.To(whole)},
			}},
		},
	}
}

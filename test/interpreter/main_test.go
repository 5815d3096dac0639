// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// What all tests share; TestMain sets it.
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
	// patience bounds every wait.
	patience = 60 * time.Second
)

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, func(ctx context.Context, s *landscape.Suite) (err error) {
		if binary, err = env.Build(ctx, filepath.Join("..", ".."), program, s.Folder); err != nil {
			return err
		}
		if land, err = s.Start(ctx, landscape.Options{Without: landscape.AllCRDs()}); err != nil {
			return err
		}
		return prepare(ctx)
	}))
}

// exploring is the resource of the proposal's configurations.
var exploring = configuration.ResourceOf(api.KindReview)

// prepare makes the kind of registrations known, and an account that may do what the program needs and no more.
func prepare(ctx context.Context) error {
	if err := land.Client().Create(ctx, registrations()); err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(configuration.Definition(), crd); err != nil {
		return err
	}
	if err := land.Client().Create(ctx, crd); err != nil {
		return err
	}
	if err := land.InstallCRDs(ctx); err != nil { // none; it waits for those that are there
		return err
	}
	var err error
	if objects, err = dynamic.NewForConfig(land.Config()); err != nil {
		return err
	}
	if clients, err = kubernetes.NewForConfig(land.Config()); err != nil {
		return err
	}
	account, err = land.CreateServiceAccount(ctx, landscape.ServiceAccountOptions{
		Namespace: namespace, Name: "interpreter",
		ClusterRules: []rbacv1.PolicyRule{
			{APIGroups: []string{registration.Resource.Group}, Resources: []string{registration.Resource.Resource, exploring.Resource}, Verbs: []string{"create"}},
			{APIGroups: []string{registration.Resource.Group}, Resources: []string{registration.Resource.Resource, exploring.Resource},
				ResourceNames: []string{"graft"}, Verbs: []string{"get", "update", "delete"}},
		},
		Rules: map[string][]rbacv1.PolicyRule{namespace: {
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"interpreter"}, Verbs: []string{"get", "update"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{program, program + "-replicas"}, Verbs: []string{"get", "update"}},
		}},
	})
	return err
}

// registrations defines ResourceInterpreterWebhookConfiguration with the fields that Karmada has; others are dropped, as there.
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
		Kind: kind, ListKind: kind + "List", Plural: registration.Resource.Resource, Singular: "resourceinterpreterwebhookconfiguration",
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: names.Plural + "." + registration.Resource.Group,
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: registration.Resource.Group, Names: names, Scope: apiextensionsv1.ClusterScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: registration.Resource.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: ptr.To(whole)},
			}},
		},
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ServiceAccountOptions describe a ServiceAccount and its permissions.
type ServiceAccountOptions struct {
	// Namespace and Name of the account. A missing namespace is created.
	Namespace, Name string
	// ClusterRules apply in all namespaces.
	ClusterRules []rbacv1.PolicyRule
	// Rules apply in the namespaces that are their keys.
	Rules map[string][]rbacv1.PolicyRule
}

// Account is a ServiceAccount that a program can run as.
type Account struct {
	Config     *rest.Config
	Kubeconfig string // path of its kubeconfig file, in the landscape's folder
}

// CreateServiceAccount creates a ServiceAccount with exactly the given permissions (and those of every authenticated
// user) and a token that is valid for a day, so that a test can run a program with the permissions of its chart only.
// It returns when the permissions are active.
func (l *Landscape) CreateServiceAccount(ctx context.Context, options ServiceAccountOptions) (*Account, error) {
	account, err := l.createServiceAccount(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("creating service account %s/%s: %w", options.Namespace, options.Name, err)
	}
	return account, nil
}

func (l *Landscape) createServiceAccount(ctx context.Context, options ServiceAccountOptions) (*Account, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: options.Namespace}}
	if err := l.client.Create(ctx, namespace); client.IgnoreAlreadyExists(err) != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: options.Name}}
	for _, object := range append([]client.Object{account}, permissions(options)...) {
		if err := l.createOrUpdate(ctx, object); err != nil {
			return nil, err
		}
	}
	day := int64(24 * 60 * 60)
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}
	if err := l.client.SubResource("token").Create(ctx, account, token); err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(l.config)
	config.BearerToken = token.Status.Token
	if err := enforced(ctx, config, options); err != nil {
		return nil, err
	}
	path := filepath.Join(l.folder, options.Namespace+"."+options.Name+".kubeconfig")
	if err := writeKubeconfig(path, config); err != nil {
		return nil, err
	}
	return &Account{Config: config, Kubeconfig: path}, nil
}

// permissions returns the roles of an account and their bindings.
func permissions(options ServiceAccountOptions) []client.Object {
	name := options.Namespace + "-" + options.Name
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: options.Namespace, Name: options.Name}}
	var objects []client.Object
	if len(options.ClusterRules) > 0 {
		meta := metav1.ObjectMeta{Name: name}
		objects = append(objects,
			&rbacv1.ClusterRole{ObjectMeta: meta, Rules: options.ClusterRules},
			&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}})
	}
	for namespace, rules := range options.Rules {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		objects = append(objects,
			&rbacv1.Role{ObjectMeta: meta, Rules: slices.Clone(rules)},
			&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}})
	}
	return objects
}

// enforced returns when kube-apiserver lists all rules about resources for the account: it caches roles and bindings,
// and applies them some time after they were written.
func enforced(ctx context.Context, account *rest.Config, options ServiceAccountOptions) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	reviews, err := authorizationclient.NewForConfig(account)
	if err != nil {
		return err
	}
	all := map[string][]rbacv1.PolicyRule{metav1.NamespaceNone: options.ClusterRules}
	maps.Copy(all, options.Rules)
	for namespace, rules := range all {
		review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{
			Namespace: cmp.Or(namespace, metav1.NamespaceDefault),
		}}
		if err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			answer, err := reviews.SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && includes(answer.Status.ResourceRules, rules), err
		}); err != nil {
			return fmt.Errorf("waiting for its permissions in the namespace %q: %w", namespace, err)
		}
	}
	return nil
}

// includes reports whether all rules about resources are among those that apply.
func includes(applying []authorizationv1.ResourceRule, rules []rbacv1.PolicyRule) bool {
	return !slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return len(rule.Resources) > 0 && !slices.ContainsFunc(applying, func(a authorizationv1.ResourceRule) bool {
			return slices.Equal(a.Verbs, rule.Verbs) && slices.Equal(a.APIGroups, rule.APIGroups) &&
				slices.Equal(a.Resources, rule.Resources) && slices.Equal(a.ResourceNames, rule.ResourceNames)
		})
	})
}

// createOrUpdate writes an object, whether it exists or not.
func (l *Landscape) createOrUpdate(ctx context.Context, object client.Object) error {
	err := l.client.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	current, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return errors.New("an object lost its type by being copied")
	}
	if err := l.client.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
		return err
	}
	object.SetResourceVersion(current.GetResourceVersion())
	return l.client.Update(ctx, object)
}

// writeKubeconfig writes a kubeconfig file with one cluster and one user that has a token.
func writeKubeconfig(path string, config *rest.Config) error {
	const name = "landscape"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	content, err := clientcmd.Write(*file)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	gardenerextensions "github.com/gardener/gardener/pkg/extensions"
)

// waited is an Extension as gardenlet makes it and waits for it.
func waited(t *testing.T, namespace, name, extensionType string) *extensionsv1alpha1.Extension {
	t.Helper()
	e := &extensionsv1alpha1.Extension{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{
			"gardener.cloud/operation": "reconcile", "gardener.cloud/timestamp": time.Now().UTC().Format(time.RFC3339Nano),
		}},
		Spec: extensionsv1alpha1.ExtensionSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: extensionType}},
	}
	if err := land.Client().Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return e
}

// expectReady waits as gardenlet does.
func expectReady(t *testing.T, e *extensionsv1alpha1.Extension) {
	t.Helper()
	err := gardenerextensions.WaitUntilExtensionObjectReady(t.Context(), land.Client(), logr.Discard(), e, extensionsv1alpha1.ExtensionResource,
		20*time.Millisecond, patience, patience, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// expectShut waits for an error, and compares it.
func expectShut(t *testing.T, e *extensionsv1alpha1.Extension, text string) {
	t.Helper()
	eventually(t, "an error that gardenlet shows", func() error {
		if err := land.Client().Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
			return err
		}
		if e.Status.LastError == nil || !strings.Contains(e.Status.LastError.Description, text) {
			return fmt.Errorf("the status is %+v", e.Status)
		}
		return nil
	})
}

// expectUnanswered holds that an Extension is as it was made.
func expectUnanswered(t *testing.T, e *extensionsv1alpha1.Extension) {
	t.Helper()
	if err := land.Client().Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
		t.Fatal(err)
	}
	if e.Annotations["gardener.cloud/operation"] != "reconcile" || e.Status.LastOperation != nil || len(e.Finalizers) > 0 {
		t.Errorf("the Extension %s of the type %s was answered: %+v", e.Name, e.Spec.Type, e)
	}
}

// forbidRegistration takes the permission to register webhooks from the program of a namespace, and returns how it is given back.
func forbidRegistration(t *testing.T, namespace string) func() {
	t.Helper()
	role := &rbacv1.ClusterRole{}
	if err := land.Client().Get(t.Context(), client.ObjectKey{Name: namespace + "-" + programName}, role); err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(role.Rules)
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, "create") && rule.Resources[0] != "events"
	})
	if len(role.Rules) != len(all)-1 {
		t.Fatalf("of %d rules, %d are left", len(all), len(role.Rules))
	}
	if err := land.Client().Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	return func() {
		role.Rules = all
		if err := land.Client().Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGate checks that gardenlet waits for the webhooks if it waits for an Extension: with the permissions of the
// chart, and gardenlet's own functions.
func TestGate(t *testing.T) {
	var permit func()
	p := launch(t, programOptions{
		Profiles: map[string]string{"acme": setFlag("acme", "acme", "gate", "open")},
		Config:   "gate: {enabled: true}\n",
		Values:   map[string]any{"config": map[string]any{"gate": map[string]any{"enabled": true}}},
		Before:   func(namespace string) { permit = forbidRegistration(t, namespace) },
	})
	served, unserved, leftAlone := newShoot(t, "gated", "acme"), newShoot(t, "ungated", "nobody"), newShoot(t, "opted", "acme")
	optOut(t, leftAlone, "a test")
	e := waited(t, served, "graft", "graft")
	others := []*extensionsv1alpha1.Extension{waited(t, served, "other", "other"), waited(t, newShoot(t, "others", "acme"), "graft", "other")}
	expectShut(t, e, "The webhooks for this control plane are not in place: reading the registration")
	expectReady(t, waited(t, unserved, "graft", "graft"))
	expectReady(t, waited(t, leftAlone, "graft", "graft"))
	optOut(t, leftAlone, "") // others count opted-out ones
	expectShut(t, e, "not in place")

	permit()
	expectReady(t, e)
	if got := registered(t); !slices.Equal(got, []string{"controlplane.acme"}) {
		t.Errorf("gardenlet waits no longer, and registered is %q", got)
	}
	p.waitReady()
	syncWebhooks(t)
	expectFlags(t, create(t, deployment(served, "kube-controller-manager")), map[string]bool{"--gate=open": true})

	// A control plane that moves to another seed, and one that is deleted, also without a running program.
	if err := gardenerextensions.MigrateExtensionObject(t.Context(), land.Client(), e); err != nil {
		t.Fatal(err)
	}
	if err := gardenerextensions.WaitUntilExtensionObjectMigrated(t.Context(), land.Client(), e, extensionsv1alpha1.ExtensionResource, 20*time.Millisecond, patience); err != nil {
		t.Fatal(err)
	}
	for _, other := range others {
		expectUnanswered(t, other)
	}
	if status := p.stop(); status != 0 {
		t.Errorf("the program ended with %d", status)
	}
	if err := gardenerextensions.DeleteExtensionObject(t.Context(), land.Client(), e); err != nil {
		t.Fatal(err)
	}
	if err := land.Client().Get(t.Context(), client.ObjectKeyFromObject(e), e); !apierrors.IsNotFound(err) {
		t.Error(errors.Join(errors.New("the Extension is still there"), err))
	}
}

// TestNoGate checks that nothing is answered without the configuration, with permissions that do not allow it.
func TestNoGate(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "gate", "none")}})
	e := waited(t, newShoot(t, "no-gate", "acme"), "graft", "graft")
	expectFlags(t, create(t, deployment(e.Namespace, "kube-controller-manager")), map[string]bool{"--gate=none": true})
	expectUnanswered(t, e)
	if strings.Contains(p.log.String(), "forbidden") {
		t.Errorf("the program asks for more than it may:\n%s", p.log.Tail(10))
	}
}

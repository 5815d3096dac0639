// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// bench is a registrar over a fake API server that counts writes.
type bench struct {
	*Registrar
	registrations []mutation.Registration
	writes        int
	clock         *clocktesting.FakePassiveClock
}

// issue sets the CAs to trust.
func (b *bench) issue(bundle string) {
	b.Trust.current.Store(&issued{bundle: []byte(bundle), segments: []Segment{{Value: "s3gment"}}})
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))}
	b.registrations = []mutation.Registration{{Set: target.ControlPlane, Provider: "openstack", Forms: forms(t, "kube-apiserver")}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "extension-provider-graft", UID: "u", CreationTimestamp: metav1.NewTime(b.clock.Now())}}
	c := fake.NewClientBuilder().WithObjects(append(objects, namespace)...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.CreateOption) error {
			b.count(object)
			return c.Create(ctx, object, o...)
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.UpdateOption) error {
			b.count(object)
			return c.Update(ctx, object, o...)
		},
	}).Build()
	b.Registrar = &Registrar{
		Client: c, Endpoint: service, Trust: &Trust{}, SyncPeriod: 5 * time.Minute,
		Registrations: func() []mutation.Registration { return b.registrations },
		Direct:        c, Clock: b.clock,
		Installations: &Installations{Reader: c, Endpoint: service, Clock: b.clock},
	}
	b.issue("PEM")
	return b
}

// count counts writes of the registration of the webhooks.
func (b *bench) count(object client.Object) {
	if _, ok := object.(*admissionregistrationv1.MutatingWebhookConfiguration); ok {
		b.writes++
	}
}

func (b *bench) reconcile(t *testing.T) reconcile.Result {
	t.Helper()
	result, err := b.Reconcile(context.Background(), reconcile.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (b *bench) read(t *testing.T) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := b.Client.Get(context.Background(), client.ObjectKey{Name: service.Name}, current); err != nil {
		t.Fatal(err)
	}
	return current
}

func (b *bench) expect(t *testing.T, writes int, webhooks ...string) {
	t.Helper()
	if diff := cmp.Diff(webhooks, names(b.read(t).Webhooks)); diff != "" {
		t.Error(diff)
	}
	if b.writes != writes {
		t.Errorf("%d writes, want %d", b.writes, writes)
	}
}

const openstackName = "controlplane.openstack.graft.extensions.gardener.cloud"

func TestRegistrar(t *testing.T) {
	b, ctx := newBench(t), context.Background()
	if err := b.Check(ctx, true); err == nil {
		t.Error("ready before anything is registered")
	}
	if got := b.reconcile(t); got.RequeueAfter != 5*time.Minute {
		t.Errorf("the next look is in %s", got.RequeueAfter)
	}
	b.expect(t, 1, openstackName)
	if owner := b.read(t).OwnerReferences; len(owner) != 1 || owner[0].Kind != "Namespace" || owner[0].UID != "u" || *owner[0].BlockOwnerDeletion {
		t.Errorf("the owner is %+v", owner)
	}
	b.reconcile(t)
	b.expect(t, 1, openstackName)
	if err := b.Check(ctx, true); err != nil {
		t.Error(err)
	}

	b.registrations = append(b.registrations, mutation.Registration{Set: target.Exposure, Provider: "aws", Forms: forms(t, "etcd-main")})
	if b.Check(ctx, true) == nil || b.Check(ctx, false) != nil {
		t.Error("a new provider: the leader must wait for its registration, a replica that stands by need not")
	}
	b.reconcile(t)
	b.expect(t, 2, openstackName, "controlplaneexposure.aws.graft.extensions.gardener.cloud")

	b.issue("NEW PEM")
	before, err := b.RegisteredBundle(ctx)
	if b.Check(ctx, true) != nil || err != nil || string(before) != "PEM" {
		t.Errorf("during a rotation: want a ready registrar and the old bundle, got %q (%v)", before, err)
	}
	b.reconcile(t)
	if after, err := b.RegisteredBundle(ctx); err != nil || string(after) != "NEW PEM" {
		t.Errorf("after a rotation: want the new bundle, got %q (%v)", after, err)
	}
	if got := b.read(t).Webhooks[1].ClientConfig.CABundle; string(got) != "NEW PEM" {
		t.Errorf("the bundle is %s", got)
	}
}

func TestRegistrarRepairsRegistration(t *testing.T) {
	b := newBench(t)
	b.reconcile(t)
	edited := b.read(t)
	edited.Webhooks[0].NamespaceSelector = nil
	edited.Webhooks[0].MatchConditions = nil
	delete(edited.Labels, "remediation.webhook.shoot.gardener.cloud/exclude")
	edited.Annotations = map[string]string{"someone": "else"}
	edited.Labels["other"] = "label"
	if err := b.Client.Update(context.Background(), edited); err != nil {
		t.Fatal(err)
	}
	b.reconcile(t)
	got := b.read(t)
	if got.Webhooks[0].NamespaceSelector == nil || len(got.Webhooks[0].MatchConditions) != 2 || got.Labels["remediation.webhook.shoot.gardener.cloud/exclude"] != "true" {
		t.Errorf("the registration was not repaired: %+v", got)
	}
	if got.Annotations["someone"] != "else" || got.Labels["other"] != "label" {
		t.Errorf("labels or annotations of other clients were removed: %+v", got.ObjectMeta)
	}
}

func TestRegistrarConflict(t *testing.T) {
	b := newBench(t)
	b.reconcile(t)
	b.registrations = nil
	stale := b.read(t)
	b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
			if into, ok := object.(*admissionregistrationv1.MutatingWebhookConfiguration); ok {
				stale.DeepCopyInto(into)
				into.ResourceVersion = "0"
				return nil
			}
			return nil
		},
	})
	b.Direct = b.Client
	if got := b.reconcile(t); got.RequeueAfter != conflictRetry {
		t.Errorf("a conflict is looked at again in %s", got.RequeueAfter)
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// deleted is the time since when an object is being deleted.
var deleted = &metav1.Time{Time: time.Unix(1, 0)}

// managed returns the ManagedResource of the installation.
func managed(at *metav1.Time) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(managedResourceKind)
	object.ObjectMeta = metav1.ObjectMeta{
		Namespace: "garden", Name: "provider-graft", DeletionTimestamp: at, Finalizers: []string{"resources.gardener.cloud/gardener-resource-manager"},
	}
	return object
}

// isRegistered reports which of the two registrations exist.
func (b *bench) isRegistered(t *testing.T) (webhooks, validation bool) {
	t.Helper()
	key := client.ObjectKey{Name: service.Name}
	err := b.Direct.Get(t.Context(), key, &admissionregistrationv1.MutatingWebhookConfiguration{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	second := b.Direct.Get(t.Context(), key, &admissionregistrationv1.ValidatingWebhookConfiguration{})
	if client.IgnoreNotFound(second) != nil {
		t.Fatal(second)
	}
	return err == nil, second == nil
}

// TestUninstallDeletesRegistrations deletes the registrations where the installation is being removed, and not otherwise.
func TestUninstallDeletesRegistrations(t *testing.T) {
	for name, test := range map[string]struct {
		namespace *metav1.Time
		managed   *metav1.PartialObjectMetadata
		gone      bool
	}{
		"keeps the registration at a restart":                      {nil, managed(nil), false},
		"keeps the registration without Gardener":                  {nil, nil, false},
		"deletes the registration with the namespace":              {deleted, managed(nil), true},
		"deletes the registration with the ControllerInstallation": {nil, managed(deleted), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.ValidateProfiles = true
			b.reconcile(t)
			if webhooks, validation := b.isRegistered(t); !webhooks || !validation {
				t.Fatalf("registered are the webhooks: %v, the validation: %v", webhooks, validation)
			}
			b.ManagedResource = client.ObjectKey{Namespace: "garden", Name: "provider-graft"}
			b.Direct = metadataReader{b.Direct, test.namespace, test.managed}
			// As before the caches are filled.
			b.Installations.Reader = unstarted{}
			if err := b.Withdraw(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := b.Uninstalling(t.Context()); got != test.gone {
				t.Errorf("Uninstalling() = %v, want the opposite", got)
			}
			b.reconcile(t) // which must not write it again
			if webhooks, validation := b.isRegistered(t); webhooks == test.gone || validation == test.gone {
				t.Errorf("registered are the webhooks: %v, the validation: %v", webhooks, validation)
			}
		})
	}
}

// metadataReader returns the metadata of the namespace and of the ManagedResource with their times of deletion.
type metadataReader struct {
	client.Client
	namespace *metav1.Time
	managed   *metav1.PartialObjectMetadata
}

// Get implements client.Reader.
func (a metadataReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	metadata, ok := into.(*metav1.PartialObjectMetadata)
	switch {
	case !ok:
		return a.Client.Get(ctx, key, into, o...)
	case metadata.Kind == managedResourceKind.Kind && a.managed == nil:
		return &meta.NoKindMatchError{GroupKind: managedResourceKind.GroupKind()}
	case metadata.Kind == managedResourceKind.Kind:
		metadata.ObjectMeta = *a.managed.ObjectMeta.DeepCopy()
		return nil
	}
	err := a.Client.Get(ctx, key, into, o...)
	metadata.DeletionTimestamp = a.namespace
	return err
}

// unstarted is a cache that has not been started.
type unstarted struct{ client.Reader }

// Get implements client.Reader.
func (unstarted) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return &cache.ErrCacheNotStarted{}
}

// List implements client.Reader.
func (unstarted) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return &cache.ErrCacheNotStarted{}
}

// TestWithdrawWithoutPermission checks that a leader that loses its permissions during the removal ends without an
// error at each of its calls, and does not retry.
func TestWithdrawWithoutPermission(t *testing.T) {
	for name, allowed := range map[string]int{"every call": 0, "the list of installations": 1, "the first deletion": 2, "the second deletion": 3} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.ValidateProfiles = true
			b.reconcile(t)
			b.removed.Store(true) // as its informer has told
			calls := 0
			forbidden := func() error {
				if calls++; calls > allowed {
					return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
				}
				return nil
			}
			c := interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
					if _, ok := object.(*metav1.PartialObjectMetadata); !ok {
						if err := forbidden(); err != nil {
							return err
						}
					}
					return c.Get(ctx, key, object, o...)
				},
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
					if err := forbidden(); err != nil {
						return err
					}
					return c.List(ctx, list, o...)
				},
				Delete: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.DeleteOption) error {
					if err := forbidden(); err != nil {
						return err
					}
					return c.Delete(ctx, object, o...)
				},
			})
			b.Client, b.Direct = c, c
			for range 3 {
				if result := b.reconcile(t); result != (reconcile.Result{}) {
					t.Errorf("want no retry, got %+v", result)
				}
			}
			if calls != allowed+1 {
				t.Errorf("there were %d calls, want %d", calls, allowed+1)
			}
		})
	}
}

// TestRemovalWhileRegistering checks that a removal which begins while the leader compares the registration is no error either.
func TestRemovalWhileRegistering(t *testing.T) {
	b := newBench(t)
	b.Direct = interceptor.NewClient(b.Direct.(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			b.removed.Store(true)
			return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
		},
	})
	b.reconcile(t)
	b.removed.Store(false)
	b.Direct = interceptor.NewClient(b.Direct.(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
		},
	})
	if _, err := b.Reconcile(t.Context(), reconcile.Request{}); !apierrors.IsForbidden(err) {
		t.Errorf("without a removal: %v", err)
	}
}

// TestUninstallAnnouncesDeletionFirst checks that another installation gets the announcement before the registration is deleted.
func TestUninstallAnnouncesDeletionFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespace, registration := other("extension-next", time.Unix(1e9, 0), openstackName)
		b := newBench(t, namespace, registration)
		b.reconcile(t)
		b.removed.Store(true)
		started, ended := time.Now(), make(chan error)
		for range 2 { // as from two requests at a time
			go func() { ended <- b.Withdraw(t.Context()) }()
		}
		time.Sleep(noticeTime / 2)
		if got := b.read(t); got.Annotations[ServesAnnotation] != "" || len(got.Webhooks) == 0 {
			t.Errorf("want only the annotation removed before the delay has passed, got %+v", got)
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if webhooks, _ := b.isRegistered(t); webhooks || time.Since(started) < noticeTime {
			t.Errorf("after %s, the registration exists: %v", time.Since(started), webhooks)
		}
	})
}

// TestRemovalWaitsForAPIServers checks that deletions are held during the removal of the installation until no API server calls the
// webhooks.
func TestRemovalWaitsForAPIServers(t *testing.T) {
	for name, test := range map[string]struct {
		removed, dryRun bool
		err             error
		allowed, gone   bool
		wait            time.Duration
	}{
		"keeps everything at a restart":          {allowed: true},
		"a dry run":                              {removed: true, dryRun: true, allowed: true},
		"removes the registration and waits":     {removed: true, allowed: true, gone: true, wait: noticeTime},
		"allows the removal without permissions": {removed: true, err: apierrors.NewForbidden(schema.GroupResource{}, "", nil), allowed: true},
		"without the API server":                 {removed: true, err: apierrors.NewTimeoutError("", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.reconcile(t)
				b.removed.Store(test.removed)
				b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
					Delete: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.DeleteOption) error {
						if test.err != nil {
							return test.err
						}
						return c.Delete(ctx, object, o...)
					},
				})
				for range 2 { // the second deletion need not wait again
					started := time.Now()
					response := Removal{b.Registrar}.Handle(t.Context(), admission.Request{
						AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Delete, DryRun: &test.dryRun},
					})
					if took := time.Since(started); response.Allowed != test.allowed || took != test.wait {
						t.Errorf("allowed is %v after %s: %v", response.Allowed, took, response.Result)
					}
					if webhooks, validation := b.isRegistered(t); webhooks == test.gone || validation == test.gone {
						t.Errorf("registered are the webhooks: %v, the validation: %v", webhooks, validation)
					}
					test.wait = 0
				}
			})
		})
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

const (
	// NamespaceLabel on a registration has the namespace of its installation.
	NamespaceLabel = "graft.provider.extensions.gardener.cloud/namespace"
	// ServesAnnotation on a registration lists the webhooks that change objects. It excludes profiles that only
	// observe, and is empty before the installation is removed.
	ServesAnnotation = "graft.provider.extensions.gardener.cloud/serves"
	// yieldAfter is the time for which another installation must be registered before this one yields, so that every
	// API server calls the other one by then.
	yieldAfter = 30 * time.Second
)

// Installations finds the other installations in the cluster. While a seed moves from one ControllerRegistration to
// another, two installations serve the same providers. The one with the newer namespace changes their objects and the
// other answers without a change, so that they do not overwrite each other.
type Installations struct {
	// Reader reads registrations and the metadata of namespaces.
	Reader client.Reader
	// Endpoint is that of this installation.
	Endpoint Endpoint
	Clock    clock.PassiveClock

	mutex  sync.Mutex
	since  map[string]time.Time
	yields atomic.Pointer[map[string]bool]
}

// Refresh reads the webhooks that newer installations serve. After an error, the previous result stays valid.
func (i *Installations) Refresh(ctx context.Context) error {
	own, err := liveNamespace(ctx, i.Reader, i.Endpoint.Namespace)
	if err != nil || own == nil {
		return err
	}
	others, err := i.others(ctx, i.Reader)
	if err != nil {
		return err
	}
	served := map[string]bool{}
	for namespace, registration := range others {
		older := namespace.CreationTimestamp.Compare(own.CreationTimestamp.Time)
		if older < 0 || older == 0 && namespace.Name < own.Name {
			continue
		}
		for name := range strings.SplitSeq(registration.Annotations[ServesAnnotation], ",") {
			if name != "" {
				served[name] = true
			}
		}
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	now, since, yields := i.Clock.Now(), map[string]time.Time{}, map[string]bool{}
	for name := range served {
		if since[name] = now; !i.since[name].IsZero() {
			since[name] = i.since[name]
		}
		if now.Sub(since[name]) >= yieldAfter {
			yields[name] = true
		}
	}
	i.since = since
	if before := i.yields.Swap(&yields); before == nil && len(yields) > 0 || before != nil && !maps.Equal(*before, yields) {
		logf.FromContext(ctx).Info("Newer installations serve these webhooks; this installation does not", "webhooks", slices.Sorted(maps.Keys(yields)))
	}
	return nil
}

// Yields reports whether another installation changes the objects of a route.
func (i *Installations) Yields(r Route) bool {
	if i == nil {
		return false
	}
	yields := i.yields.Load()
	return yields != nil && len(*yields) > 0 &&
		(*yields)[webhookName(mutation.Registration{Set: r.Set, Provider: r.Provider, Garden: r.Garden})]
}

// others returns the registrations of the other installations by namespace, without namespaces that are missing or
// being deleted.
func (i *Installations) others(
	ctx context.Context, from client.Reader,
) (map[*metav1.PartialObjectMetadata]*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	list := &admissionregistrationv1.MutatingWebhookConfigurationList{}
	if err := from.List(ctx, list, client.MatchingLabels{nameLabel: i.Endpoint.Service}); err != nil {
		return nil, fmt.Errorf("listing the registrations of other installations: %w", err)
	}
	others := map[*metav1.PartialObjectMetadata]*admissionregistrationv1.MutatingWebhookConfiguration{}
	for at := range list.Items {
		name := list.Items[at].Labels[NamespaceLabel]
		if name == "" || name == i.Endpoint.Namespace {
			continue
		}
		namespace, err := liveNamespace(ctx, from, name)
		if err != nil {
			return nil, err
		}
		if namespace != nil {
			others[namespace] = &list.Items[at]
		}
	}
	return others, nil
}

// liveNamespace reads the metadata of a namespace from the facts' cache. It returns nil if the namespace is
// missing or being deleted.
func liveNamespace(ctx context.Context, from client.Reader, name string) (*metav1.PartialObjectMetadata, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := from.Get(ctx, client.ObjectKey{Name: name}, namespace)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the namespace %s: %w", name, err)
	case namespace.DeletionTimestamp != nil:
		return nil, nil
	}
	return namespace, nil
}

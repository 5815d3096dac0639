// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
)

// OptOutAnnotation disables Graft for the control plane in a namespace: its objects are admitted unchanged. The
// value is the reason, for people; any value except "" counts.
const OptOutAnnotation = annotation.OptOut

// OptOuts finds the namespaces with OptOutAnnotation.
type OptOuts struct {
	// Reader reads the metadata of namespaces from a cache, so that an admission needs no request.
	Reader client.Reader
}

// Contains reports whether the namespace is opted out. A nil OptOuts contains none.
func (o *OptOuts) Contains(ctx context.Context, name string) bool {
	if o == nil {
		return false
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := o.Reader.Get(ctx, client.ObjectKey{Name: name}, namespace, &client.GetOptions{UnsafeDisableDeepCopy: ptr.To(true)})
	return err == nil && optedOut(namespace) != ""
}

// cacheTimeout limits reads from caches for metrics.
const cacheTimeout = 2 * time.Second

// Count returns the number of namespaces that are opted out.
func (o *OptOuts) Count() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), cacheTimeout)
	defer cancel()
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if o.Reader.List(ctx, namespaces, &client.ListOptions{UnsafeDisableDeepCopy: ptr.To(true)}) != nil {
		return 0
	}
	count := 0
	for i := range namespaces.Items {
		if optedOut(&namespaces.Items[i]) != "" {
			count++
		}
	}
	return float64(count)
}

// optedOut returns the reason for which a namespace is opted out, or "".
func optedOut(namespace any) string {
	if object, ok := namespace.(metav1.Object); ok {
		return object.GetAnnotations()[OptOutAnnotation]
	}
	return ""
}

// AddOptOuts registers the metric of opted-out namespaces, and logs changes. Its watch also fills the cache of namespaces
// before the first admission needs it. It fails if the watch cannot be started.
func AddOptOuts(ctx context.Context, mgr manager.Manager, registry prometheus.Registerer) (*OptOuts, error) {
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	informer, err := mgr.GetCache().GetInformer(ctx, namespaces)
	if err != nil {
		return nil, fmt.Errorf("watching namespaces for %s: %w", OptOutAnnotation, err)
	}
	log := mgr.GetLogger().WithName("opt-outs")
	report := func(before, after any) {
		was, reason := optedOut(before), optedOut(after)
		name := after.(metav1.Object).GetName()
		switch {
		case reason == "" && was != "":
			log.Info("A control plane is mutated again", "namespace", name)
		case reason != "" && was == "":
			log.Info("A control plane is not mutated", "namespace", name, "annotation", OptOutAnnotation, "reason", reason)
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(namespace any) { report(nil, namespace) }, UpdateFunc: report,
	}); err != nil {
		return nil, fmt.Errorf("watching namespaces for %s: %w", OptOutAnnotation, err)
	}
	o := &OptOuts{mgr.GetCache()}
	return o, registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "graft_opted_out_namespaces",
		Help: "Control planes that are not mutated because of an annotation or label of their namespace.",
	}, o.Count))
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
)

// OptOutAnnotation disables Graft for the control plane in a namespace: its objects are admitted unchanged. The
// value is the reason, for people; any value except "" counts.
const OptOutAnnotation = annotation.OptOut

// OptOuts has the namespaces with OptOutAnnotation. Informers update it, so that an admission needs no request.
// Use NewOptOuts instead of the zero value.
type OptOuts struct {
	log     logr.Logger
	metrics *Metrics

	lock    sync.RWMutex
	reasons map[string]string // by namespace
	synced  func() bool
}

// NewOptOuts returns an empty set.
func NewOptOuts(metrics *Metrics, log logr.Logger) *OptOuts {
	return &OptOuts{log: log, metrics: metrics, reasons: map[string]string{}, synced: func() bool { return true }}
}

// Contains reports whether the namespace is opted out. A nil set is empty.
func (o *OptOuts) Contains(namespace string) bool {
	if o == nil {
		return false
	}
	o.lock.RLock()
	defer o.lock.RUnlock()
	_, out := o.reasons[namespace]
	return out
}

// Synced reports whether all namespaces that existed at start were read.
func (o *OptOuts) Synced() bool { return o.synced() }

// AddOptOuts watches the namespaces. It fails if the watch cannot be started.
func AddOptOuts(ctx context.Context, mgr manager.Manager, o *OptOuts) error {
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	informer, err := mgr.GetCache().GetInformer(ctx, namespaces)
	if err != nil {
		return fmt.Errorf("watching namespaces for %s: %w", OptOutAnnotation, err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(namespace any) { o.see(namespace) },
		UpdateFunc: func(_, namespace any) { o.see(namespace) },
		DeleteFunc: func(namespace any) { o.forget(namespace) },
	})
	if err != nil {
		return fmt.Errorf("watching namespaces for %s: %w", OptOutAnnotation, err)
	}
	o.synced = registration.HasSynced
	return nil
}

func (o *OptOuts) see(namespace any) {
	if n, ok := namespace.(metav1.Object); ok {
		o.set(n.GetName(), n.GetAnnotations()[OptOutAnnotation])
	}
}

func (o *OptOuts) forget(namespace any) {
	if last, ok := namespace.(toolscache.DeletedFinalStateUnknown); ok {
		namespace = last.Obj
	}
	if n, ok := namespace.(metav1.Object); ok {
		o.set(n.GetName(), "")
	}
}

// set stores the annotation of a namespace, and logs a change once.
func (o *OptOuts) set(namespace, reason string) {
	o.lock.Lock()
	defer o.lock.Unlock()
	before, was := o.reasons[namespace]
	switch reason {
	case before:
		return
	case "":
		delete(o.reasons, namespace)
		o.log.Info("A control plane is mutated again", "namespace", namespace)
	default:
		o.reasons[namespace] = reason
		if !was {
			o.log.Info("A control plane is not mutated", "namespace", namespace, "annotation", OptOutAnnotation, "reason", reason)
		}
	}
	o.metrics.optedOut.Set(float64(len(o.reasons)))
}

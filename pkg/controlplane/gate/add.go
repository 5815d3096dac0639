// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
)

// Add runs the gate in the leader with a cache of the Extensions with its name only: at most one per namespace. The
// custom resource definition may be created later.
func Add(mgr manager.Manager, g *Gate) error {
	extensions, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultFieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, g.Type),
		DefaultTransform:     cache.TransformStripManagedFields(),
	})
	if err != nil {
		return fmt.Errorf("making the cache of Extensions: %w", err)
	}
	if err := mgr.Add(extensions); err != nil {
		return fmt.Errorf("adding the cache of Extensions: %w", err)
	}
	g.Extensions = extensions
	c, err := controller.New("gate", mgr, controller.Options{Reconciler: g, MaxConcurrentReconciles: 5})
	if err != nil {
		return fmt.Errorf("adding the gate: %w", err)
	}
	if err := c.Watch(source.Kind(extensions, &extensionsv1alpha1.Extension{}, &handler.TypedEnqueueRequestForObject[*extensionsv1alpha1.Extension]{})); err != nil {
		return fmt.Errorf("watching Extensions: %w", err)
	}
	return nil
}

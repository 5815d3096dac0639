// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/gate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
)

// addGate has the replica that leads answer the Extension resources by which gardenlet waits, where that is wanted. Beside a virtual garden nothing waits: the
// shoots of a seed in the same cluster are answered by the installation of the seed.
func (o *Installation) addGate(mgr manager.Manager, store *webhook.Store, registrar *webhook.Registrar) error {
	if !o.Config.Gate.Enabled || strings.HasPrefix(o.Certificates.Namespace, RuntimeNamespacePrefix) {
		return nil
	}
	serving := o.serving(registrar)
	return gate.Add(mgr, &gate.Gate{
		Type: o.Config.Gate.Type, Namespaces: mgr.GetAPIReader(), Writer: mgr.GetClient(), Clock: clock.RealClock{},
		Serve: func(ctx context.Context, namespace metav1.Object) error {
			if namespace.GetAnnotations()[webhook.OptOutAnnotation] != "" {
				return nil
			}
			if err := store.Denied(namespace.GetLabels()); err != nil {
				return err
			}
			served, err := registrar.Covers(ctx, namespace.GetLabels())
			if err != nil || !served {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, checkTimeout)
			defer cancel()
			return serving.Check(ctx)
		},
	})
}

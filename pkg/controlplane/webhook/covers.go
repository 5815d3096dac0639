// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// Covers reports whether the active profiles have rules for a namespace with these labels. If so, it returns an
// error that lists the webhooks that are not registered correctly. Like Check, it ignores CAs and segments.
func (r *Registrar) Covers(ctx context.Context, namespace map[string]string) (bool, error) {
	registrations := slices.Clone(r.Registrations())
	registrations = slices.DeleteFunc(registrations, func(registration mutation.Registration) bool { return !selects(registration, namespace) })
	if len(registrations) == 0 {
		return false, nil
	}
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, current); err != nil {
		return true, fmt.Errorf("reading the registration: %w", err)
	}
	var missing []string
	there := withoutSecrets(current.Webhooks)
	for _, desired := range withoutSecrets(r.Endpoint.Configuration(registrations, nil, "").Webhooks) {
		if !slices.ContainsFunc(there, func(w admissionregistrationv1.MutatingWebhook) bool { return equality.Semantic.DeepEqual(w, desired) }) {
			missing = append(missing, desired.Name)
		}
	}
	if len(missing) > 0 {
		return true, fmt.Errorf("not registered, or not as the active profiles require: %s", strings.Join(missing, ", "))
	}
	return true, nil
}

// selects reports whether the API server calls the webhook of a registration for a namespace with these labels.
func selects(r mutation.Registration, namespace map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(namespaceSelector(r))
	return err == nil && selector.Matches(labels.Set(namespace))
}

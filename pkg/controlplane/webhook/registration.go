// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// The modes by which kube-apiserver reaches the program: the flag --webhook-config-mode of every Gardener extension.
const (
	// ModeService: by the Service in the program's namespace.
	ModeService = extensionswebhook.ModeService
	// ModeURL: by host:port, where the program runs outside the cluster.
	ModeURL = extensionswebhook.ModeURL
)

// webhookDomain is the suffix of all webhooks' names, in the form of Gardener's library.
const webhookDomain = ".graft.extensions.gardener.cloud"

// Endpoint configures how the API server reaches the program, and its reaction to failures.
type Endpoint struct {
	// Name is the name of the MutatingWebhookConfiguration, which identifies the installation in the cluster.
	Name string
	// Service is the name of the Service in ModeService, and of the program in labels.
	Service string
	// Mode is ModeService or ModeURL.
	Mode string
	// URL is host:port in ModeURL.
	URL string
	// Namespace is the program's namespace, which also has the Service in ModeService.
	Namespace string
	// ServicePort is the port of the Service in ModeService.
	ServicePort int32
	// TimeoutSeconds is the API server's timeout.
	TimeoutSeconds int32
	// FailurePolicy is Fail or Ignore.
	FailurePolicy admissionregistrationv1.FailurePolicyType
}

// nameLabel is the label with the program's name.
const nameLabel = "app.kubernetes.io/name"

// Configuration returns the registration of all webhooks of the active program, at paths with the segment. The
// rules contain resources, which need not exist: a CRD that is installed later matches without a change.
func (e Endpoint) Configuration(registrations []mutation.Registration, bundle []byte, segment string) *admissionregistrationv1.MutatingWebhookConfiguration {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{
			Name: e.Name,
			Labels: map[string]string{
				nameLabel:      e.Service,
				NamespaceLabel: e.Namespace,
				// gardenlet reports and repairs webhooks that affect shoots; extensions are exempt, as in
				// Gardener's library (gardener: extensions/pkg/webhook/registration.go, InitialWebhookConfig).
				v1beta1constants.LabelExcludeWebhookFromRemediation: "true",
			},
		},
	}
	var serves []string
	for _, registration := range registrations {
		configuration.Webhooks = append(configuration.Webhooks, e.webhook(registration, bundle, segment))
		if !registration.Observed {
			serves = append(serves, webhookName(registration))
		}
	}
	configuration.Annotations = map[string]string{ServesAnnotation: strings.Join(serves, ",")}
	return configuration
}

func (e Endpoint) webhook(r mutation.Registration, bundle []byte, segment string) admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name:         webhookName(r),
		ClientConfig: e.clientConfig(RouteOf(r).Path(segment), bundle),
		Rules:        rules(r.Forms),
		// A control plane without its cloud's changes is worse than one that waits: gardenlet retries, but
		// would not notice missing changes. The installation may choose another policy.
		FailurePolicy: ptr.To(e.FailurePolicy),
		// Objects in another version of their API are converted to the registered one, not skipped.
		MatchPolicy:       ptr.To(admissionregistrationv1.Equivalent),
		NamespaceSelector: namespaceSelector(r),
		// The object selector is empty: Deployments of older Gardener versions, and Etcds and StatefulSet
		// vpn-seed-server, lack Gardener's mutated-by label. The match conditions below select by name.
		ObjectSelector: &metav1.LabelSelector{},
		// An admission has no side effects, so that dry runs are supported.
		SideEffects:    ptr.To(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds: ptr.To(e.TimeoutSeconds),
		// the only supported version
		AdmissionReviewVersions: []string{"v1"},
		// A later webhook may add a container or reset a flag. Rules are idempotent, so that a second call is
		// cheap and changes nothing that is correct.
		ReinvocationPolicy: ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
		MatchConditions:    matchConditions(r.Forms),
	}
}

// validatingWebhook returns a webhook for objects in the program's namespace, which are written or deleted although no
// replica answers.
func (e Endpoint) validatingWebhook(name string, config admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: name + webhookDomain, ClientConfig: config,
		FailurePolicy: ptr.To(admissionregistrationv1.Ignore), MatchPolicy: ptr.To(admissionregistrationv1.Equivalent),
		NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.Namespace}},
		AdmissionReviewVersions: []string{"v1"},
	}
}

func (e Endpoint) clientConfig(path string, bundle []byte) admissionregistrationv1.WebhookClientConfig {
	if e.Mode == ModeURL {
		return admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + e.URL + path), CABundle: bundle}
	}
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{
			Namespace: e.Namespace, Name: e.Service, Port: ptr.To(e.ServicePort), Path: &path,
		},
		CABundle: bundle,
	}
}

// ServerName returns the host name that the API server requires in the certificate.
func (e Endpoint) ServerName() string {
	if e.Mode == ModeURL {
		host, _, err := net.SplitHostPort(e.URL)
		if err != nil {
			return e.URL
		}
		return host
	}
	return e.Service + "." + e.Namespace + ".svc"
}

// webhookName returns <set>.<provider>.graft.extensions.gardener.cloud. If the provider, a label value, is not
// valid in a DNS name, it is replaced by a part of its hash.
func webhookName(r mutation.Registration) string {
	if r.Garden {
		return "garden." + string(r.Set) + webhookDomain
	}
	name := string(r.Set) + "." + r.Provider + webhookDomain
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		sum := sha256.Sum256([]byte(r.Provider))
		name = string(r.Set) + "." + hex.EncodeToString(sum[:])[:16] + webhookDomain
	}
	return name
}

// namespaceSelector returns a selector for the label with which gardenlet marks the provider. The garden
// namespace has none and is selected by name.
func namespaceSelector(r mutation.Registration) *metav1.LabelSelector {
	key, value := r.Set.NamespaceLabel(), r.Provider
	if r.Garden {
		key, value = "kubernetes.io/metadata.name", target.GardenNamespace
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}},
	}}
}

// selects reports whether the API server calls the webhook of a registration for a namespace with these labels.
func selects(r mutation.Registration, namespace map[string]string) bool {
	return r.Selects(namespace[corev1.LabelMetadataName], namespace)
}

// rules returns the resources of the forms, one rule for each API version. Subresources (scale, status) have
// nothing to mutate.
func rules(forms []target.Form) []admissionregistrationv1.RuleWithOperations {
	var out []admissionregistrationv1.RuleWithOperations
	for _, form := range forms {
		i := slices.IndexFunc(out, func(r admissionregistrationv1.RuleWithOperations) bool {
			return r.APIGroups[0] == form.Group && r.APIVersions[0] == form.Version
		})
		if i < 0 {
			i = len(out)
			out = append(out, admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{form.Group}, APIVersions: []string{form.Version},
					Scope: ptr.To(admissionregistrationv1.NamespacedScope),
				},
			})
		}
		if !slices.Contains(out[i].Resources, form.Resource) {
			out[i].Resources = append(out[i].Resources, form.Resource)
			slices.Sort(out[i].Resources)
		}
	}
	return out
}

// matchConditions returns conditions that exclude objects that are no targets: other Deployments of a control
// plane, other Etcds, and objects that only wait for their finalizers.
func matchConditions(forms []target.Form) []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{
		{Name: "is-a-target", Expression: isTarget(forms)},
		// An error in a condition denies the object with FailurePolicy Fail, so that has() is required for the
		// usual case of metadata without the field.
		{Name: "is-not-being-deleted", Expression: "!has(object.metadata.deletionTimestamp)"},
	}
}

// isTarget returns a CEL expression for kind and name. A form without a name matches every object of its kind.
func isTarget(forms []target.Form) string {
	type kind struct{ group, kind string }
	var kinds []kind
	names := map[kind][]string{}
	for _, form := range forms {
		k := kind{form.Group, form.Kind}
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
		names[k] = append(names[k], form.Name)
	}
	alternatives := make([]string, len(kinds))
	for i, k := range kinds {
		alternatives[i] = fmt.Sprintf("request.kind.group == %q && request.kind.kind == %q", k.group, k.kind)
		if slices.Contains(names[k], "") {
			continue
		}
		alternatives[i] += " && " + isNamed(names[k])
	}
	return "(" + strings.Join(alternatives, ") || (") + ")"
}

// isNamed returns a CEL expression that matches one of the names; a name that ends with * is a prefix.
func isNamed(names []string) string {
	slices.Sort(names)
	var exact, alternatives []string
	for _, name := range slices.Compact(names) {
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			alternatives = append(alternatives, fmt.Sprintf("request.name.startsWith(%q)", prefix))
		} else {
			exact = append(exact, fmt.Sprintf("%q", name))
		}
	}
	if len(exact) > 0 {
		alternatives = append([]string{"request.name in [" + strings.Join(exact, ", ") + "]"}, alternatives...)
	}
	condition := strings.Join(alternatives, " || ")
	if len(alternatives) > 1 {
		condition = "(" + condition + ")"
	}
	// The request has no name if an object is created with generateName.
	return "has(request.name) && " + condition
}

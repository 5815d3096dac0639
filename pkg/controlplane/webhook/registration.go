// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// The modes in which the API server reaches the program; the flag --webhook-config-mode of every Gardener extension.
const (
	// ModeService: by the Service in the program's namespace.
	ModeService = extensionswebhook.ModeService
	// ModeURL: by host:port, where the program runs outside the cluster.
	ModeURL = extensionswebhook.ModeURL
)

// webhookDomain ends the name of every webhook, in the pattern of Gardener's library.
const webhookDomain = ".graft.extensions.gardener.cloud"

// Endpoint says how the API server reaches the program and what it does when it cannot.
type Endpoint struct {
	// Name is the name of the MutatingWebhookConfiguration, that of the installation in the cluster.
	Name string
	// Service is the name of the Service in ModeService, and of the program in labels.
	Service string
	// Mode is ModeService or ModeURL.
	Mode string
	// URL is host:port in ModeURL.
	URL string
	// Namespace and ServicePort are those of the Service in ModeService.
	Namespace   string
	ServicePort int32
	// TimeoutSeconds is how long the API server waits.
	TimeoutSeconds int32
	// FailurePolicy is Fail or Ignore.
	FailurePolicy admissionregistrationv1.FailurePolicyType
}

// nameLabel names the program.
const nameLabel = "app.kubernetes.io/name"

// Configuration is the registration of all webhooks that the program in force needs, at paths with the segment. The rules name resources, not kinds
// that would have to exist: a CRD that is installed later starts to match by itself.
func (e Endpoint) Configuration(registrations []mutation.Registration, bundle []byte, segment string) *admissionregistrationv1.MutatingWebhookConfiguration {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{
			Name: e.Name,
			Labels: map[string]string{
				nameLabel: e.Service,
				// gardenlet reports and repairs webhooks that hurt shoots; extensions are exempt, as in Gardener's library
				// (gardener: extensions/pkg/webhook/registration.go, InitialWebhookConfig).
				v1beta1constants.LabelExcludeWebhookFromRemediation: "true",
			},
		},
	}
	if e.Namespace != "" {
		configuration.Labels[NamespaceLabel] = e.Namespace
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
		// A control plane that comes up without its cloud's changes is worse than one that waits: gardenlet tries again, and
		// an object without the changes would not be noticed. The installation may choose otherwise.
		FailurePolicy: ptr.To(e.FailurePolicy),
		// An object written through another version of its API is converted to the one registered, rather than let through.
		MatchPolicy:       ptr.To(admissionregistrationv1.Equivalent),
		NamespaceSelector: namespaceSelector(r),
		// No label of the objects is asked for. Neither the older generation's Deployments nor today's Etcds and the
		// StatefulSet vpn-seed-server carry Gardener's mutated-by label; the match conditions below select by name.
		ObjectSelector: &metav1.LabelSelector{},
		// An admission writes nothing outside the object, so that dry runs may call it too.
		SideEffects:    ptr.To(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds: ptr.To(e.TimeoutSeconds),
		// Only the version that is read.
		AdmissionReviewVersions: []string{"v1"},
		// A webhook that runs later may add a container or reset a flag. Rules are idempotent, so that a second call costs
		// little and changes nothing that is right already.
		ReinvocationPolicy: ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
		MatchConditions:    matchConditions(r.Forms),
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

// webhookName is <set>.<provider>.graft.extensions.gardener.cloud. The API server wants a DNS name, and a label value need
// not be part of one: it is then told by a part of its hash.
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

// namespaceSelector is the label by which gardenlet names the provider. The garden namespace has none, and is selected by
// its name.
func namespaceSelector(r mutation.Registration) *metav1.LabelSelector {
	key, value := r.Set.NamespaceLabel(), r.Provider
	if r.Garden {
		key, value = "kubernetes.io/metadata.name", target.GardenNamespace
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}},
	}}
}

// rules are the resources of the forms, one rule for each API version. Subresources (scale, status) hold nothing to mutate.
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

// matchConditions keep everything in the API server that is no target: the other Deployments of a control plane, the Etcds
// that nobody mutates, and objects that only wait for their finalizers.
func matchConditions(forms []target.Form) []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{
		{Name: "is-a-target", Expression: isTarget(forms)},
		// An error in a condition denies with FailurePolicy Fail, hence has(): metadata without the field is the usual case.
		{Name: "is-not-being-deleted", Expression: "!has(object.metadata.deletionTimestamp)"},
	}
}

// isTarget is a CEL expression over kind and name. A form without a name means every object of its kind.
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
	// The request has no name when an object is created with generateName.
	return "has(request.name) && " + condition
}

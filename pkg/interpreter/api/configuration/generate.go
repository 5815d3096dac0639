// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"cmp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
)

// WebhookName is the name of the only webhook of a configuration that is written here.
const WebhookName = "interpreter.graft.provider.extensions.gardener.cloud"

// Endpoint is where a webhook is.
type Endpoint struct {
	// URL or Service is where it is called. Karmada's agents in member clusters call it, too: they know no services of the control plane.
	URL     string
	Service *admissionv1.ServiceReference
	// CABundle are the certificates, in PEM, by which callers know it.
	CABundle []byte
	// TimeoutSeconds is how long it is waited for. Default DefaultTimeoutSeconds, which is written down.
	TimeoutSeconds int32
}

// Interpreter says what is asked about kinds, as it is shipped: of each kind what it has answers for, and nothing else. Karmada has no way to be told that
// there is none, so that there is never a star for operations or kinds. Prune is left out, which Karmada does not register, and so are the components of
// kinds that are revised.
func Interpreter(name string, kinds []interpreter.Known, e Endpoint) *ResourceInterpreterWebhookConfiguration {
	w := ResourceInterpreterWebhook{Name: WebhookName, ClientConfig: e.client(), TimeoutSeconds: e.timeout(), InterpreterContextVersions: slices.Clone(versions)}
	for _, s := range setsOf(interpreter.WithoutExcluded(kinds), registered(api.KindContext, interpreterOperations)) {
		w.Rules = append(w.Rules, InterpreterRule{Operations: s.operations, APIGroups: []string{s.group}, APIVersions: s.versions, Kinds: s.kinds})
	}
	c := &ResourceInterpreterWebhookConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: KindInterpreter}, ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []ResourceInterpreterWebhook{w},
	}
	c.Default()
	return c
}

// Exploring is the same as the proposal has it. It names resources: plural gives that of a kind; nil: as Resource does.
func Exploring(name string, kinds []interpreter.Known, plural func(interpreter.Kind) string, e Endpoint) *ResourceExploringWebhookConfiguration {
	if plural == nil {
		plural = Resource
	}
	w := ResourceExploringWebhook{Name: WebhookName, ClientConfig: e.client(), TimeoutSeconds: e.timeout(), ExploreReviewVersions: slices.Clone(versions)}
	for _, s := range setsOf(kinds, registered(api.KindReview, exploringOperations)) {
		r := ExploringRule{Operations: s.operations, Rule: admissionv1.Rule{APIGroups: []string{s.group}, APIVersions: s.versions}}
		for _, kind := range s.kinds {
			r.Resources = append(r.Resources, plural(interpreter.Kind{Group: s.group, Version: s.versions[0], Kind: kind}))
		}
		slices.Sort(r.Resources)
		r.Resources = slices.Compact(r.Resources)
		w.Rules = append(w.Rules, r)
	}
	c := &ResourceExploringWebhookConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: KindExploring}, ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []ResourceExploringWebhook{w},
	}
	c.Default()
	return c
}

// Resource is the resource of a kind as Kubernetes guesses it: backupentries for BackupEntry.
func Resource(k interpreter.Kind) string {
	guessed, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind})
	return guessed.Resource
}

func (e Endpoint) client() admissionv1.WebhookClientConfig {
	c := admissionv1.WebhookClientConfig{Service: e.Service.DeepCopy(), CABundle: slices.Clone(e.CABundle)}
	if e.URL != "" {
		c.URL = &e.URL
	}
	return c
}

func (e Endpoint) timeout() *int32 {
	seconds := cmp.Or(e.TimeoutSeconds, DefaultTimeoutSeconds)
	return &seconds
}

// registered are the names of operations that a dialect lets be registered.
func registered(dialect string, allowed []string) map[interpreter.Operation]string {
	named := map[interpreter.Operation]string{}
	for name, o := range api.Operations(dialect) {
		if slices.Contains(allowed, name) {
			named[o] = name
		}
	}
	return named
}

// set are kinds of a group that have the same answers in the same versions.
type set struct {
	group                       string
	versions, kinds, operations []string
}

// key tells sets apart by all but one part of them.
func (s *set) key(part []string) string {
	return strings.Join([]string{s.group, strings.Join(s.operations, ","), strings.Join(part, ",")}, "/")
}

// setsOf puts together what belongs together: first the versions of a kind, and then the kinds. Nothing is in them that is not among the kinds.
func setsOf(kinds []interpreter.Known, names map[interpreter.Operation]string) []*set {
	var sets []*set
	for _, k := range kinds {
		s := &set{group: k.Group, versions: []string{k.Version}, kinds: []string{k.Kind.Kind}}
		for _, o := range interpreter.Operations() {
			if name := names[o]; name != "" && slices.Contains(k.Operations, o) && !inAll(kinds, k, o) {
				s.operations = append(s.operations, name)
			}
		}
		if len(s.operations) > 0 {
			sets = append(sets, s)
		}
	}
	sets = united(sets, func(s *set) *[]string { return &s.versions }, func(s *set) []string { return s.kinds })
	sets = united(sets, func(s *set) *[]string { return &s.kinds }, func(s *set) []string { return s.versions })
	slices.SortFunc(sets, func(a, b *set) int {
		return cmp.Or(cmp.Compare(a.group, b.group), slices.Compare(a.kinds, b.kinds), slices.Compare(a.versions, b.versions),
			slices.Compare(a.operations, b.operations))
	})
	return sets
}

// inAll says whether an operation of a kind is among those of all its versions already.
func inAll(kinds []interpreter.Known, k interpreter.Known, o interpreter.Operation) bool {
	return k.Version != All && slices.ContainsFunc(kinds, func(other interpreter.Known) bool {
		return other.Group == k.Group && other.Kind.Kind == k.Kind.Kind && other.Version == All && slices.Contains(other.Operations, o)
	})
}

// united are sets of which those that differ in one part only have become one.
func united(sets []*set, part func(*set) *[]string, rest func(*set) []string) []*set {
	var all []*set
	at := map[string]*set{}
	for _, s := range sets {
		key := s.key(rest(s))
		if at[key] == nil {
			at[key] = s
			all = append(all, s)
			continue
		}
		*part(at[key]) = append(*part(at[key]), *part(s)...)
	}
	for _, s := range all {
		slices.Sort(*part(s))
		*part(s) = slices.Compact(*part(s))
	}
	return all
}

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

// WebhookName is the name of the one webhook in a generated configuration.
const WebhookName = "interpreter.graft.provider.extensions.gardener.cloud"

// Generate returns the configuration of a dialect for kinds. See Interpreter and Exploring.
func Generate(dialect, name string, kinds []interpreter.Known, e Endpoint) Object {
	if dialect == api.KindReview {
		return Exploring(name, kinds, e)
	}
	return Interpreter(name, kinds, e)
}

// Interpreter returns a configuration in Karmada's dialect with exactly the operations that have rules. It
// never uses * for operations or kinds, because a webhook cannot tell Karmada that it has no answer. It omits
// Prune, which Karmada does not register, and the components of kinds that have Revise (see WithoutExcluded).
func Interpreter(name string, kinds []interpreter.Known, e Endpoint) *ResourceInterpreterWebhookConfiguration {
	w := ResourceInterpreterWebhook{Name: WebhookName, ClientConfig: e.client(), TimeoutSeconds: e.timeout(), InterpreterContextVersions: []string{api.Version}}
	for _, s := range setsOf(interpreter.WithoutExcluded(kinds), registered(api.KindContext)) {
		w.Rules = append(w.Rules, InterpreterRule{Operations: s.operations, APIGroups: []string{s.group}, APIVersions: s.versions, Kinds: s.kinds})
	}
	c := &ResourceInterpreterWebhookConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: KindInterpreter}, ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []ResourceInterpreterWebhook{w},
	}
	c.Default()
	return c
}

// Exploring returns a configuration in the proposal's dialect, which names resources instead of kinds.
func Exploring(name string, kinds []interpreter.Known, e Endpoint) *ResourceExploringWebhookConfiguration {
	w := ResourceExploringWebhook{Name: WebhookName, ClientConfig: e.client(), TimeoutSeconds: e.timeout(), ExploreReviewVersions: []string{api.Version}}
	for _, s := range setsOf(kinds, registered(api.KindReview)) {
		r := ExploringRule{Operations: s.operations, Rule: admissionv1.Rule{APIGroups: []string{s.group}, APIVersions: s.versions}}
		for _, kind := range s.kinds {
			r.Resources = append(r.Resources, Resource(interpreter.Kind{Group: s.group, Version: s.versions[0], Kind: kind}))
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

// Resource returns the resource name of a kind as Kubernetes guesses it: backupentries for BackupEntry.
func Resource(k interpreter.Kind) string {
	guessed, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind})
	return guessed.Resource
}

// registered returns the names of the operations that a dialect registers. Karmada refuses Prune.
func registered(dialect string) map[interpreter.Operation]string {
	named := map[interpreter.Operation]string{}
	for name, o := range api.Operations(dialect) {
		if dialect != api.KindContext || o != interpreter.Prune {
			named[o] = name
		}
	}
	return named
}

// set is a number of kinds of one group with the same operations in the same versions.
type set struct {
	group                       string
	versions, kinds, operations []string
}

// key returns a key from all parts of a set except one.
func (s *set) key(part []string) string {
	return strings.Join([]string{s.group, strings.Join(s.operations, ","), strings.Join(part, ",")}, "/")
}

// setsOf groups the kinds: first the versions of a kind, then the kinds with the same operations. The sets
// contain exactly the given kinds.
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

// inAll reports whether the kind has the operation for all versions (*) already.
func inAll(kinds []interpreter.Known, k interpreter.Known, o interpreter.Operation) bool {
	return k.Version != All && slices.ContainsFunc(kinds, func(other interpreter.Known) bool {
		return other.Group == k.Group && other.Kind.Kind == k.Kind.Kind && other.Version == All && slices.Contains(other.Operations, o)
	})
}

// united merges sets that differ in one part only.
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

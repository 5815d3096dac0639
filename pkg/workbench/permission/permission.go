// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package permission writes the minimal permissions of an installation of the webhooks in a seed for its profiles:
// roles, or values with which the chart creates the same roles.
//
// It connects to no cluster. mutation.Program.Permissions returns the permissions for lookups; those of every
// installation are defined here and in the chart, and a test compares both. Start reading at Roles and Values.
package permission

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// Options describes the installation.
type Options struct {
	// Name is the name of the extension's objects in its namespace. Roles and webhook registrations elsewhere have the namespace in their names, too.
	Name string
	// Namespace is the namespace of the extension.
	Namespace string
	// Gate is the type of the Extensions of the gate; empty for no gate.
	Gate string
}

// clusterName returns the name of the installation's objects outside of its namespace
// (webhook.Certificates.ClusterName).
func (o Options) clusterName() string { return o.Name + "." + o.Namespace }

// Role is a ClusterRole, or where it has a namespace a Role.
type Role struct {
	Namespace string
	Rules     []rbacv1.PolicyRule
}

var (
	followed = []string{"get", "list", "watch"}
	got      = []string{"get"}
)

// rule returns a rule for resources of a group. Names restrict it to objects with these names.
func rule(group, resource string, verbs []string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs, ResourceNames: names}
}

// Roles returns the roles of an installation: that for the seed, that for its own namespace, and one for each other
// namespace that it reads. They restrict Secrets to their names, except in the extension's own namespace and if a
// profile computes the names.
func Roles(p *mutation.Program, o Options) []Role {
	all := []Role{{"", slices.Concat(facts(p), gate(o.Gate), registration(o))}, {o.Namespace, own()}}
	for _, need := range needs(p) {
		at := slices.IndexFunc(all, func(r Role) bool { return r.Namespace == need.namespace })
		if at < 0 {
			all, at = append(all, Role{Namespace: need.namespace}), len(all)
		}
		all[at].Rules = append(all[at].Rules, need.rule)
	}
	return all
}

// facts returns the permissions to read each shoot, and a virtual garden if a profile is for one.
func facts(p *mutation.Program) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{rule("extensions.gardener.cloud", "clusters", followed), rule("", "namespaces", followed)}
	if slices.ContainsFunc(p.Registrations(), func(r mutation.Registration) bool { return r.Garden }) {
		rules = append(rules, rule("operator.gardener.cloud", "gardens", followed))
	}
	return rules
}

// gate returns the permissions of the gate: Extensions with the single name that gardenlet gives them.
func gate(name string) []rbacv1.PolicyRule {
	if name == "" {
		return nil
	}
	return []rbacv1.PolicyRule{
		rule("extensions.gardener.cloud", "extensions", []string{"list", "watch", "patch"}, name),
		rule("extensions.gardener.cloud", "extensions/status", []string{"patch"}, name),
	}
}

// registration returns the permissions for the webhooks' own registration, and for reading those of other
// installations. A creation cannot be restricted to a name (Kubernetes' documentation of resourceNames).
func registration(o Options) []rbacv1.PolicyRule {
	const group, mutating, validating = "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"
	changed := []string{"get", "update", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: []string{mutating, validating}, Verbs: []string{"create"}},
		rule(group, mutating, []string{"list", "watch"}),
		rule(group, mutating, changed, o.clusterName()),
		rule(group, validating, changed, o.clusterName()),
		rule(rbacv1.GroupName, "clusterroles", got, o.clusterName()),
		rule("resources.gardener.cloud", "managedresources", got, strings.TrimPrefix(o.Namespace, "extension-")),
	}
}

// own returns the permissions in the extension's namespace: certificates, profiles, leader election and heartbeat,
// events.
func own() []rbacv1.PolicyRule {
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	return []rbacv1.PolicyRule{
		rule("", "secrets", all),
		rule("", "configmaps", all),
		rule("coordination.k8s.io", "leases", []string{"get", "create", "update", "patch"}),
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
}

// need is a rule in a namespace, or in all of the seed.
type need struct {
	namespace string
	rule      rbacv1.PolicyRule
}

// needs returns the rules for lookups: one for each resource with all its names, or without names if one is computed.
func needs(p *mutation.Program) []need {
	type key struct{ namespace, group, resource string }
	names := map[key]map[string]bool{}
	for _, permission := range p.Permissions() {
		k := key{permission.Namespace, permission.Group, permission.Resource}
		if names[k] == nil {
			names[k] = map[string]bool{}
		}
		names[k][permission.Name] = true
	}
	var all []need
	for k, known := range names {
		needed := rule(k.group, k.resource, got)
		if !known[""] {
			needed.ResourceNames = slices.Sorted(maps.Keys(known))
		}
		all = append(all, need{k.namespace, needed})
	}
	slices.SortFunc(all, func(a, b need) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), slices.Compare(a.rule.APIGroups, b.rule.APIGroups),
			slices.Compare(a.rule.Resources, b.rule.Resources))
	})
	return all
}

// Objects returns the roles as objects, each with its binding to the service account of the extension.
func Objects(p *mutation.Program, o Options) []any {
	var all []any
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: o.Name, Namespace: o.Namespace}}
	for _, role := range Roles(p, o) {
		meta := metav1.ObjectMeta{Name: o.clusterName(), Namespace: role.Namespace}
		if role.Namespace == o.Namespace {
			meta.Name = o.Name
		}
		prefix := ""
		if role.Namespace == "" {
			prefix = "Cluster"
		}
		of := func(kind string) metav1.TypeMeta {
			return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: prefix + kind}
		}
		// The fields of cluster-wide roles and bindings are the same.
		all = append(all, &rbacv1.Role{TypeMeta: of("Role"), ObjectMeta: meta, Rules: role.Rules}, &rbacv1.RoleBinding{
			TypeMeta: of("RoleBinding"), ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: prefix + "Role", Name: meta.Name},
		})
	}
	return all
}

// Values holds the values of the chart that permit the lookups of the profiles in all namespaces, because the chart
// creates no other roles.
type Values struct {
	Lookups Lookups `json:"lookups"`
}

// Lookups are Secrets and ConfigMaps by their names, and other objects.
type Lookups struct {
	Secrets    []string        `json:"secrets,omitempty"`
	ConfigMaps []string        `json:"configMaps,omitempty"`
	Objects    []ResourceNames `json:"objects,omitempty"`
}

// ResourceNames is a resource with the names of its objects; without names, any that is got.
type ResourceNames struct {
	Group    string   `json:"group"`
	Resource string   `json:"resource"`
	Names    []string `json:"names,omitempty"`
}

// ValuesOf returns the values for a program.
func ValuesOf(p *mutation.Program) Values {
	var v Values
	for _, n := range needs(p) {
		group, resource, names := n.rule.APIGroups[0], n.rule.Resources[0], n.rule.ResourceNames
		switch {
		case group == "" && resource == "secrets" && names != nil:
			v.Lookups.Secrets = append(v.Lookups.Secrets, names...)
		case group == "" && resource == "configmaps" && names != nil:
			v.Lookups.ConfigMaps = append(v.Lookups.ConfigMaps, names...)
		default:
			v.Lookups.Objects = append(v.Lookups.Objects, ResourceNames{group, resource, names})
		}
	}
	for _, names := range []*[]string{&v.Lookups.Secrets, &v.Lookups.ConfigMaps} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return v
}

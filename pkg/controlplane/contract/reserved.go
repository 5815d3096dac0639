// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// reservation is a clause that reserves flags of a component for Gardener. A name that ends in * is a prefix.
type reservation struct {
	component string
	clause    Clause
	flags     []string
}

// reservations lists the flags that webhooks should ignore according to the contract, by component. If the contract
// ends a list with dots, it includes the flags that Gardener sets for the same purpose.
var reservations = []reservation{
	{"kube-apiserver", Clause{"kube-apiserver/admission", "the admission plugins are edited by entry only, through admissionPlugins"},
		[]string{"enable-admission-plugins", "disable-admission-plugins"}},
	{"kube-apiserver", Clause{"kube-apiserver/secure-communications", "flags for secure communications are Gardener's"},
		append([]string{"etcd-cafile", "etcd-certfile", "etcd-keyfile", "client-ca-file", "kubelet-certificate-authority",
			"kubelet-client-certificate", "kubelet-client-key", "proxy-client-cert-file", "proxy-client-key-file",
			"requestheader-*", "service-account-key-file", "service-account-signing-key-file"}, tlsFlags...)},
	{"kube-apiserver", Clause{"kube-apiserver/audit-log", "flags of the audit log are Gardener's"}, []string{"audit-log-*"}},
	{"kube-apiserver", Clause{"kube-apiserver/ports", "the ports are Gardener's"}, []string{"insecure-port", "secure-port"}},

	{"kube-controller-manager", Clause{"kube-controller-manager/kubeconfig", "the kubeconfigs are Gardener's"},
		[]string{"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"}},
	{"kube-controller-manager", Clause{"kube-controller-manager/leader-election", "leader election is Gardener's"}, []string{"leader-elect"}},
	{"kube-controller-manager", Clause{"kube-controller-manager/secure-communications", "flags for secure communications are Gardener's"},
		append([]string{"root-ca-file", "service-account-private-key-file", "cluster-signing-*"}, tlsFlags...)},
	{"kube-controller-manager", Clause{"kube-controller-manager/cluster-identity", "cluster CIDR and name are Gardener's"},
		[]string{"cluster-cidr", "cluster-name"}},
	{"kube-controller-manager", Clause{"kube-controller-manager/sync", "sync settings are Gardener's"}, []string{"concurrent-*"}},
	{"kube-controller-manager", Clause{"kube-controller-manager/horizontal-pod-autoscaler", "settings of the horizontal pod autoscaler are Gardener's"},
		[]string{"horizontal-pod-autoscaler-*"}},
	{"kube-controller-manager", Clause{"kube-controller-manager/ports", "the ports are Gardener's"}, []string{"port", "secure-port"}},

	{"kube-scheduler", Clause{"kube-scheduler/config", "the configuration file is Gardener's"}, []string{"config"}},
	{"kube-scheduler", Clause{"kube-scheduler/kubeconfig", "the kubeconfigs are Gardener's"},
		[]string{"authentication-kubeconfig", "authorization-kubeconfig"}},
	{"kube-scheduler", Clause{"kube-scheduler/secure-communications", "flags for secure communications are Gardener's"}, tlsFlags},
	{"kube-scheduler", Clause{"kube-scheduler/ports", "the ports are Gardener's"}, []string{"port", "secure-port"}},
	{"kube-scheduler", Clause{"kube-scheduler/provider-flags", "the command line can hold no provider-specific flags"},
		[]string{"cloud-provider", "cloud-config"}},

	{"kubelet", kubeletFlags, []string{"config", "bootstrap-kubeconfig", "kubeconfig", "network-plugin", "cni-bin-dir", "cni-conf-dir", "node-labels"}},

	{"etcd", etcdFlags, []string{"*"}},
}

var tlsFlags = []string{"tls-cert-file", "tls-private-key-file", "tls-cipher-suites", "tls-min-version", "tls-sni-cert-key"}

// The clauses that are not about reserved flags.
var (
	sniFlags     = Clause{"kube-apiserver/sni", "--endpoint-reconciler-type and --advertise-address stay as they are where Gardener exposes the kube-apiserver by SNI"}
	sniService   = Clause{"kube-apiserver/service", "the Service is mutable only where it is of type LoadBalancer and not managed by Gardener"}
	container    = Clause{"pod-template/container", "the container that Gardener creates for the component stays"}
	etcdFlags    = Clause{"etcd/flags", "the command line of etcd holds provider-independent flags only, which webhooks ignore"}
	replicas     = Clause{"objects/replicas", "Gardener scales its components, with hibernation and high availability"}
	hostNetwork  = Clause{"pod-template/host-network", "Gardener reserves the ports of the component and the network that opens them"}
	etcdData     = Clause{"etcd/data", "the claim template of the etcd and its mount at /var/etcd/data stay"}
	senseless    = Clause{"kube-scheduler,etcd/secrets", "provider-specific environment variables, Secrets and ConfigMaps make no sense in this container"}
	kubeletFlags = Clause{"kubelet/flags", "configuration files, kubeconfigs, network plugin and node labels are Gardener's"}
	nodeParts    = Clause{"node/parts", "every unit and every file of an OperatingSystemConfig occurs once"}
	kubeletUnit  = Clause{"kubelet/unit", "the unit kubelet.service has a single ExecStart in [Service]"}
	kubeletFile  = Clause{"kubelet/configuration", "the file /var/lib/kubelet/config/kubelet holds the kubelet's configuration"}
	identity     = Clause{"objects/identity", "name, namespace, selector and the labels that Gardener uses to find the object stay"}
	fields       = Clause{"objects/fields", "rules must not write the identity of an object (apiVersion, kind, name, namespace, references) or its status"}
	own          = Clause{"objects/own", "rules must not set Graft's own annotations and labels"}
	annotations  = Clause{"objects/references", "the reference annotations follow the volumes; they are not set by rules"}
)

// ownAnnotations is the prefix of the annotations with Graft's own data.
const ownAnnotations = "graft.provider.extensions.gardener.cloud/"

// LockedFlags are the flags that must not change where Gardener uses SNI.
var LockedFlags = []string{"endpoint-reconciler-type", "advertise-address"}

// ReservedFlag returns the clause that reserves a flag of a target's own container for Gardener. A rule can override it
// with a reason, unlike the clause of locked flags.
func ReservedFlag(t *target.Target, flag string) (Clause, bool) {
	for _, r := range reservations {
		if r.component != t.Component {
			continue
		}
		for _, pattern := range r.flags {
			if prefix, ok := strings.CutSuffix(pattern, "*"); flag == pattern || (ok && strings.HasPrefix(flag, prefix)) {
				return r.clause, true
			}
		}
	}
	return Clause{}, false
}

// LockedFlag returns the clause that forbids any rule to write a flag in the given generation. In the labelled
// generation, this depends on the object, and Protect decides.
func LockedFlag(t *target.Target, flag string, g Generation) (Clause, bool) {
	return sniFlags, g == Today && t.Component == "kube-apiserver" && slices.Contains(LockedFlags, flag)
}

// ForbiddenInput returns the clause that forbids environment variables, Secrets and ConfigMaps in the target's own
// container.
func ForbiddenInput(t *target.Target) (Clause, bool) {
	return senseless, t.Component == "kube-scheduler" || t.Component == "etcd"
}

// Labels with which Gardener marks objects for webhooks.
const (
	// LabelExposure marks objects of the older generation that belong to Gardener's SNI.
	LabelExposure = "core.gardener.cloud/apiserver-exposure"
	// ExposureManaged is the value of LabelExposure.
	ExposureManaged = "gardener-managed"
	// LabelMutated marks the objects that controlplane webhooks may select.
	LabelMutated = "provider.extensions.gardener.cloud/mutated-by-controlplane-webhook"
)

// keptLabels lists the labels by which Gardener and its network policies select objects and pods.
var keptLabels = []string{LabelExposure, LabelMutated, "app", "role", "gardener.cloud/role"}

// ReservedLabel returns the clause that reserves a label for Gardener.
func ReservedLabel(key string) (Clause, bool) {
	return identity, slices.Contains(keptLabels, key)
}

// ReservedAnnotation returns the clause that reserves an annotation for Gardener or Graft.
func ReservedAnnotation(key string) (Clause, bool) {
	if strings.HasPrefix(key, ownAnnotations) {
		return own, true
	}
	return annotations, strings.HasPrefix(key, target.ReferencePrefix)
}

// reservedFields are the fields that no rule may write, including their members. Rules write only labels and
// annotations of metadata.
var reservedFields = []string{
	"apiVersion", "kind", "metadata.name", "metadata.generateName", "metadata.namespace", "metadata.uid", "metadata.selfLink",
	"metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp", "metadata.deletionTimestamp",
	"metadata.deletionGracePeriodSeconds", "metadata.ownerReferences", "metadata.finalizers", "metadata.managedFields",
	"status", "spec.selector", "spec.purpose", "spec.type",
}

// reservedParts lists fields that are equivalent to reserved ones elsewhere. A rule can override these clauses with a
// reason.
var reservedParts = []struct {
	component, field string // every component without one
	without          []string
	clause           Clause
}{
	{"etcd", "spec.etcd", []string{"spec.etcd.image", "spec.etcd.resources"}, etcdFlags},
	{"", "spec.replicas", nil, replicas},
	{"", "spec.template.spec.hostNetwork", nil, hostNetwork},
}

// ReservedPart returns the clause that reserves a field of a target's own object for Gardener, given its path.
func ReservedPart(t *target.Target, path string) (Clause, bool) {
	for _, r := range reservedParts {
		within := func(field string) bool { return source.Within(path, field) }
		if t.Container != "" && (r.component == "" || r.component == t.Component) && within(r.field) && !slices.ContainsFunc(r.without, within) {
			return r.clause, true
		}
	}
	return Clause{}, false
}

// ReservedField returns the clause that forbids a field, given its path: members separated by dots.
func ReservedField(path string) (Clause, bool) {
	return fields, slices.ContainsFunc(reservedFields, func(reserved string) bool {
		return source.Within(path, reserved) || source.Within(reserved, path)
	})
}

// ServiceLocked returns the clause that forbids changes of a Service: always for current Gardener versions; in the labelled
// generation if it is labelled or not of type LoadBalancer.
func ServiceLocked(o *target.Object, g Generation) (Clause, bool) {
	if o.Form.Kind != "Service" || o.Target.Other {
		return Clause{}, false
	}
	root := o.Document.Original()
	kind, _ := root.Find("spec", "type").Text()
	return sniService, g == Today || kind != "LoadBalancer" || managed(root)
}

// OwnContainer returns the clause that forbids a rule to remove the target's own container, or to write its command
// line as a whole; fields lists the members that the rule sets and is empty if it removes the container.
func OwnContainer(t *target.Target, name string, fields []string) (Clause, bool) {
	if name != t.Container || name == "" {
		return Clause{}, false
	}
	return container, len(fields) == 0 || slices.Contains(fields, "command") || slices.Contains(fields, "args")
}

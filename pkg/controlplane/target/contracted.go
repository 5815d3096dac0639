// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

import "slices"

// targets lists the objects of the contract: docs/extensions/controlplane-webhooks.md of Gardener as of May 2019
// (StatefulSet etcd, Service of type LoadBalancer) and the objects for which Gardener v1.136 calls its ensurer
// (extensions/pkg/webhook/controlplane/genericmutator/mutator.go, pkg/apis/operator/v1alpha1 for the virtual garden).
// To add a target: one entry here.
var targets = []Target{
	{
		Name: "kube-apiserver", Component: "kube-apiserver", Container: "kube-apiserver", Versioned: true,
		Summary: "the shoot's kube-apiserver",
		Forms:   []Form{deployment("kube-apiserver")},
	},
	{
		Name: "kube-controller-manager", Component: "kube-controller-manager", Container: "kube-controller-manager", Versioned: true,
		Summary: "the shoot's kube-controller-manager",
		Forms:   []Form{deployment("kube-controller-manager")},
	},
	{
		Name: "kube-scheduler", Component: "kube-scheduler", Container: "kube-scheduler", Versioned: true,
		Summary: "the shoot's kube-scheduler",
		Forms:   []Form{deployment("kube-scheduler")},
	},
	{
		Name: "cluster-autoscaler", Component: "cluster-autoscaler", Container: "cluster-autoscaler",
		Summary: "the cluster-autoscaler of a shoot with worker pools that scale",
		Forms:   []Form{deployment("cluster-autoscaler")},
	},
	{
		Name: "machine-controller-manager", Component: "machine-controller-manager", Container: "machine-controller-manager",
		Summary: "the machine-controller-manager, with the sidecar of the provider",
		Forms:   []Form{deploymentWith("machine-controller-manager", ProviderSidecar)},
	},
	{
		Name:    "machine-controller-manager-vpa",
		Summary: "the VerticalPodAutoscaler of the machine-controller-manager",
		Forms: []Form{{
			Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler", Resource: "verticalpodautoscalers",
			Name: "machine-controller-manager-vpa", Parts: Metadata | ProviderSidecar,
		}},
	},
	{
		Name: "vpn-seed-server", Component: "vpn-seed-server", Container: "vpn-seed-server",
		Summary: "the seed's end of the VPN: a Deployment, or a StatefulSet where the VPN is highly available",
		Forms:   []Form{deployment("vpn-seed-server"), statefulSet("vpn-seed-server", 0)},
	},
	{
		Name: "etcd-main", Component: "etcd", Container: "etcd",
		Summary: "the etcd of all objects but events: an Etcd of etcd-druid, or the older generation's StatefulSet",
		Forms:   []Form{etcd("etcd-main"), older(statefulSet("etcd-main", Storage))},
	},
	{
		Name: "etcd-events", Component: "etcd", Container: "etcd",
		Summary: "the etcd of events: an Etcd of etcd-druid, or the older generation's StatefulSet",
		Forms:   []Form{etcd("etcd-events"), older(statefulSet("etcd-events", Storage))},
	},
	{
		Name:    "kube-apiserver-service",
		Summary: "the Service of the kube-apiserver; mutable only where it is of type LoadBalancer and not managed by Gardener",
		Forms:   []Form{service("kube-apiserver")},
	},
	{
		Name: "kubelet", Component: "kubelet", Container: "kubelet", Purposed: true,
		Summary: "the kubelet of a node: the command line in the unit kubelet.service, and the configuration file",
		Forms:   []Form{operatingSystemConfig(CommandLine | KubeletConfiguration | Units)},
	},
	{
		Name: "node", Component: "node", Purposed: true,
		Summary: "a node without its kubelet: units, files, kernel settings, container runtime",
		Forms:   []Form{operatingSystemConfig(Metadata | Units | Files)},
	},
	{
		Name: "virtual-garden-kube-apiserver", Component: "kube-apiserver", Container: "kube-apiserver", Garden: true, Versioned: true,
		Summary: "the virtual garden's kube-apiserver",
		Forms:   []Form{deployment("virtual-garden-kube-apiserver")},
	},
	{
		Name: "virtual-garden-kube-controller-manager", Component: "kube-controller-manager", Garden: true,
		Container: "kube-controller-manager", Versioned: true,
		Summary: "the virtual garden's kube-controller-manager",
		Forms:   []Form{deployment("virtual-garden-kube-controller-manager")},
	},
	{
		Name: "virtual-garden-etcd-main", Component: "etcd", Container: "etcd", Garden: true,
		Summary: "the virtual garden's etcd of all objects but events",
		Forms:   []Form{etcd("virtual-garden-etcd-main")},
	},
	{
		Name: "virtual-garden-etcd-events", Component: "etcd", Container: "etcd", Garden: true,
		Summary: "the virtual garden's etcd of events",
		Forms:   []Form{etcd("virtual-garden-etcd-events")},
	},
}

func deployment(name string) Form { return deploymentWith(name, 0) }

func deploymentWith(name string, more Part) Form {
	return Form{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Name: name, Parts: Metadata | PodTemplate | CommandLine | more}
}

func statefulSet(name string, more Part) Form {
	return Form{Group: "apps", Version: "v1", Kind: "StatefulSet", Resource: "statefulsets", Name: name, Parts: Metadata | PodTemplate | CommandLine | more}
}

func older(f Form) Form {
	f.Older = true
	return f
}

func etcd(name string) Form {
	return Form{Group: "druid.gardener.cloud", Version: "v1alpha1", Kind: "Etcd", Resource: "etcds", Name: name, Parts: Metadata | Storage}
}

func service(name string) Form {
	return Form{Version: "v1", Kind: "Service", Resource: "services", Name: name, Parts: Metadata}
}

// operatingSystemConfig returns the form of every OperatingSystemConfig, with any name and type.
func operatingSystemConfig(parts Part) Form {
	return Form{
		Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "OperatingSystemConfig", Resource: "operatingsystemconfigs",
		Parts: parts,
	}
}

// Other returns a target for objects that the contract does not name. They have the form's group, version, kind and
// resource; a name that ends in * is a prefix, and an empty name means all objects.
func Other(form Form) *Target {
	name := form.Kind
	if form.Name != "" {
		name += "/" + form.Name
	}
	form.Parts = Metadata
	if form.Group == workloadGroup && slices.Contains(workloads, form.Kind) {
		form.Parts |= PodTemplate | CommandLine
	}
	return &Target{Name: name, Summary: "not in the contract and of kind " + form.Kind, Other: true, Forms: []Form{form}}
}

// workloadGroup is the group of workloads, the kinds with parts in addition to metadata, in alphabetical order.
const workloadGroup = "apps"

var workloads = []string{"DaemonSet", "Deployment", "StatefulSet"}

// Others returns targets for all objects of each kind with parts in addition to metadata, sorted by kind.
func Others() []*Target {
	var others []*Target
	for _, kind := range workloads {
		others = append(others, Other(Form{Group: workloadGroup, Kind: kind}))
	}
	return others
}

// Names returns the names of all targets, sorted.
func Names() []string {
	names := make([]string, 0, len(targets))
	for i := range targets {
		names = append(names, targets[i].Name)
	}
	slices.Sort(names)
	return names
}

// Lookup finds a target by the name that profiles use.
func Lookup(name string) (*Target, bool) {
	for i := range targets {
		if targets[i].Name == name {
			return &targets[i], true
		}
	}
	return nil, false
}

// Match returns the first target that fits an object; garden reports whether it is in the namespace of the virtual garden.
func Match(garden bool, group, kind, name string) (*Target, *Form) {
	for i := range targets {
		if targets[i].Garden != garden {
			continue
		}
		for j := range targets[i].Forms {
			if f := &targets[i].Forms[j]; f.Is(group, kind, name) {
				return &targets[i], f
			}
		}
	}
	return nil, nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// tls are the flags of every server for secure communications.
var tls = []string{"tls-cert-file", "tls-private-key-file", "tls-cipher-suites", "tls-min-version", "tls-sni-cert-key"}

// reservedFlags are the flags that each clause reserves, by the clause and the target. Those with -x stand for a prefix.
var reservedFlags = map[string]map[string][]string{
	"kube-apiserver/admission": {"kube-apiserver": {"enable-admission-plugins", "disable-admission-plugins"}},
	"kube-apiserver/secure-communications": {"kube-apiserver": append([]string{"etcd-cafile", "etcd-certfile", "etcd-keyfile", "client-ca-file",
		"kubelet-certificate-authority", "kubelet-client-certificate", "kubelet-client-key", "proxy-client-cert-file", "proxy-client-key-file",
		"requestheader-x", "service-account-key-file", "service-account-signing-key-file"}, tls...)},
	"kube-apiserver/audit-log":                          {"kube-apiserver": {"audit-log-x"}},
	"kube-apiserver/ports":                              {"kube-apiserver": {"insecure-port", "secure-port"}},
	"kube-controller-manager/kubeconfig":                {"kube-controller-manager": {"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"}},
	"kube-controller-manager/leader-election":           {"kube-controller-manager": {"leader-elect"}},
	"kube-controller-manager/secure-communications":     {"kube-controller-manager": append([]string{"root-ca-file", "service-account-private-key-file", "cluster-signing-x"}, tls...)},
	"kube-controller-manager/cluster-identity":          {"kube-controller-manager": {"cluster-cidr", "cluster-name"}},
	"kube-controller-manager/sync":                      {"kube-controller-manager": {"concurrent-x"}},
	"kube-controller-manager/horizontal-pod-autoscaler": {"kube-controller-manager": {"horizontal-pod-autoscaler-x"}},
	"kube-controller-manager/ports":                     {"kube-controller-manager": {"port", "secure-port"}},
	"kube-scheduler/config":                             {"kube-scheduler": {"config"}},
	"kube-scheduler/kubeconfig":                         {"kube-scheduler": {"authentication-kubeconfig", "authorization-kubeconfig"}},
	"kube-scheduler/secure-communications":              {"kube-scheduler": tls},
	"kube-scheduler/ports":                              {"kube-scheduler": {"port", "secure-port"}},
	"kube-scheduler/provider-flags":                     {"kube-scheduler": {"cloud-provider", "cloud-config"}},
	"kubelet/flags":                                     {"kubelet": {"config", "bootstrap-kubeconfig", "kubeconfig", "network-plugin", "cni-bin-dir", "cni-conf-dir", "node-labels"}},
	"etcd/flags":                                        {"etcd-main": {"x"}, "virtual-garden-etcd-events": {"x"}},
}

// TestReserved checks the reserved parts of each clause; each name has its own case.
func TestReserved(t *testing.T) {
	for clause, targets := range reservedFlags {
		t.Run(clause, func(t *testing.T) {
			for name, flags := range targets {
				for _, flag := range flags {
					got, ok := contract.ReservedFlag(lookup(t, name), flag)
					expectClause(t, "--"+flag+" of "+name, got, ok, clause)
				}
			}
		})
	}
	for _, free := range [][2]string{{"kube-apiserver", "cloud-provider"}, {"kube-apiserver", "audit-logs"}, {"kubelet", "cloud-provider"}, {"kube-scheduler", "v"}} {
		if clause, ok := contract.ReservedFlag(lookup(t, free[0]), free[1]); ok {
			t.Errorf("--%s of %s is reserved: %s", free[1], free[0], clause)
		}
	}
	t.Run("kube-apiserver/sni", func(t *testing.T) {
		for _, flag := range []string{"endpoint-reconciler-type", "advertise-address"} {
			got, ok := contract.LockedFlag(lookup(t, "kube-apiserver"), flag, contract.Today)
			expectClause(t, "--"+flag, got, ok, "kube-apiserver/sni")
		}
	})
	t.Run("objects/identity", func(t *testing.T) {
		for _, label := range []string{contract.LabelExposure, contract.LabelMutated, "app", "role", "gardener.cloud/role"} {
			got, ok := contract.ReservedLabel(label)
			expectClause(t, "the label "+label, got, ok, "objects/identity")
		}
	})
	t.Run("pod-template/container", func(t *testing.T) {
		own := lookup(t, "kube-scheduler")
		for _, fields := range [][]string{nil, {"image", "command"}, {"args"}} {
			got, ok := contract.OwnContainer(own, "kube-scheduler", fields)
			expectClause(t, fmt.Sprintf("the container with %q", fields), got, ok, "pod-template/container")
		}
		for name, fields := range map[string][]string{"kube-scheduler": {"image"}, "side": nil} {
			if clause, ok := contract.OwnContainer(own, name, fields); ok {
				t.Errorf("the container %s with %q is reserved: %s", name, fields, clause)
			}
		}
	})
	for clause, keys := range map[string][]string{
		"objects/own":        {"graft.provider.extensions.gardener.cloud/mutated-by-controlplane"},
		"objects/references": {"reference.resources.gardener.cloud/secret-0123abcd", "reference.resources.gardener.cloud/configmap-0123abcd"},
	} {
		t.Run(clause, func(t *testing.T) {
			for _, key := range keys {
				got, ok := contract.ReservedAnnotation(key)
				expectClause(t, "the annotation "+key, got, ok, clause)
			}
		})
	}
	if clause, ok := contract.ReservedAnnotation("acme.com/graft"); ok {
		t.Errorf("the annotation acme.com/graft is reserved: %s", clause)
	}
	t.Run("objects/fields", func(t *testing.T) {
		for _, field := range []string{
			"apiVersion", "kind", "metadata.name", "metadata.generateName", "metadata.namespace", "metadata.uid", "metadata.selfLink", "metadata.resourceVersion",
			"metadata.generation", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.ownerReferences",
			"metadata.ownerReferences[uid=x]", "metadata.finalizers", "metadata.managedFields", "metadata", "status", "status.x", "spec.selector", "spec.purpose",
			"spec.type", "spec",
		} {
			got, ok := contract.ReservedField(field)
			expectClause(t, "the field "+field, got, ok, "objects/fields")
		}
	})
	for clause, field := range map[string][2]string{
		"objects/replicas":          {"kube-apiserver", "spec.replicas"},
		"pod-template/host-network": {"kube-scheduler", "spec.template.spec.hostNetwork"},
		"etcd/flags":                {"etcd-main", "spec.etcd.quota"},
	} {
		t.Run(clause, func(t *testing.T) {
			got, ok := contract.ReservedPart(lookup(t, field[0]), field[1])
			expectClause(t, field[1], got, ok, clause)
		})
	}
	for _, free := range []string{"spec.etcd.image", "spec.etcd.resources.limits", "spec.replicasX", "spec.backup"} {
		if clause, ok := contract.ReservedPart(lookup(t, "etcd-main"), free); ok {
			t.Errorf("%s is reserved: %s", free, clause)
		}
	}
}

func lookup(t *testing.T, name string) *target.Target {
	t.Helper()
	found, ok := target.Lookup(name)
	if !ok {
		t.Fatalf("there is no target %s", name)
	}
	return found
}

func expectClause(t *testing.T, what string, got contract.Clause, ok bool, want string) {
	t.Helper()
	if !ok || got.ID != want {
		t.Errorf("%s: clause %q, %t; want %q", what, got.ID, ok, want)
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/test/pointer"
)

func TestGenerationOf(t *testing.T) {
	for version, want := range map[string]contract.Generation{
		"": contract.Today, "v1.136.2": contract.Today, "1.96.0": contract.Today, "v1.96.0-dev-abc": contract.Today,
		"v1.95.9": contract.Labelled, "1.20.0": contract.Labelled, "v1.95.0-mod1": contract.Labelled,
	} {
		if got, err := contract.GenerationOf(version); err != nil || got != want {
			t.Errorf("%q is of generation %s, %v; want %s", version, got, err, want)
		}
	}
	if _, err := contract.GenerationOf("newest"); err == nil {
		t.Error("an invalid version is accepted")
	}
}

// TestProtect edits documents directly, as no operation could, and checks that the contract check finds the edit.
func TestProtect(t *testing.T) {
	const managed = `"labels":{"core.gardener.cloud/apiserver-exposure":"gardener-managed"},`
	pod := func(container, extra string) string {
		return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{` + extra + `"name":"x","uid":"1"},"spec":{"selector":{"a":"b","matchLabels":{"a":"b"}},
			"template":{"metadata":{"labels":{"a":"b","role":"r"}},"spec":{"containers":[{"name":"` + container + `","command":["/x","--secure-port=1","--advertise-address=1.2.3.4"],
			"args":["--v=1"],"env":[],"volumeMounts":[{"name":"d","mountPath":"/var/etcd/data"}]}],"volumes":[{"name":"s","secret":{"secretName":"s"}},{"name":"c","configMap":{"name":"c"}},
			{"name":"p","projected":{"sources":[]}}]}},"volumeClaimTemplates":[{"metadata":{"name":"etcd-main"}}]}}`
	}
	const containerPath = "/spec/template/spec/containers/0"
	tests := []struct {
		name, target, object string
		generation           contract.Generation
		edit                 func(root *document.Node) error
		exempt               string
		want                 string
	}{
		{"allows another image", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set(containerPath, "image", `"x"`), "-", ""},
		{"rejects another name", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set("/metadata", "name", `"y"`), "-", "objects/identity"},
		{"rejects another apiVersion", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set("", "apiVersion", `"v2"`), "-", "apiVersion changed"},
		{"rejects another kind", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set("", "kind", `"x"`), "-", "kind changed"},
		{"rejects another namespace", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set("/metadata", "namespace", `"y"`), "-", "metadata.namespace changed"},
		{"rejects another uid", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set("/metadata", "uid", `"2"`), "-", "metadata.uid changed"},
		{"rejects other owners", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set("/metadata", "ownerReferences", `[]`), "-", "metadata.ownerReferences changed"},
		{"rejects another purpose", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set("/spec", "purpose", `"x"`), "-", "spec.purpose changed"},
		{"rejects another type", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set("/spec", "type", `"x"`), "-", "spec.type changed"},
		{"label of the selector", "kube-apiserver", pod("kube-apiserver", ""), contract.Today,
			set("/spec/template/metadata/labels", "a", `"c"`), "-", "the pod label a,"},
		{"label of the pod", "kube-apiserver", pod("kube-apiserver", ""), contract.Today,
			set("/spec/template/metadata/labels", "role", `"c"`), "-", "the label role changed"},
		{"environment from a ConfigMap", "kube-scheduler", pod("kube-scheduler", ""), contract.Today,
			set(containerPath, "envFrom", `[{"secretRef":{"name":"x"}}]`), "-", "kube-scheduler,etcd/secrets"},
		{"ConfigMap of the scheduler", "kube-scheduler", pod("kube-scheduler", ""), contract.Today,
			set(containerPath, "volumeMounts", `[{"name":"c","mountPath":"/c"}]`), "-", "kube-scheduler,etcd/secrets"},
		{"projected volume of the scheduler", "kube-scheduler", pod("kube-scheduler", ""), contract.Today,
			set(containerPath, "volumeMounts", `[{"name":"p","mountPath":"/p"}]`), "-", "kube-scheduler,etcd/secrets"},
		{"claim of etcd", "etcd-main", pod("etcd", ""), contract.Today, set("/spec", "volumeClaimTemplates", `[]`), "-", "etcd/data"},
		{"rejects another selector", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set("/spec/selector", "a", `"c"`), "-", "objects/identity"},
		{"rejects another value of a label", "kube-apiserver", pod("kube-apiserver", managed), contract.Labelled,
			set("/metadata/labels", contract.LabelExposure, `"no"`), "-", "objects/identity"},
		{"rejects a renamed container", "kube-apiserver", pod("kube-apiserver", ""), contract.Today, set(containerPath, "name", `"y"`), "-", "pod-template/container"},
		{"rejects a change of a locked flag", "kube-apiserver", pod("kube-apiserver", ""), contract.Today,
			set(containerPath, "args", `["--advertise-address=5.6.7.8"]`), "*", "kube-apiserver/sni"},
		{"locked flag with another spelling", "kube-apiserver", pod("kube-apiserver", ""), contract.Today,
			set(containerPath, "args", `["--advertise_address","5.6.7.8"]`), "*", "kube-apiserver/sni"},
		{"flag not locked without the label", "kube-apiserver", pod("kube-apiserver", ""), contract.Labelled,
			set(containerPath, "args", `["--advertise-address=5.6.7.8"]`), "-", ""},
		{"flag locked by the label", "kube-apiserver", pod("kube-apiserver", managed), contract.Labelled,
			set(containerPath, "args", `["--advertise-address=5.6.7.8"]`), "-", "kube-apiserver/sni"},
		{"rejects a change of a reserved flag", "kube-controller-manager", pod("kube-controller-manager", ""), contract.Today,
			set(containerPath, "command", `["/x","--advertise-address=1.2.3.4"]`), "-", "kube-controller-manager/ports"},
		{"reserved flag with a reason", "kube-controller-manager", pod("kube-controller-manager", ""), contract.Today,
			set(containerPath, "command", `["/x","--advertise-address=1.2.3.4"]`), "secure-port", ""},
		{"environment of the scheduler", "kube-scheduler", pod("kube-scheduler", ""), contract.Today,
			set(containerPath, "env", `[{"name":"A"}]`), "-", "kube-scheduler,etcd/secrets"},
		{"Secret of the scheduler", "kube-scheduler", pod("kube-scheduler", ""), contract.Today,
			set(containerPath, "volumeMounts", `[{"name":"s","mountPath":"/s"}]`), "-", "kube-scheduler,etcd/secrets"},
		{"environment of the scheduler with a reason", "kube-scheduler", pod("kube-scheduler", ""), contract.Today,
			set(containerPath, "env", `[{"name":"A"}]`), "", ""},
		{"flag of etcd", "etcd-main", pod("etcd", ""), contract.Today, set(containerPath, "args", `["--v=2"]`), "-", "etcd/flags"},
		{"environment of etcd", "etcd-main", pod("etcd", ""), contract.Today,
			set(containerPath, "env", `[{"name":"A"}]`), "v", "kube-scheduler,etcd/secrets"},
		{"mount in the data of etcd", "etcd-main", pod("etcd", ""), contract.Today,
			set(containerPath, "volumeMounts", `[{"name":"d","mountPath":"/var/etcd/data"},{"name":"e","mountPath":"/var/etcd/data/new.etcd"}]`), "v", "etcd/data"},
		{"mount above the data of etcd", "etcd-main", pod("etcd", ""), contract.Today,
			set(containerPath, "volumeMounts", `[{"name":"d","mountPath":"/var/etcd/data"},{"name":"e","mountPath":"/var/"}]`), "v", "etcd/data"},
		{"mount next to the data of etcd", "etcd-main", pod("etcd", ""), contract.Today,
			set(containerPath, "volumeMounts", `[{"name":"d","mountPath":"/var/etcd/data"},{"name":"e","mountPath":"/var/etcd/data2"}]`), "v", ""},
		{"data of etcd", "etcd-main", pod("etcd", ""), contract.Today, set(containerPath, "volumeMounts", `[]`), "-", "etcd/data"},
		{"command line becomes a shell", "kube-apiserver", pod("kube-apiserver", ""), contract.Today,
			set(containerPath, "command", `["/bin/sh","-c","x"]`), "-", "nested document unreadable"},
		{"allows another type of the Service", "kube-apiserver-service", `{"metadata":{},"spec":{"type":"LoadBalancer"}}`, contract.Today,
			set("/metadata", "x", `1`), "-", "kube-apiserver/service"},
		{"Service of type ClusterIP", "kube-apiserver-service", `{"metadata":{},"spec":{"type":"ClusterIP"}}`, contract.Labelled,
			set("/metadata", "x", `1`), "-", "kube-apiserver/service"},
		{"Service with the label", "kube-apiserver-service", `{"metadata":{` + managed + `"name":"x"},"spec":{"type":"LoadBalancer"}}`, contract.Labelled,
			set("/metadata", "x", `1`), "-", "kube-apiserver/service"},
		{"Service of type LoadBalancer", "kube-apiserver-service", `{"metadata":{},"spec":{"type":"LoadBalancer"}}`, contract.Labelled,
			set("/metadata", "x", `1`), "-", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			parsed, err := document.Parse([]byte(test.object))
			if err != nil {
				t.Fatal(err)
			}
			found, _ := target.Lookup(test.target)
			form := &found.Forms[len(found.Forms)-1]
			if err := test.edit(parsed.Root()); err != nil {
				t.Fatal(err)
			}
			exempt := func(flag string) bool { return test.exempt == "*" || test.exempt == flag }
			err = contract.Protect(&target.Object{Target: found, Form: form, Document: parsed}, test.generation, exempt)
			if test.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
			if err != nil && !errors.Is(err, contract.ErrBroken) && !errors.Is(err, target.ErrNested) {
				t.Errorf("the error is of no known kind: %v", err)
			}
		})
	}
}

// set sets a member of the object at a pointer.
func set(place, key, raw string) func(*document.Node) error {
	return func(root *document.Node) error {
		_, err := pointer.At(root, place).Set(key, []byte(raw))
		return err
	}
}

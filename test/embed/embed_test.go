// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package embed_test runs example/embed, an extension that uses profiles inside its own manager, as a process of its own that
// registers its webhooks with Gardener's library at a real kube-apiserver, and looks at what is stored. What the webhooks make of
// all objects is held in the example itself; this holds that the API server calls them.
package embed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// patience bounds the wait for the webhooks to be called.
const patience = 60 * time.Second

// TestExample sends the control plane of a shoot on acme through the example.
func TestExample(t *testing.T) {
	logf.SetLogger(logr.Discard()) // of Gardener's components, which the test links
	land, err := landscape.Start(t.Context(), landscape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = land.Stop() })
	namespace, err := land.CreateShoot(t.Context(), landscape.ShootOptions{Shoot: landscape.NewShoot("embed", "acme", "1.33.6")})
	if err != nil {
		t.Fatal(err)
	}
	start(t, land)
	objects, err := sample.ControlPlane(t.Context(), sample.Options{Kubernetes: "1.33.6", Provider: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	waitCalled(t, land, in(t, namespace, objects, "Deployment", "kube-controller-manager"))
	for _, test := range []struct {
		kind, name string
		want       []string
	}{
		{"Deployment", "kube-apiserver", []string{"VolumeAttributesClass=true"}},
		{"Deployment", "kube-controller-manager", []string{"--cloud-provider=external", "ACME_ZONE"}},
		{"Deployment", "kube-scheduler", []string{"acme.example.com/in-go", "VolumeAttributesClass=true"}},
		{"VerticalPodAutoscaler", "machine-controller-manager-vpa", []string{"machine-controller-manager-provider-acme"}},
		{"Etcd", "etcd-main", []string{`"storageClass":"acme-fast"`, `"storageCapacity":"25Gi"`}},
		{"OperatingSystemConfig", "", []string{"/opt/bin/acme-hostname", "10-acme.conf", "--cloud-provider=external"}},
	} {
		object := in(t, namespace, objects, test.kind, test.name)
		if err := land.Client().Create(t.Context(), object); err != nil {
			t.Errorf("%s %s: %v", test.kind, test.name, err)
			continue
		}
		raw, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if !strings.Contains(string(raw), want) {
				t.Errorf("%s %s lacks %s", test.kind, test.name, want)
			}
		}
	}
	bad := in(t, namespace, objects, "OperatingSystemConfig", "")
	bad.SetName("bad")
	units, _, _ := unstructured.NestedSlice(bad.Object, "spec", "units")
	for _, one := range units {
		if one := one.(map[string]any); one["name"] == "kubelet.service" {
			one["content"] = "[Service]\nExecStart=/kubelet\nExecStart=/kubelet\n"
		}
	}
	_ = unstructured.SetNestedSlice(bad.Object, units, "spec", "units")
	if err := land.Client().Create(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "NestedUnreadable: ") {
		t.Errorf("a unit with two commands: %v", err)
	}
}

// start builds the example and runs it until the end of the test.
func start(t *testing.T, land *landscape.Landscape) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "embed")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./example/embed")
	build.Dir = filepath.Join("..", "..")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the example: %v\n%s", err, output)
	}
	addresses, err := env.FreeAddresses(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	address := addresses[0]
	_, port, _ := net.SplitHostPort(address)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "--kubeconfig="+land.Kubeconfig(), "--webhook-config-mode=url",
		"--webhook-config-url="+address, "--webhook-config-server-host=127.0.0.1", "--webhook-config-server-port="+port,
		"--webhook-config-cert-dir="+t.TempDir(), "--metrics-bind-address=0", "--health-bind-address=0")
	log := &bytes.Buffer{}
	command.Stdout, command.Stderr = log, log
	command.Env = append(os.Environ(), "WEBHOOK_CONFIG_NAMESPACE=")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		if t.Failed() {
			t.Logf("the example printed:\n%s", log)
		}
	})
}

// waitCalled returns when the API server calls the webhook for an object.
func waitCalled(t *testing.T, land *landscape.Landscape, object *unstructured.Unstructured) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		probe := object.DeepCopy()
		err := land.Client().Create(t.Context(), probe, client.DryRunAll)
		if raw, _ := probe.MarshalJSON(); err == nil && bytes.Contains(raw, []byte("--cloud-provider=external")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the webhook is not called: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// in returns a sample object for a request to kube-apiserver, in a namespace: the one with a kind and name, or with the
// purpose reconcile. It belongs to the worker pool of the landscape's shoot.
func in(t *testing.T, namespace string, objects []sample.Object, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range objects {
		found := &unstructured.Unstructured{}
		if err := json.Unmarshal(object.JSON, found); err != nil {
			t.Fatal(err)
		}
		purpose, _, _ := unstructured.NestedString(found.Object, "spec", "purpose")
		if found.GetKind() == kind && (found.GetName() == name || name == "" && purpose == "reconcile") {
			found.SetNamespace(namespace)
			if labels := found.GetLabels(); labels[facts.LabelWorkerPool] != "" {
				labels[facts.LabelWorkerPool] = landscape.WorkerPool
				found.SetLabels(labels)
			}
			return found
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

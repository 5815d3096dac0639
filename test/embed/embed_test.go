// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package embed_test runs example/embed, an extension that uses profiles inside its own manager, as a process. The
// extension registers its webhooks with Gardener's library at a real kube-apiserver, and the specs check the stored
// objects. The tests of the example check the webhooks' results for all objects; these tests check that kube-apiserver
// calls the webhooks.
package embed_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/test/deployment"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// What all specs share; BeforeSuite sets it.
var (
	land      *landscape.Landscape
	namespace string
	sample    *deployment.Deployment
	example   *env.Process
)

func TestEmbed(t *testing.T) { suite.Run(t, "embed", "admission") }

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	// The servers outlive the context of this node.
	land, err = landscape.Start(context.Background(), landscape.Options{})
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
	DeferCleanup(land.Stop)
	namespace, err = land.CreateShoot(ctx, landscape.ShootOptions{Shoot: landscape.NewShoot("embed", "acme", "1.33.6")})
	Expect(err).NotTo(HaveOccurred(), "creating the shoot")
	sample, err = deployment.Generate(ctx, snapshot.Options{Kubernetes: "1.33.6", Provider: "acme"})
	Expect(err).NotTo(HaveOccurred())
	start(ctx)
	waitCalled(ctx)
})

var _ = BeforeEach(func() { suite.ShowLog("the example", example.Log) })

var _ = Describe("an extension that embeds Graft", func() {
	DescribeTable("mutates what is stored", func(ctx SpecContext, kind, name string, want ...string) {
		object := find(kind, name)
		Expect(land.Client().Create(ctx, object)).To(Succeed(), "creating %s %s", kind, name)
		raw, err := object.MarshalJSON()
		Expect(err).NotTo(HaveOccurred())
		for _, text := range want {
			Expect(string(raw)).To(ContainSubstring(text), "%s %s as it is stored", kind, name)
		}
	},
		Entry("in kube-apiserver", "Deployment", "kube-apiserver", "VolumeAttributesClass=true"),
		Entry("in kube-controller-manager",
			"Deployment", "kube-controller-manager", "--cloud-provider=external", "ACME_ZONE"),
		Entry("in kube-scheduler, in Go and by a profile",
			"Deployment", "kube-scheduler", "acme.example.com/in-go", "VolumeAttributesClass=true"),
		Entry("in the autoscaler of machine-controller-manager",
			"VerticalPodAutoscaler", "machine-controller-manager-vpa", "machine-controller-manager-provider-acme"),
		Entry("in etcd", "Etcd", "etcd-main", `"storageClass":"acme-fast"`, `"storageCapacity":"25Gi"`),
		Entry("in the units, the files and the kubelet of nodes",
			"OperatingSystemConfig", "", "/opt/bin/acme-hostname", "10-acme.conf", "--cloud-provider=external"),
	)

	It("denies a kubelet unit with two commands", func(ctx SpecContext) {
		bad := find("OperatingSystemConfig", "")
		bad.SetName("bad")
		units, found, err := unstructured.NestedSlice(bad.Object, "spec", "units")
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue(), "the OperatingSystemConfig has units")
		for _, unit := range units {
			if unit := unit.(map[string]any); unit["name"] == "kubelet.service" {
				unit["content"] = "[Service]\nExecStart=/kubelet\nExecStart=/kubelet\n"
			}
		}
		Expect(unstructured.SetNestedSlice(bad.Object, units, "spec", "units")).To(Succeed())
		Expect(land.Client().Create(ctx, bad)).To(MatchError(ContainSubstring("NestedUnreadable: ")))
	})
})

// start builds the example and runs it until the end of the suite. The executable stays in .cache: go build links only
// an executable that is out of date, and linking takes more CPU time than the specs.
func start(ctx SpecContext) {
	GinkgoHelper()
	root := filepath.Join("..", "..")
	_, err := os.ReadDir(filepath.Join(root, "example", "embed")) // go test reuses no result after a change of the folder
	Expect(err).NotTo(HaveOccurred())
	binary, err := filepath.Abs(filepath.Join(root, ".cache", "bin", "embed"))
	Expect(err).NotTo(HaveOccurred())
	Expect(os.MkdirAll(filepath.Dir(binary), 0o755)).To(Succeed())
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-w", "-o", binary, "./example/embed")
	build.Dir = root
	output, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "building the example printed:\n%s", output)
	addresses, err := env.FreeAddresses(ctx, 1)
	Expect(err).NotTo(HaveOccurred(), "finding a free port")
	_, port, err := net.SplitHostPort(addresses[0])
	Expect(err).NotTo(HaveOccurred())
	example, err = env.Start(&env.Log{}, []string{"WEBHOOK_CONFIG_NAMESPACE="}, binary,
		"--kubeconfig="+land.Kubeconfig(), "--webhook-config-mode=url", "--webhook-config-url="+addresses[0],
		"--webhook-config-server-host=127.0.0.1", "--webhook-config-server-port="+port,
		"--webhook-config-cert-dir="+GinkgoT().TempDir(), "--metrics-bind-address=0", "--health-bind-address=0")
	Expect(err).NotTo(HaveOccurred(), "starting the example")
	DeferCleanup(example.Stop)
}

// waitCalled waits until kube-apiserver calls the webhook.
func waitCalled(ctx SpecContext) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		probe := find("Deployment", "kube-controller-manager")
		g.Expect(land.Client().Create(ctx, probe, client.DryRunAll)).To(Succeed())
		raw, err := probe.MarshalJSON()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(raw)).To(ContainSubstring("--cloud-provider=external"))
	}).Should(Succeed(), "waiting until kube-apiserver calls the webhook")
}

// find returns the sample object with a kind and a name, or with the purpose reconcile, for the namespace and the
// worker pool of the shoot.
func find(kind, name string) *unstructured.Unstructured {
	GinkgoHelper()
	for _, object := range sample.Objects {
		found := object.DeepCopy()
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
	Fail("the sample has no " + kind + " " + name)
	return nil
}

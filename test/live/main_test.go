// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/test/deployment"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// What all specs share; BeforeSuite sets it.
var (
	land  *landscape.Landscape
	audit string
	// graft is the installed extension, and start starts it again.
	graft *env.Process
	start func(SpecContext)
)

// namespaces are the namespaces of two shoots: a small one, and a highly available one of an older version.
var namespaces = []string{"shoot--local--one", "shoot--local--two"}

// extension is the namespace of the program.
const extension = "extension"

func TestLive(t *testing.T) { suite.Run(t, "live", "admission") }

var _ = BeforeSuite(func(ctx SpecContext) {
	folder := GinkgoT().TempDir()
	audit = filepath.Join(folder, "audit.log")
	var err error
	// The servers outlive the context of this node.
	land, err = landscape.Start(context.Background(), landscape.Options{AuditLog: audit})
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
	DeferCleanup(land.Stop)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: extension}}
	Expect(land.Client().Create(ctx, namespace)).To(Succeed())
	install(ctx, folder)
	deploy(ctx, snapshot.Options{Kubernetes: "1.34.2", Namespace: namespaces[0], Provider: "acme"})
	deploy(ctx, snapshot.Options{
		Kubernetes: "1.32.10", Namespace: namespaces[1], Provider: "acme", HighAvailability: true,
	})
})

var _ = BeforeEach(func() { suite.ShowLog("the extension", graft.Log) })

// install builds the extension and starts it with the profile in testdata.
func install(ctx SpecContext, folder string) {
	GinkgoHelper()
	binary, err := env.Program("../..", "gardener-extension-provider-graft")
	Expect(err).NotTo(HaveOccurred())
	config := filepath.Join(folder, "config.yaml")
	const configuration = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\n" +
		"kind: ControllerConfiguration\nshutdown: {delay: 0s, timeout: 5s}\n"
	Expect(os.WriteFile(config, []byte(configuration), 0o600)).To(Succeed())
	at, err := env.NewExtension(ctx)
	Expect(err).NotTo(HaveOccurred(), "finding free ports")
	arguments := at.Arguments(config, land.Kubeconfig(), filepath.Join("testdata", "installed.yaml"))
	arguments = append(append(arguments, at.ByURL(extension)...), "--leader-election=false")
	start = func(ctx SpecContext) {
		GinkgoHelper()
		graft, err = env.Start(&env.Log{}, nil, binary, arguments...)
		Expect(err).NotTo(HaveOccurred(), "starting the extension")
		Expect(graft.Await(ctx, at.Ready)).To(Succeed(), "waiting until the extension is ready")
	}
	start(ctx)
	DeferCleanup(func() { Expect(graft.Stop()).To(Succeed(), "stopping the extension") })
}

// deploy creates the control plane of a shoot as gardenlet does, with the Secret that the profile looks up. It waits
// until kube-apiserver calls the webhooks for all of it.
func deploy(ctx SpecContext, o snapshot.Options) {
	GinkgoHelper()
	d, err := deployment.Generate(ctx, o)
	Expect(err).NotTo(HaveOccurred())
	meta := metav1.ObjectMeta{Name: "cloudprovider", Namespace: o.Namespace}
	secret := &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"region": "eu", "password": "hunter2"}}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cloud-config", Namespace: o.Namespace}}
	Expect(d.CreateSurroundings(ctx, land.Client(), secret)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		probe := config.DeepCopy()
		g.Expect(land.Client().Create(ctx, probe, client.DryRunAll)).To(Succeed())
		g.Expect(probe.Annotations).To(HaveKeyWithValue("acme.example.com/region", "eu"))
	}).Should(Succeed(), "waiting until kube-apiserver calls the webhooks")
	Expect(land.Client().Create(ctx, config)).To(Succeed())
	Expect(d.CreateObjects(ctx, land.Client())).To(Succeed(), "deploying %s", o.Namespace)
}

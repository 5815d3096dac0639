// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/test/deployment"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// What all specs share; BeforeSuite sets it.
var (
	land                   *landscape.Landscape
	audit, folder, program string
)

const (
	// shoot is the namespace of the control plane, and extension that of the program.
	shoot     = "shoot--local--one"
	extension = "extension"
)

func TestDrift(t *testing.T) { suite.Run(t, "drift", "admission") }

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	program, err = env.Program("../..", "gardener-extension-provider-graft")
	Expect(err).NotTo(HaveOccurred())
	folder = GinkgoT().TempDir()
	audit = filepath.Join(folder, "audit.log")
	// The servers outlive the context of this node.
	land, err = landscape.Start(context.Background(), landscape.Options{AuditLog: audit})
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
	DeferCleanup(land.Stop)
	deploy(ctx, snapshot.Options{Kubernetes: "1.34.2", Namespace: shoot, Provider: "acme"})
})

// deploy creates the control plane of a shoot as gardenlet does, while there is no webhook.
func deploy(ctx SpecContext, o snapshot.Options) {
	GinkgoHelper()
	d, err := deployment.Generate(ctx, o)
	Expect(err).NotTo(HaveOccurred())
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cloud-config", Namespace: o.Namespace}}
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: extension}}
	Expect(d.CreateSurroundings(ctx, land.Client(), own, config)).To(Succeed())
	Expect(d.CreateObjects(ctx, land.Client())).To(Succeed(), "deploying %s", o.Namespace)
}

// process is the extension in its own process.
type process struct {
	*env.Process
	env.Extension
}

// start runs the extension with the installed profile and returns when it is ready. The extension stops at the end of
// the spec.
func start(ctx SpecContext) *process {
	GinkgoHelper()
	config := filepath.Join(folder, "config.yaml")
	const configuration = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\n" +
		"kind: ControllerConfiguration\n" +
		"shutdown: {delay: 0s, timeout: 5s}\nwebhook: {failurePolicy: Ignore}\n"
	Expect(os.WriteFile(config, []byte(configuration), 0o600)).To(Succeed())
	at, err := env.NewExtension(ctx)
	Expect(err).NotTo(HaveOccurred(), "finding free ports")
	arguments := at.Arguments(config, land.Kubeconfig(), filepath.Join(folder, "profile.yaml"))
	started, err := env.Start(&env.Log{}, nil, program, append(arguments, at.ByURL(extension)...)...)
	Expect(err).NotTo(HaveOccurred(), "starting the extension")
	suite.ShowLog("the extension", started.Log)
	DeferCleanup(started.Stop)
	Expect(started.Await(ctx, at.Ready)).To(Succeed(), "waiting until the extension is ready")
	return &process{started, at}
}

// stop ends the extension; its registration stays.
func (p *process) stop() {
	GinkgoHelper()
	Expect(p.Stop()).To(Succeed(), "stopping the extension")
}

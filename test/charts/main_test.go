// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

const root = "../.."

// seed is the kube-apiserver that all specs share; BeforeSuite sets it.
var seed *landscape.Landscape

func TestCharts(t *testing.T) { suite.Run(t, "charts", "admission") }

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	// The servers outlive the context of this node.
	seed, err = landscape.Start(context.Background(), landscape.Options{
		Without: landscape.AllCRDs(),
		// On by default since Kubernetes 1.35. Without it, kube-apiserver drops the field and refuses the empty volume.
		APIServerArgs: map[string][]string{"feature-gates": {"ImageVolume=true"}},
	})
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
	DeferCleanup(seed.Stop)
	Expect(define(ctx)).To(Succeed(), "installing the definitions")
	Expect(prioritize(ctx)).To(Succeed(), "creating the priority classes")
})

// define installs the definitions that the landscape lacks, from the modules that own the kinds.
func define(ctx context.Context) error {
	gardener, err := folderOf(ctx, root, "github.com/gardener/gardener")
	if err != nil {
		return err
	}
	certManager, err := folderOf(ctx, root+"/hack/tools/crds", "github.com/cert-manager/cert-manager")
	if err != nil {
		return err
	}
	autoscaler, err := folderOf(ctx, root, "k8s.io/autoscaler/vertical-pod-autoscaler")
	if err != nil {
		return err
	}
	const monitoring = "/pkg/component/observability/monitoring/prometheusoperator/templates/"
	options := envtest.CRDInstallOptions{ErrorIfPathMissing: true, MaxTime: time.Minute, Paths: []string{
		gardener + monitoring + "crd-monitoring.coreos.com_prometheusrules.yaml",
		gardener + "/charts/gardener/operator/templates/crd-extensions.yaml",
		certManager + "/deploy/crds/cert-manager.io_certificates.yaml",
		autoscaler + "/deploy/vpa-v1-crd-gen.yaml",
	}}
	_, err = envtest.InstallCRDs(seed.Config(), options)
	return err
}

// folderOf returns the folder in the module cache with the version of a module that the go.mod in a folder requires.
func folderOf(ctx context.Context, folder, module string) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	command.Dir, command.Env = folder, append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w: %s", module, err, out)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("reading where %s is: %w", module, err)
	}
	return found.Dir, nil
}

// prioritize creates the priority classes that Gardener has in seeds and in runtime clusters.
func prioritize(ctx context.Context) error {
	var problems []error
	for name, value := range map[string]int32{"gardener-system-900": 999998900, "gardener-garden-system-200": 999999200} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		problems = append(problems, client.IgnoreAlreadyExists(seed.Client().Create(ctx, class)))
	}
	return errors.Join(problems...)
}

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

	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

const root = "../.."

// seed is the API server that all tests share.
var seed *landscape.Landscape

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, func(ctx context.Context, s *landscape.Suite) (err error) {
		seed, err = s.Start(ctx, landscape.Options{
			Without: landscape.AllCRDs(),
			// On by default since Kubernetes 1.35. What is off is taken out of Pods, and a volume of nothing is refused.
			APIServerArgs: map[string][]string{"feature-gates": {"ImageVolume=true"}},
		})
		if err != nil {
			return err
		}
		if err := errors.Join(define(ctx), prioritize(ctx)); err != nil {
			return fmt.Errorf("preparing the API server: %w", err)
		}
		return nil
	}))
}

// define installs the definitions that the landscape does not have, from the modules of those who own the kinds.
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
	_, err = envtest.InstallCRDs(seed.Config(), envtest.CRDInstallOptions{ErrorIfPathMissing: true, MaxTime: time.Minute, Paths: []string{
		gardener + "/pkg/component/observability/monitoring/prometheusoperator/templates/crd-monitoring.coreos.com_prometheusrules.yaml",
		gardener + "/charts/gardener/operator/templates/crd-extensions.yaml",
		certManager + "/deploy/crds/cert-manager.io_certificates.yaml",
		autoscaler + "/deploy/vpa-v1-crd-gen.yaml",
	}})
	return err
}

// folderOf is where the module cache has the version of a module that the go.mod in a folder requires.
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

// prioritize makes the priority classes that Gardener has in seeds and in runtime clusters.
func prioritize(ctx context.Context) error {
	var problems []error
	for name, value := range map[string]int32{"gardener-system-900": 999998900, "gardener-garden-system-200": 999999200} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		problems = append(problems, client.IgnoreAlreadyExists(seed.Client().Create(ctx, class)))
	}
	return errors.Join(problems...)
}

// defined says whether a definition is there.
func defined(ctx context.Context, name string) error {
	return seed.Client().Get(ctx, client.ObjectKey{Name: name}, &apiextensionsv1.CustomResourceDefinition{})
}

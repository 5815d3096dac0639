// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/gardener/etcd-druid/api/core/v1alpha1/crds"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	// The folders with the manifests that gardenlet installs. Vendor folders have them because of these imports.
	_ "github.com/gardener/gardener/pkg/component/autoscaling/vpa/templates"
	_ "github.com/gardener/gardener/pkg/component/extensions/crds/assets"
	_ "github.com/gardener/gardener/pkg/component/gardener/resourcemanager/assets"
	_ "github.com/gardener/gardener/pkg/component/nodemanagement/machinecontrollermanager/templates"
)

// CRDs names a group of custom resource definitions that one component installs.
type CRDs string

// The groups, by their component.
const (
	Extensions CRDs = "extensions" // extensions.gardener.cloud: Cluster, OperatingSystemConfig, ControlPlane …
	Resources  CRDs = "resources"  // resources.gardener.cloud: ManagedResource
	Druid      CRDs = "druid"      // druid.gardener.cloud: Etcd
	VPA        CRDs = "vpa"        // autoscaling.k8s.io: VerticalPodAutoscaler
	Machines   CRDs = "machines"   // machine.sapcloud.io: MachineDeployment …
)

// manifests are the Go packages of Gardener with the manifests of a group, and nothing else.
var manifests = map[CRDs]string{
	Extensions: "github.com/gardener/gardener/pkg/component/extensions/crds/assets",
	Resources:  "github.com/gardener/gardener/pkg/component/gardener/resourcemanager/assets",
	VPA:        "github.com/gardener/gardener/pkg/component/autoscaling/vpa/templates",
	Machines:   "github.com/gardener/gardener/pkg/component/nodemanagement/machinecontrollermanager/templates",
}

// AllCRDs returns every group except those of the monitoring stack and of Istio: no provider has webhooks for their
// kinds, and their schemas take kube-apiserver ten seconds.
func AllCRDs() []CRDs {
	return []CRDs{Extensions, Resources, Druid, VPA, Machines}
}

// without returns all groups except the given ones.
func without(left []CRDs) []CRDs {
	return slices.DeleteFunc(AllCRDs(), func(g CRDs) bool { return slices.Contains(left, g) })
}

// InstallCRDs installs groups of custom resource definitions, or updates installed ones, and returns when all their
// kinds are served.
func (l *Landscape) InstallCRDs(ctx context.Context, groups ...CRDs) error {
	if len(groups) == 0 {
		return nil
	}
	options := envtest.CRDInstallOptions{
		ErrorIfPathMissing: true, MaxTime: time.Minute, PollInterval: 100 * time.Millisecond,
	}
	var packages []string
	for _, group := range groups {
		switch folder, known := manifests[group]; {
		case known:
			packages = append(packages, folder)
		case group == Druid:
			definitions, err := l.druidCRDs()
			if err != nil {
				return fmt.Errorf("reading the definitions of etcd-druid: %w", err)
			}
			options.CRDs = definitions
		default:
			return fmt.Errorf("there is no group %s of definitions", group)
		}
	}
	var err error
	if options.Paths, err = folders(ctx, packages); err != nil {
		return fmt.Errorf("finding Gardener's definitions: %w", err)
	}
	if _, err := envtest.InstallCRDs(l.config, options); err != nil {
		return fmt.Errorf("installing the definitions: %w", err)
	}
	return nil
}

// druidCRDs returns the definitions of etcd-druid for the version of kube-apiserver, from its module.
func (l *Landscape) druidCRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	asker, err := discovery.NewDiscoveryClientForConfig(l.config)
	if err != nil {
		return nil, fmt.Errorf("creating a discovery client: %w", err)
	}
	info, err := asker.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking for the version of kube-apiserver: %w", err)
	}
	all, err := crds.GetAll(info.GitVersion)
	if err != nil {
		return nil, err
	}
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for name, manifest := range all {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal([]byte(manifest), definition); err != nil {
			return nil, fmt.Errorf("reading the definition of %s: %w", name, err)
		}
		definitions = append(definitions, definition)
	}
	return definitions, nil
}

// folders returns the folders of Go packages. Gardener's packages that install the manifests would add thirty megabytes
// to every test binary.
func folders(ctx context.Context, packages []string) ([]string, error) {
	if len(packages) == 0 {
		return nil, nil
	}
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-f", "{{.Dir}}"}, packages...)...)
	var problem bytes.Buffer
	list.Dir, list.Stderr = root, &problem
	found, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, problem.Bytes())
	}
	return strings.Fields(string(found)), nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gardener/etcd-druid/api/core/v1alpha1/crds"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	"github.com/gardener/gardener/pkg/component"
	"github.com/gardener/gardener/pkg/component/autoscaling/vpa"
	"github.com/gardener/gardener/pkg/component/crddeployer"
	extensionscrds "github.com/gardener/gardener/pkg/component/extensions/crds"
	"github.com/gardener/gardener/pkg/component/nodemanagement/machinecontrollermanager"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
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
	version, err := l.version()
	if err != nil {
		return err
	}
	tasks, ctx := errgroup.WithContext(ctx)
	for _, group := range groups {
		tasks.Go(func() error {
			if err := deploy(ctx, l.client, group, version); err != nil {
				return fmt.Errorf("installing the definitions of group %s: %w", group, err)
			}
			return nil
		})
	}
	if err := tasks.Wait(); err != nil {
		return err
	}
	return l.waitForCRDs()
}

// waitForCRDs returns when discovery lists every installed definition. It polls more often than Gardener's own wait,
// which polls once a second.
func (l *Landscape) waitForCRDs() error {
	installed := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := l.client.List(context.Background(), installed); err != nil {
		return fmt.Errorf("listing the definitions: %w", err)
	}
	all := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(installed.Items))
	for i := range installed.Items {
		all = append(all, &installed.Items[i])
	}
	options := envtest.CRDInstallOptions{MaxTime: time.Minute, PollInterval: 100 * time.Millisecond}
	if err := envtest.WaitForCRDs(l.config, all, options); err != nil {
		return fmt.Errorf("waiting for the definitions to be served: %w", err)
	}
	return nil
}

// version returns the version of kube-apiserver, such as v1.34.4.
func (l *Landscape) version() (string, error) {
	asker, err := discovery.NewDiscoveryClientForConfig(l.config)
	if err != nil {
		return "", fmt.Errorf("creating a discovery client: %w", err)
	}
	info, err := asker.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking for the version of kube-apiserver: %w", err)
	}
	return info.GitVersion, nil
}

// deploy installs a group with Gardener's own deployer, as gardenlet does
// (pkg/gardenlet/controller/seed/seed/components.go).
func deploy(ctx context.Context, c client.Client, group CRDs, version string) error {
	var (
		deployer component.DeployWaiter
		err      error
	)
	switch group {
	case Extensions:
		deployer, err = extensionscrds.NewCRD(c, true, true)
	case Resources:
		return client.IgnoreAlreadyExists(c.Create(ctx, managedResources()))
	case Druid:
		deployer, err = newDruidCRDs(c, version)
	case VPA:
		deployer, err = vpa.NewCRD(c, nil)
	case Machines:
		deployer, err = machinecontrollermanager.NewCRD(c)
	default:
		return errors.New("there is no such group")
	}
	if err != nil {
		return err
	}
	return deployer.Deploy(ctx)
}

// newDruidCRDs returns the same deployer as Gardener's etcd component, without linking that component.
func newDruidCRDs(c client.Client, version string) (component.DeployWaiter, error) {
	manifests, err := crds.GetAll(version)
	if err != nil {
		return nil, err
	}
	return crddeployer.New(c, slices.Collect(maps.Values(manifests)), true)
}

// managedResources returns a definition of ManagedResource that accepts any content, because Gardener's own definition
// is not exported (pkg/component/gardener/resourcemanager).
func managedResources() *apiextensionsv1.CustomResourceDefinition {
	group, version := resourcesv1alpha1.SchemeGroupVersion.Group, resourcesv1alpha1.SchemeGroupVersion.Version
	names := apiextensionsv1.CustomResourceDefinitionNames{
		Kind: "ManagedResource", ListKind: "ManagedResourceList", Plural: "managedresources", Singular: "managedresource",
		ShortNames: []string{"mr"},
	}
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: names.Plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Names: names,
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

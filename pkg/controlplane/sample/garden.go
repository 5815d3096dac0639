// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"
	kubeapiserver "github.com/gardener/gardener/pkg/component/kubernetes/apiserver"
	kubecontrollermanager "github.com/gardener/gardener/pkg/component/kubernetes/controllermanager"
)

// VirtualGarden writes the objects of a virtual garden's control plane as gardener-operator does
// (pkg/operator/controller/garden/garden/components.go), in namespace garden and with names that begin with
// virtual-garden-. A garden has no workers and does not hibernate: those options are not read.
func VirtualGarden(ctx context.Context, o Options) ([]Object, error) {
	o.Workerless, o.Hibernated = true, false
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := newPlane(o, operatorv1alpha1.VirtualGardenNamePrefix, v1beta1constants.GardenNamespace, o.shoot())
	if err != nil {
		return nil, err
	}
	return p.run(ctx, []func(context.Context) error{p.etcds, p.apiServerService, p.apiServer, p.controllerManager})
}

// gardenNamespace carries no label of a provider: Gardener puts none there.
func gardenNamespace() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.GardenNamespace},
	}
}

// gardenize changes the values of a shoot's API server into those of a virtual garden's.
func (p *plane) gardenize(values *kubeapiserver.Values) {
	values.PriorityClassName = v1beta1constants.PriorityClassNameGardenSystem500
	values.ExternalHostname = "api.virtual-garden.example.com"
	values.ServiceAccount.Issuer = "https://api.virtual-garden.example.com"
	values.SNI = kubeapiserver.SNIConfig{}
	values.Autoscaling.APIServerResources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("600m"), corev1.ResourceMemory: resource.MustParse("512Mi"),
	}
}

func gardenizeControllerManager(values *kubecontrollermanager.Values) {
	values.PriorityClassName = v1beta1constants.PriorityClassNameGardenSystem300
	values.ClusterSigningDuration = ptr.To(48 * time.Hour)
	values.ControllerWorkers = kubecontrollermanager.ControllerWorkers{
		GarbageCollector: ptr.To(250), Namespace: ptr.To(100), ResourceQuota: ptr.To(100), ServiceAccountToken: ptr.To(0),
	}
	values.ControllerSyncPeriods = kubecontrollermanager.ControllerSyncPeriods{ResourceQuota: ptr.To(time.Minute)}
}

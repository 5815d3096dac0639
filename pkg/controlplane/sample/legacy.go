// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"cmp"
	"fmt"
	"net"

	"github.com/Masterminds/semver/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener/pkg/client/kubernetes"
)

// The label by which Gardener says in the older generation that it exposes the API server itself, and its value.
const (
	ExposureLabel   = "core.gardener.cloud/apiserver-exposure"
	ExposureManaged = "gardener-managed"
)

// LegacyOptions say which control plane of the older generation to write.
type LegacyOptions struct {
	// Kubernetes is any version. Default "1.20.15".
	Kubernetes string
	// Namespace is the shoot's namespace in the seed. Default "shoot--local--sample".
	Namespace string
	// SNI is the APIServerSNI feature gate: the Service is then of type ClusterIP, and it and the Deployment carry
	// ExposureLabel. Without it the Service is of type LoadBalancer.
	SNI bool
	// LoadBalancer is the address of the load balancer that the API server advertises without SNI. Default "192.0.2.10".
	LoadBalancer string
}

// Legacy writes the objects of a control plane as the text of the contract describes them: etcd as StatefulSets, all
// flags in the command, no label of objects that webhooks mutate. They are sorted by kind and name. Errors wrap
// ErrOptions.
func Legacy(o LegacyOptions) ([]Object, error) {
	setDefault(&o.Kubernetes, "1.20.15")
	setDefault(&o.Namespace, "shoot--local--sample")
	setDefault(&o.LoadBalancer, "192.0.2.10")
	if _, err := semver.StrictNewVersion(o.Kubernetes); err != nil {
		return nil, fmt.Errorf("%w: Kubernetes %q: %w", ErrOptions, o.Kubernetes, err)
	}
	if net.ParseIP(o.LoadBalancer) == nil {
		return nil, fmt.Errorf("%w: load balancer %q is no address", ErrOptions, o.LoadBalancer)
	}

	var objects []Object
	for _, typed := range []client.Object{
		o.apiServer(), o.controllerManager(), o.scheduler(), o.etcd("main", "25Gi"), o.etcd("events", "10Gi"),
		o.service(), o.nodeConfig(), o.provisioning(),
	} {
		object, err := newObject(kubernetes.SeedScheme, "", typed)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	sortObjects(objects)
	return objects, nil
}

// service is the Service of the API server. Without SNI it is a load balancer, and it has no annotation of any cloud.
func (o LegacyOptions) service() *corev1.Service {
	labels := map[string]string{"app": "kubernetes", "role": "apiserver"}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver", Namespace: o.Namespace, Labels: labels},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeLoadBalancer,
			Selector: map[string]string{"app": "kubernetes", "role": "apiserver"},
			Ports: []corev1.ServicePort{{
				Name: "kube-apiserver", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(443),
			}},
		},
	}
	if o.SNI {
		service.Spec.Type = corev1.ServiceTypeClusterIP
		labels[ExposureLabel] = ExposureManaged
	}
	return service
}

// image names an image as Kubernetes releases it.
func (o LegacyOptions) image(component string) string {
	return "k8s.gcr.io/" + component + ":v" + o.Kubernetes
}

// advertised is the address that the API server advertises.
func (o LegacyOptions) advertised() string {
	sni := ""
	if o.SNI {
		sni = "10.242.17.4"
	}
	return cmp.Or(sni, o.LoadBalancer)
}

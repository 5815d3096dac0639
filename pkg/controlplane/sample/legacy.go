// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"cmp"
	"fmt"
	"net"

	"github.com/Masterminds/semver/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener/pkg/client/kubernetes"
)

// The label with which Gardener marks, in the older generation, that it exposes the kube-apiserver itself, and its
// value.
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

// service returns the Service of kube-apiserver. Without SNI it is a load balancer without cloud-specific annotations.
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

// advertised returns the address that kube-apiserver advertises.
func (o LegacyOptions) advertised() string {
	sni := ""
	if o.SNI {
		sni = "10.242.17.4"
	}
	return cmp.Or(sni, o.LoadBalancer)
}

// etcd returns the StatefulSet of a role: one container, no sidecar for backups, a claim of the default storage class.
func (o LegacyOptions) etcd(role, capacity string) *appsv1.StatefulSet {
	name := "etcd-" + role
	labels := func() map[string]string {
		return map[string]string{"app": "etcd-statefulset", "role": role, "gardener.cloud/role": "controlplane"}
	}
	container := corev1.Container{
		Name: "etcd", Image: "quay.io/coreos/etcd:v3.3.17", ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{
			"/usr/local/bin/etcd",
			"--name=" + name,
			"--data-dir=/var/etcd/data/new.etcd",
			"--advertise-client-urls=https://0.0.0.0:2379",
			"--auto-compaction-mode=periodic",
			"--auto-compaction-retention=24",
			"--cert-file=/var/etcd/ssl/server/tls.crt",
			"--client-cert-auth=true",
			"--initial-cluster-state=new",
			"--key-file=/var/etcd/ssl/server/tls.key",
			"--listen-client-urls=https://0.0.0.0:2379",
			"--metrics=basic",
			"--quota-backend-bytes=8589934592",
			"--snapshot-count=75000",
			"--trusted-ca-file=/var/etcd/ssl/ca/ca.crt",
		},
		Ports: []corev1.ContainerPort{
			{Name: "server", ContainerPort: 2380, Protocol: corev1.ProtocolTCP},
			{Name: "client", ContainerPort: 2379, Protocol: corev1.ProtocolTCP},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: name, MountPath: "/var/etcd/data"},
			{Name: "ca-etcd", MountPath: "/var/etcd/ssl/ca"},
			{Name: "etcd-server-tls", MountPath: "/var/etcd/ssl/server"},
		},
	}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.Namespace, Labels: labels()},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](1), ServiceName: name + "-client", PodManagementPolicy: appsv1.OrderedReadyPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "etcd-statefulset", "role": role}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels()},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{container},
					Volumes:    []corev1.Volume{secretVolume("ca-etcd", "").volume, secretVolume("etcd-server-tls", "").volume},
				},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceStorage: resource.MustParse(capacity),
					}},
				},
			}},
		},
	}
}

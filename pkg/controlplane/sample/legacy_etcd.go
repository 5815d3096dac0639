// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// etcd is the StatefulSet of a role: one container, no sidecar for backups, a claim of the default storage class.
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

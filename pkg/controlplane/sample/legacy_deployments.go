// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const ciphers = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"

var admissionPlugins = []string{
	"NamespaceLifecycle", "LimitRanger", "ServiceAccount", "NodeRestriction", "DefaultStorageClass",
	"DefaultTolerationSeconds", "PersistentVolumeLabel", "PodSecurityPolicy", "Priority", "ResourceQuota",
	"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook",
}

func (o LegacyOptions) apiServer() *appsv1.Deployment {
	d := o.deployment("kube-apiserver", "apiserver", []string{
		"/usr/local/bin/kube-apiserver",
		"--enable-admission-plugins=" + strings.Join(admissionPlugins, ","),
		"--disable-admission-plugins=AlwaysPullImages",
		"--advertise-address=" + o.advertised(),
		"--allow-privileged=true",
		"--anonymous-auth=false",
		"--audit-log-path=/var/lib/audit.log",
		"--audit-log-maxsize=100",
		"--audit-log-maxbackup=5",
		"--audit-policy-file=/etc/kubernetes/audit/audit-policy.yaml",
		"--authorization-mode=Node,RBAC",
		"--client-ca-file=/srv/kubernetes/ca/ca.crt",
		"--enable-aggregator-routing=true",
		"--enable-bootstrap-token-auth=true",
		"--endpoint-reconciler-type=none",
		"--etcd-cafile=/srv/kubernetes/etcd/ca/ca.crt",
		"--etcd-certfile=/srv/kubernetes/etcd/client/tls.crt",
		"--etcd-keyfile=/srv/kubernetes/etcd/client/tls.key",
		"--etcd-servers=https://etcd-main-client:2379",
		"--etcd-servers-overrides=/events#https://etcd-events-client:2379",
		"--feature-gates=ServiceNodeExclusion=true",
		"--insecure-port=0",
		"--kubelet-client-certificate=/srv/kubernetes/apiserver-kubelet/kube-apiserver-kubelet.crt",
		"--kubelet-client-key=/srv/kubernetes/apiserver-kubelet/kube-apiserver-kubelet.key",
		"--profiling=false",
		"--secure-port=443",
		"--service-account-key-file=/srv/kubernetes/service-account-key/id_rsa",
		"--service-cluster-ip-range=100.64.0.0/13",
		"--tls-cert-file=/srv/kubernetes/apiserver/kube-apiserver.crt",
		"--tls-cipher-suites=" + ciphers,
		"--tls-private-key-file=/srv/kubernetes/apiserver/kube-apiserver.key",
		"--token-auth-file=/srv/kubernetes/token/static_tokens.csv",
		"--v=2",
	},
		secretVolume("ca", "/srv/kubernetes/ca"),
		secretVolume("ca-etcd", "/srv/kubernetes/etcd/ca"),
		secretVolume("etcd-client-tls", "/srv/kubernetes/etcd/client"),
		secretVolume("kube-apiserver", "/srv/kubernetes/apiserver"),
		secretVolume("kube-apiserver-kubelet", "/srv/kubernetes/apiserver-kubelet"),
		secretVolume("service-account-key", "/srv/kubernetes/service-account-key"),
		secretVolume("static-token", "/srv/kubernetes/token"),
		configVolume("audit-policy-config", "/etc/kubernetes/audit"),
	)
	if o.SNI {
		d.Labels[ExposureLabel] = ExposureManaged
	}
	return d
}

func (o LegacyOptions) controllerManager() *appsv1.Deployment {
	return o.deployment("kube-controller-manager", "controller-manager", []string{
		"/usr/local/bin/kube-controller-manager",
		"--allocate-node-cidrs=true",
		"--attach-detach-reconcile-sync-period=1m0s",
		"--authentication-kubeconfig=/var/lib/kube-controller-manager/kubeconfig",
		"--authorization-kubeconfig=/var/lib/kube-controller-manager/kubeconfig",
		"--cluster-cidr=100.96.0.0/11",
		"--cluster-name=" + o.Namespace,
		"--cluster-signing-cert-file=/srv/kubernetes/ca/ca.crt",
		"--cluster-signing-key-file=/srv/kubernetes/ca/ca.key",
		"--concurrent-deployment-syncs=50",
		"--concurrent-replicaset-syncs=50",
		"--controllers=*,bootstrapsigner,tokencleaner",
		"--feature-gates=ServiceNodeExclusion=true",
		"--horizontal-pod-autoscaler-downscale-stabilization=5m0s",
		"--horizontal-pod-autoscaler-sync-period=30s",
		"--horizontal-pod-autoscaler-tolerance=0.1",
		"--kubeconfig=/var/lib/kube-controller-manager/kubeconfig",
		"--leader-elect=true",
		"--node-monitor-grace-period=120s",
		"--pod-eviction-timeout=5m0s",
		"--port=0",
		"--profiling=false",
		"--root-ca-file=/srv/kubernetes/ca/ca.crt",
		"--secure-port=10257",
		"--service-account-private-key-file=/srv/kubernetes/service-account-key/id_rsa",
		"--service-cluster-ip-range=100.64.0.0/13",
		"--tls-cert-file=/var/lib/kube-controller-manager-server/kube-controller-manager-server.crt",
		"--tls-cipher-suites=" + ciphers,
		"--tls-private-key-file=/var/lib/kube-controller-manager-server/kube-controller-manager-server.key",
		"--use-service-account-credentials=true",
		"--v=2",
	},
		secretVolume("ca", "/srv/kubernetes/ca"),
		secretVolume("kube-controller-manager", "/var/lib/kube-controller-manager"),
		secretVolume("kube-controller-manager-server", "/var/lib/kube-controller-manager-server"),
		secretVolume("service-account-key", "/srv/kubernetes/service-account-key"),
	)
}

func (o LegacyOptions) scheduler() *appsv1.Deployment {
	return o.deployment("kube-scheduler", "scheduler", []string{
		"/usr/local/bin/kube-scheduler",
		"--config=/var/lib/kube-scheduler-config/config.yaml",
		"--authentication-kubeconfig=/var/lib/kube-scheduler/kubeconfig",
		"--authorization-kubeconfig=/var/lib/kube-scheduler/kubeconfig",
		"--client-ca-file=/srv/kubernetes/ca/ca.crt",
		"--feature-gates=ServiceNodeExclusion=true",
		"--port=0",
		"--secure-port=10259",
		"--tls-cert-file=/var/lib/kube-scheduler-server/kube-scheduler-server.crt",
		"--tls-private-key-file=/var/lib/kube-scheduler-server/kube-scheduler-server.key",
		"--v=2",
	},
		secretVolume("ca", "/srv/kubernetes/ca"),
		secretVolume("kube-scheduler", "/var/lib/kube-scheduler"),
		secretVolume("kube-scheduler-server", "/var/lib/kube-scheduler-server"),
		configVolume("kube-scheduler-config", "/var/lib/kube-scheduler-config"),
	)
}

// mounted is a volume and where its container mounts it.
type mounted struct {
	volume corev1.Volume
	path   string
}

func secretVolume(name, path string) mounted {
	return mounted{corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: name},
	}}, path}
}

func configVolume(name, path string) mounted {
	return mounted{corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}}, path}
}

// deployment builds a Deployment of one container that is named like it.
func (o LegacyOptions) deployment(name, role string, command []string, volumes ...mounted) *appsv1.Deployment {
	labels := func() map[string]string {
		return map[string]string{"app": "kubernetes", "role": role, "gardener.cloud/role": "controlplane"}
	}
	container := corev1.Container{
		Name: name, Image: o.image(name), ImagePullPolicy: corev1.PullIfNotPresent, Command: command,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
		}},
	}
	spec := corev1.PodSpec{}
	for _, m := range volumes {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: m.volume.Name, MountPath: m.path})
		spec.Volumes = append(spec.Volumes, m.volume)
	}
	spec.Containers = []corev1.Container{container}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.Namespace, Labels: labels()},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](0),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "kubernetes", "role": role}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels()}, Spec: spec},
		},
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
)

const legacyKubeletUnit = `[Unit]
Description=kubelet daemon
Documentation=https://kubernetes.io/docs/admin/kubelet
# the container runtime must be there before the kubelet asks for it
After=docker.service
Wants=docker.socket rpc-statd.service
[Install]
WantedBy=multi-user.target
[Service]
Restart=always
RestartSec=5
EnvironmentFile=/etc/environment
ExecStartPre=/bin/docker run --rm -v /opt/bin:/opt/bin:rw registry.example.com/hyperkube cp /usr/local/bin/kubelet /opt/bin
ExecStart=/opt/bin/kubelet \
    --bootstrap-kubeconfig=/var/lib/kubelet/kubeconfig-bootstrap \
    --cni-bin-dir=/opt/cni/bin/ \
    --cni-conf-dir=/etc/cni/net.d/ \
    --config=/var/lib/kubelet/config/kubelet \
    --image-pull-progress-deadline=1m0s \
    --kubeconfig=/var/lib/kubelet/kubeconfig-real \
    --network-plugin=cni \
    --node-labels=worker.gardener.cloud/pool=general \
    --node-labels=node.kubernetes.io/role=node \
    --volume-plugin-dir=/var/lib/kubelet/volumeplugins \
    --v=2
`

const legacyKubeletConfiguration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  x509:
    clientCAFile: /var/lib/kubelet/ca.crt
  webhook:
    enabled: true
    cacheTTL: 2m0s
  anonymous:
    enabled: false
authorization:
  mode: Webhook
cgroupDriver: cgroupfs
cgroupRoot: /
clusterDNS:
- 100.64.0.10
clusterDomain: cluster.local
evictionHard:
  imagefs.available: 5%
  memory.available: 100Mi
  nodefs.available: 5%
featureGates:
  ServiceNodeExclusion: true
failSwapOn: true
kubeReserved:
  cpu: 80m
  memory: 1Gi
maxPods: 110
rotateCertificates: true
serializeImagePulls: true
`

// nodeConfig returns the OperatingSystemConfig of a running node, with the kubelet.
func (o LegacyOptions) nodeConfig() *extensionsv1alpha1.OperatingSystemConfig {
	return o.operatingSystemConfig("cloud-config-general-original", extensionsv1alpha1.OperatingSystemConfigPurposeReconcile,
		[]extensionsv1alpha1.Unit{
			{Name: "docker.service", Enable: ptr.To(true), DropIns: []extensionsv1alpha1.DropIn{{
				Name: "10-docker-opts.conf", Content: "[Service]\nEnvironment=\"DOCKER_OPTS=--log-opt max-size=60m\"\n",
			}}},
			{Name: "kubelet.service", Enable: ptr.To(true), Command: ptr.To(extensionsv1alpha1.CommandStart), Content: ptr.To(legacyKubeletUnit)},
		},
		[]extensionsv1alpha1.File{
			inline("/var/lib/kubelet/ca.crt", 0o644, certificate),
			inline("/var/lib/kubelet/config/kubelet", 0o644, legacyKubeletConfiguration),
			inline("/etc/sysctl.d/99-k8s-general.conf", 0o644, "vm.max_map_count = 135217728\nnet.ipv4.ip_forward = 1\n"),
		})
}

// provisioning returns the OperatingSystemConfig for the first boot of a machine; it has no kubelet.
func (o LegacyOptions) provisioning() *extensionsv1alpha1.OperatingSystemConfig {
	return o.operatingSystemConfig("cloud-config-general-downloader", extensionsv1alpha1.OperatingSystemConfigPurposeProvision,
		[]extensionsv1alpha1.Unit{{
			Name: "cloud-config-downloader.service", Enable: ptr.To(true), Command: ptr.To(extensionsv1alpha1.CommandStart),
			Content: ptr.To("[Unit]\nDescription=Downloads the configuration of the node\n[Service]\nRestart=always\nRestartSec=30\n" +
				"ExecStart=/var/lib/cloud-config-downloader/download-cloud-config.sh\n[Install]\nWantedBy=multi-user.target\n"),
		}},
		[]extensionsv1alpha1.File{
			inline("/var/lib/cloud-config-downloader/download-cloud-config.sh", 0o744, "#!/bin/bash -eu\n"),
		})
}

func (o LegacyOptions) operatingSystemConfig(
	name string,
	purpose extensionsv1alpha1.OperatingSystemConfigPurpose,
	units []extensionsv1alpha1.Unit,
	files []extensionsv1alpha1.File,
) *extensionsv1alpha1.OperatingSystemConfig {
	return &extensionsv1alpha1.OperatingSystemConfig{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: o.Namespace, Labels: map[string]string{"worker.gardener.cloud/pool": "general"},
		},
		Spec: extensionsv1alpha1.OperatingSystemConfigSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "coreos"}, Purpose: purpose, Units: units, Files: files,
		},
	}
}

// inline returns a file with its content in plain text, unlike today's base64.
func inline(path string, permissions uint32, data string) extensionsv1alpha1.File {
	return extensionsv1alpha1.File{
		Path: path, Permissions: ptr.To(permissions),
		Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{Data: data}},
	}
}

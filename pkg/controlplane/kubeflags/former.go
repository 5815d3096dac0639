// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kubeflags

// former are flags from before the oldest version of the table, by component, with a version that had them. Providers still
// remove such flags, or set them where nobody noticed that they went. Read in the sources of Kubernetes v1.13.0 and v1.29.6;
// v1.30.14 has none of them.
var former = map[string]map[string]Minor{
	"kube-apiserver":          {"basic-auth-file": 13, "insecure-port": 13},
	"kube-controller-manager": {"enable-taint-manager": 13, "pod-eviction-timeout": 13},
	"kubelet": {
		"allow-privileged":                13,
		"azure-container-registry-config": 29,
		"cni-bin-dir":                     13,
		"cni-conf-dir":                    13,
		"container-runtime":               13,
		"docker-endpoint":                 13,
		"image-pull-progress-deadline":    13,
		"network-plugin":                  13,
		"network-plugin-mtu":              13,
		"non-masquerade-cidr":             13,
	},
}

// Former is a version before the table that had a flag which the table does not know; false when no such flag is known.
func Former(component, name string) (Minor, bool) {
	had, ok := former[component][name]
	return had, ok
}

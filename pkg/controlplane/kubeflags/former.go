// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kubeflags

// former lists flags that were removed before the oldest version of the table, by component, with a version that had
// them. Providers still remove such flags, or still set them by mistake. Source: Kubernetes v1.13.0 and v1.29.6;
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

// Former returns a version before the table that had a flag missing in the table. It returns false if no such flag is
// known.
func Former(component, name string) (Minor, bool) {
	had, ok := former[component][name]
	return had, ok
}

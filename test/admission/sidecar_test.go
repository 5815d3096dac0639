// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

// wantSidecar is the container that the OpenStack profile adds to the machine-controller-manager, with the defaults of
// the API server.
func wantSidecar(namespace string) []string {
	fields := []string{
		"args/0 --control-kubeconfig=inClusterConfig",
		"args/1 --kube-api-qps=100",
		"args/10 --port=10259",
		"args/11 --target-kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig",
		"args/12 --v=3",
		"args/2 --kube-api-burst=200",
		"args/3 --machine-creation-timeout=20m",
		"args/4 --machine-drain-timeout=2h",
		"args/5 --machine-health-timeout=10m",
		"args/6 --machine-safety-apiserver-statuscheck-timeout=30s",
		"args/7 --machine-safety-apiserver-statuscheck-period=1m",
		"args/8 --machine-safety-orphan-vms-period=30m",
		"args/9 --namespace=" + namespace,
		"image europe-docker.pkg.dev/gardener-project/releases/gardener/" +
			"machine-controller-manager-provider-openstack:v0.25.0",
		"imagePullPolicy IfNotPresent",
		"livenessProbe/failureThreshold 3",
		"livenessProbe/httpGet/path /healthz",
		"livenessProbe/httpGet/port 10259",
		"livenessProbe/httpGet/scheme HTTP",
		"livenessProbe/initialDelaySeconds 30",
		"livenessProbe/periodSeconds 10",
		"livenessProbe/successThreshold 1",
		"livenessProbe/timeoutSeconds 5",
		"name machine-controller-manager-provider-openstack",
		"ports/0/containerPort 10259",
		"ports/0/name providermetrics",
		"ports/0/protocol TCP",
		"resources/requests/cpu 10m",
		"resources/requests/memory 20Mi",
		"securityContext/allowPrivilegeEscalation false",
		"terminationMessagePath /dev/termination-log",
		"terminationMessagePolicy File",
		"volumeMounts/0/mountPath /var/run/secrets/gardener.cloud/shoot/generic-kubeconfig",
		"volumeMounts/0/name kubeconfig",
		"volumeMounts/0/readOnly true",
	}
	for i := range fields {
		fields[i] = "+ /spec/template/spec/containers/1/" + fields[i]
	}
	return fields
}

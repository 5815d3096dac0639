// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

var errNoPodTemplate = errors.New("is missing")

// Checks of parts of pods: those of Kubernetes' pkg/apis/core/validation/validation.go that concern one field. Required
// fields are checked only if the existing object cannot have them.
var (
	containerChecks = slices.Concat([]check{
		{"imagePullPolicy", oneOf(corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)},
		{"terminationMessagePolicy", oneOf(corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)},
		{"restartPolicy", oneOf(corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever)},
		{"ports[]", needs("containerPort")},
		{"ports[].containerPort", integer(validation.IsValidPortNum)},
		{"ports[].hostPort", between(0, 65535)},
		{"ports[].protocol", oneOf(corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)},
		{"ports[].name", named(validation.IsValidPortName)},
		{"env[]", needs("name")},
		{"env[].name", named(validation.IsRelaxedEnvVarName)},
		{"envFrom[]", exactlyOne("configMapRef", "secretRef")},
		{"envFrom[].configMapRef", needs("name")},
		{"envFrom[].secretRef", needs("name")},
		{"volumeMounts[]", needs("name", "mountPath")},
		{"volumeDevices[]", needs("name", "devicePath")},
		{"resizePolicy[].restartPolicy", oneOf(corev1.NotRequired, corev1.RestartContainer)},
		{"resources.limits{}", notBelowZero},
		{"resources.requests{}", notBelowZero},
		{"securityContext.procMount", oneOf(corev1.DefaultProcMount, corev1.UnmaskedProcMount)},
		{"securityContext.runAsUser", atLeast(0)},
		{"securityContext.runAsGroup", atLeast(0)},
		{"securityContext.seccompProfile.type", oneOf(
			corev1.SeccompProfileTypeUnconfined, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeLocalhost)},
	},
		below(valueSourceChecks, "env[].valueFrom"),
		below(mountChecks, "volumeMounts[]"),
		below(probeChecks, "livenessProbe", "readinessProbe", "startupProbe"),
		below(handlerChecks, "livenessProbe", "readinessProbe", "startupProbe", "lifecycle.postStart", "lifecycle.preStop"),
	)

	valueSourceChecks = []check{
		{"", exactlyOne(valueSources...)},
		{"secretKeyRef", needs("name", "key")},
		{"secretKeyRef.key", named(validation.IsConfigMapKey)},
		{"configMapKeyRef", needs("name", "key")},
		{"configMapKeyRef.key", named(validation.IsConfigMapKey)},
		{"fieldRef", needs("fieldPath")},
		{"resourceFieldRef", needs("resource")},
		{"fileKeyRef", needs("volumeName", "path", "key")},
	}

	mountChecks = []check{
		{"mountPropagation", oneOf(corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional)},
		{"recursiveReadOnly", oneOf(corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled)},
		{"subPath", isInside},
	}

	probeChecks = []check{
		{"initialDelaySeconds", atLeast(0)},
		{"timeoutSeconds", atLeast(0)},
		{"periodSeconds", atLeast(0)},
		{"successThreshold", atLeast(0)},
		{"failureThreshold", atLeast(0)},
		{"terminationGracePeriodSeconds", atLeast(1)},
		{"grpc.port", integer(validation.IsValidPortNum)},
	}

	handlerChecks = []check{
		{"httpGet.port", isPort},
		{"httpGet.scheme", oneOf(corev1.URISchemeHTTP, corev1.URISchemeHTTPS)},
		{"tcpSocket.port", isPort},
	}

	volumeChecks = slices.Concat([]check{
		{"emptyDir.sizeLimit", notBelowZero},
		{"image.pullPolicy", oneOf(corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)},
		{"secret.defaultMode", isMode},
		{"configMap.defaultMode", isMode},
		{"projected.defaultMode", isMode},
		{"downwardAPI.defaultMode", isMode},
		{"projected.sources[].serviceAccountToken", needs("path")},
		{"projected.sources[].serviceAccountToken.expirationSeconds", atLeast(600)},
	},
		below(keyChecks, "secret.items[]", "configMap.items[]", "projected.sources[].secret.items[]", "projected.sources[].configMap.items[]"),
		below([]check{{"", needs("path")}, {"path", isInside}, {"mode", isMode}}, "downwardAPI.items[]", "projected.sources[].downwardAPI.items[]"),
	)

	keyChecks = []check{{"", needs("key", "path")}, {"key", named(validation.IsConfigMapKey)}, {"path", isInside}, {"mode", isMode}}

	policyChecks = []check{
		{"mode", oneOf(vpaautoscalingv1.ContainerScalingModeAuto, vpaautoscalingv1.ContainerScalingModeOff)},
		{"controlledValues", oneOf(vpaautoscalingv1.ContainerControlledValuesRequestsAndLimits, vpaautoscalingv1.ContainerControlledValuesRequestsOnly)},
		{"minAllowed{}", notBelowZero},
		{"maxAllowed{}", notBelowZero},
	}

	serviceChecks = []check{
		{"externalTrafficPolicy", oneOf(corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)},
		{"internalTrafficPolicy", oneOf(corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)},
		{"ipFamilies[]", oneOf(corev1.IPv4Protocol, corev1.IPv6Protocol)},
		{"ipFamilyPolicy", oneOf(corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack)},
		{"sessionAffinity", oneOf(corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)},
		{"healthCheckNodePort", between(0, 65535)},
	}
)

// isPort holds that a value is a port, by its number or by its name.
func isPort(n source.Node, at string) source.Findings {
	return append(integer(validation.IsValidPortNum)(n, at), named(validation.IsValidPortName)(n, at)...)
}

// isMode holds that a number is the mode of a file.
func isMode(n source.Node, at string) source.Findings { return between(0, 0o777)(n, at) }

// isInside holds that a path stays inside of where it begins.
func isInside(n source.Node, at string) source.Findings {
	if strings.HasPrefix(n.Value, "/") || slices.Contains(strings.Split(n.Value, "/"), "..") {
		return wrong(n, at, source.WrongValue, "must be a relative path without ..")
	}
	return nil
}

// checkLabel judges a name that is a DNS label, as those of containers and volumes are.
func checkLabel(name string) string {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return strings.Join(problems, "; ")
	}
	return ""
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// kubeletChecks are what the kubelet holds of its configuration before it starts, in all versions of the table of kubeflags: Kubernetes'
// pkg/kubelet/apis/config/validation/validation.go, and pkg/kubelet/eviction/helpers.go for what begins with eviction.
var kubeletChecks = slices.Concat([]check{
	{"imageGCHighThresholdPercent", between(0, 100)},
	{"imageGCLowThresholdPercent", between(0, 100)},
	{"imageMinimumGCAge", lasts(0, math.MaxInt64)},
	{"imageMaximumGCAge", lasts(0, math.MaxInt64)},
	{"nodeLeaseDurationSeconds", atLeast(1)},
	{"eventBurst", atLeast(0)},
	{"eventRecordQPS", atLeast(0)},
	{"kubeAPIBurst", atLeast(0)},
	{"kubeAPIQPS", atLeast(0)},
	{"registryBurst", atLeast(0)},
	{"registryPullQPS", atLeast(0)},
	{"nodeStatusMaxImages", atLeast(-1)},
	{"maxOpenFiles", atLeast(0)},
	{"maxPods", atLeast(0)},
	{"podsPerCore", atLeast(0)},
	{"maxParallelImagePulls", atLeast(1)},
	{"containerLogMaxWorkers", atLeast(1)},
	{"containerLogMonitorInterval", lasts(3*time.Second, math.MaxInt64)},
	{"cpuCFSQuotaPeriod", lasts(time.Millisecond, time.Second)},
	{"oomScoreAdj", between(-1000, 1000)},
	{"iptablesDropBit", between(0, 31)},
	{"iptablesMasqueradeBit", between(0, 31)},
	{"port", integer(validation.IsValidPortNum)},
	{"readOnlyPort", between(0, 65535)},
	{"healthzPort", between(0, 65535)},
	{"topologyManagerPolicy", oneOf(kubeletconfigv1beta1.NoneTopologyManagerPolicy, kubeletconfigv1beta1.BestEffortTopologyManagerPolicy,
		kubeletconfigv1beta1.RestrictedTopologyManagerPolicy, kubeletconfigv1beta1.SingleNumaNodeTopologyManagerPolicy)},
	{"topologyManagerScope", oneOf(kubeletconfigv1beta1.ContainerTopologyManagerScope, kubeletconfigv1beta1.PodTopologyManagerScope)},
	{"hairpinMode", oneOf(kubeletconfigv1beta1.PromiscuousBridge, kubeletconfigv1beta1.HairpinVeth, kubeletconfigv1beta1.HairpinNone)},
	{"enforceNodeAllocatable[]", oneOf("none", "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible")},
	{"evictionHard{}", isThreshold},
	{"evictionSoft{}", isThreshold},
	{"evictionSoftGracePeriod{}", lasts(0, math.MaxInt64)},
	{"evictionMinimumReclaim{}", notBelowZero},
},
	below([]check{{"", hasSignals}}, "evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"),
)

// signals are what evictions go by: pkg/kubelet/eviction/api/types.go of Kubernetes.
var signals = []string{
	"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree",
	"containerfs.available", "containerfs.inodesFree", "allocatableMemory.available", "pid.available",
}

// tried are the names with which a rule with forEach is tried out when a profile is loaded.
var tried = regexp.MustCompile(`item[0-9]`)

// hasSignals holds that the keys of a mapping are signals, unless a rule with forEach computes them.
func hasSignals(n source.Node, at string) source.Findings {
	var findings source.Findings
	for _, field := range n.Fields() {
		name := field.Key.Value
		if slices.Contains(signals, name) || tried.MatchString(name) {
			continue
		}
		hint := source.Suggest(name, signals)
		findings = append(findings, field.Key.Finding(at+"."+name, "%q is no signal of the kubelet%s", name, hint).Of(source.WrongValue).Instead(field.Key, signals))
	}
	return findings
}

// isThreshold holds that a value is a share of 0% to 100%, or a quantity that is more than nothing.
func isThreshold(n source.Node, at string) source.Findings {
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	if share, ok := strings.CutSuffix(n.Value, "%"); ok {
		if value, err := strconv.ParseFloat(share, 32); err != nil || !(value >= 0 && value <= 100) {
			return wrong(n, at, source.WrongValue, "must be between 0% and 100%")
		}
		return nil
	}
	if quantity, err := resource.ParseQuantity(n.Value); err != nil || quantity.Sign() <= 0 {
		return wrong(n, at, source.WrongValue, "must be a share, such as 5%, or a quantity that is more than nothing, such as 100Mi")
	}
	return nil
}

// lasts holds that a duration is in a range, both ends among it; of what is no duration, types say it.
func lasts(least, most time.Duration) judge {
	allowed := fmt.Sprintf("must be a duration of %s or more", least)
	if most < math.MaxInt64 {
		allowed = fmt.Sprintf("must be a duration between %s and %s", least, most)
	}
	return func(n source.Node, at string) source.Findings {
		duration, err := time.ParseDuration(n.Value)
		if n.Kind == yaml.ScalarNode && (err != nil || duration < least || duration > most) {
			return wrong(n, at, source.WrongValue, allowed)
		}
		return nil
	}
}

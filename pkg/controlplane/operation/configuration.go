// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// configuration sets and removes fields of the kubelet's configuration file.
func configuration() Definition {
	return Definition{
		Name:    "configuration",
		Summary: "sets and removes fields of the kubelet's configuration file; merges mappings, and keeps the remaining fields and comments",
		Example: "configuration: {set: {enableControllerAttachDetach: true}, remove: [volumePluginDir]}",
		Examples: []string{
			"configuration: {set: {memoryReservationPolicy: TieredReservation, tlsCurvePreferences: [29], defaultPodSysctls: {net.ipv4.ip_forward: \"1\"}}}",
		},
		Arguments: setAndRemove("fields", kubeletShape()),
		Parts:     target.KubeletConfiguration,
		compile:   compileConfiguration,
	}
}

func compileConfiguration(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	writes, findings := writeBuilder{
		place: Place{Kind: KubeletField},
		value: c.Tree,
		check: func(name string) string {
			if name == "featureGates" {
				return "feature gates are set with the operation featureGates, which keeps the remaining entries"
			}
			return ""
		},
		rule:  OtherOperation,
		known: kubeletFields(), unknown: UnknownKubeletField, entry: "a field of a KubeletConfiguration",
		apply: func(o *target.Object, name string, v Resolved) error { return setKubeletField(o, v, name) },
	}.compileEdits(arguments, path)
	for _, write := range writes {
		value, ok := write.Value.Constant()
		if !ok || value.Absent {
			continue
		}
		if problem := checkKubeletValue(write.Place.Name, value.JSON); problem != "" {
			findings = append(findings, write.At.Finding(write.Path, "the kubelet cannot read this: %s", problem).Of(WrongShape))
		}
	}
	return writes, append(findings, runChecks(kubeletChecks, arguments.Get("set"), path+".set").Beyond(findings)...)
}

func setKubeletField(o *target.Object, v Resolved, path ...string) error {
	yaml, err := o.KubeletConfiguration()
	if err != nil {
		return err
	}
	if v.Absent {
		return nested(yaml.Remove(path...), "%s of the kubelet's configuration", strings.Join(path, "."))
	}
	return nested(yaml.Merge(v.JSON, path...), "%s of the kubelet's configuration", strings.Join(path, "."))
}

// kubeletFields returns the fields of the kubelet's configuration in all versions of Kubernetes in the table, sorted.
// The versions of each field are checked when the versions of a profile are known.
var kubeletFields = sync.OnceValue(func() []string {
	return slices.DeleteFunc(kubeflags.EverKnown("", kubeflags.Fields), func(name string) bool { return name == "kind" || name == "apiVersion" })
})

// kubeletShape returns the type of the settable fields: those of the Go type, with its comments for editors, and newer
// ones.
func kubeletShape() Type {
	shape := shapeLike[kubeletconfigv1beta1.KubeletConfiguration]("kind", "apiVersion", "featureGates")
	typed := source.StructFields(shape.Of)
	for _, name := range kubeletFields() {
		if _, ok := typed[name]; !ok {
			history, _ := kubeflags.Field(name)
			shape.Fields = append(shape.Fields, Argument{Name: name, Type: kubeletFieldType(name), Summary: history.String()})
		}
	}
	return shape
}

// kubeletFieldType returns the type of a field that only the table contains.
func kubeletFieldType(path string) Type {
	history, _ := kubeflags.Field(path)
	switch history.Kind {
	case "list":
		return computed(listOf(kubeletFieldType(path + "[]")))
	case "map":
		return mappingOf(orNull(kubeletFieldType(path + "{}")))
	case "string":
		return anyText
	case "integer", "number", "bool":
		return Type{Form: Scalar}
	default:
		return anyTree
	}
}

// checkKubeletValue validates a value as the kubelet would: with the Go type, which is the most precise, and with the
// table for newer fields. It returns an empty string if the kubelet can read the value.
func checkKubeletValue(name string, raw []byte) string {
	var (
		typed kubeletconfigv1beta1.KubeletConfiguration
		value any
	)
	if err := json.Unmarshal(fmt.Appendf(nil, "{%q:%s}", name, raw), &typed); err != nil {
		return source.JSONError(err).Error()
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return "it is not a value"
	}
	return checkKubeletPath(name, value)
}

func checkKubeletPath(path string, value any) string {
	history, known := kubeflags.Field(path)
	if !known {
		return fmt.Sprintf("unknown field %q", path[strings.LastIndexByte(path, '.')+1:])
	}
	if !accepts(history.Kind, value, path) {
		return fmt.Sprintf("%s must be of the kind %s", path, history.Kind)
	}
	if history.Kind == "any" {
		return ""
	}
	switch of := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(of)) {
			below := path + "{}"
			if history.Kind == "object" {
				below = path + "." + key
			}
			if problem := checkKubeletPath(below, of[key]); problem != "" {
				return problem
			}
		}
	case []any:
		for _, item := range of {
			if problem := checkKubeletPath(path+"[]", item); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// accepts reports whether a field of a kind accepts a value. A null is no item of a list.
func accepts(kind string, value any, path string) bool {
	kinds := []string{"any"}
	switch of := value.(type) {
	case nil:
		return !strings.HasSuffix(path, "[]")
	case map[string]any:
		kinds = append(kinds, "object", "map")
	case []any:
		kinds = append(kinds, "list")
	case string:
		kinds = append(kinds, "string")
	case bool:
		kinds = append(kinds, "bool")
	case float64:
		kinds = append(kinds, "number")
		if of == float64(int64(of)) {
			kinds = append(kinds, "integer")
		}
	}
	return slices.Contains(kinds, kind)
}

// kubeletChecks lists the validations of the kubelet at start, in all versions of the table of kubeflags: Kubernetes'
// pkg/kubelet/apis/config/validation/validation.go, and pkg/kubelet/eviction/helpers.go for fields that begin with
// eviction.
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

// signals lists the signals of evictions: pkg/kubelet/eviction/api/types.go of Kubernetes.
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
		findings = append(findings, field.Key.Finding(at+"."+name, "%q is not a signal of the kubelet%s", name, hint).Of(source.WrongValue).Instead(field.Key, signals))
	}
	return findings
}

// isThreshold reports a value that is neither a share of 0% to 100% nor a positive quantity.
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

// lasts returns a check that a duration is in a range, inclusively. It ignores invalid durations, which the type check
// reports.
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

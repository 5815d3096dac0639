// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// checkFields finds members of a mapping that are not among the known ones.
func checkFields(n source.Node, path string, known []string) source.Findings {
	var findings source.Findings
	for _, field := range n.Fields() {
		if !slices.Contains(known, field.Key.Value) {
			findings = append(findings, source.UnknownKey(field.Key, path, n, known))
		}
	}
	return findings
}

// memberOr returns the value of a member, or the mapping if it is missing.
func memberOr(mapping source.Node, name string) source.Node {
	if member := mapping.Get(name); member.Node != nil {
		return member
	}
	return mapping
}

// shapeOf converts a value to the form in which kube-apiserver stores it: without nulls and omitted zero values, and
// with quantities in canonical notation. Otherwise the same rule would write the value at every update. It fails for a
// value that is not a T, and for fields that T lacks, which kube-apiserver drops.
func shapeOf[T any](raw []byte) ([]byte, error) {
	var typed T
	unknown, err := kjson.UnmarshalStrict(raw, &typed, kjson.DisallowUnknownFields)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrValue, source.JSONError(err))
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrValue, utilerrors.NewAggregate(unknown))
	}
	stored, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	var written, canonical any
	if err := errors.Join(decode(raw, &written), decode(stored, &canonical)); err != nil {
		return nil, err
	}
	return json.Marshal(common(written, canonical))
}

// unknownFields finds members that a Go type of Kubernetes lacks, in all values that decode as one.
func unknownFields(n source.Node, path string, of reflect.Type) source.Findings {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	var findings source.Findings
	switch of.Kind() {
	case reflect.Slice:
		for i, item := range n.Items() {
			findings = append(findings, unknownFields(item, fmt.Sprintf("%s[%d]", path, i), of.Elem())...)
		}
	case reflect.Map:
		for _, field := range n.Fields() {
			findings = append(findings, unknownFields(field.Value, path+"."+field.Key.Value, of.Elem())...)
		}
	case reflect.Struct:
		known := source.StructFields(of)
		for _, field := range n.Fields() {
			inner := path + "." + field.Key.Value
			if member, ok := known[field.Key.Value]; ok {
				findings = append(findings, unknownFields(field.Value, inner, member.Type)...)
			} else {
				findings = append(findings, source.UnknownKey(field.Key, inner, n, slices.Sorted(maps.Keys(known))))
			}
		}
	}
	return findings
}

func decode(raw []byte, into *any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// common returns the canonical value without members that were not written.
func common(written, canonical any) any {
	switch canonical := canonical.(type) {
	case map[string]any:
		members, ok := written.(map[string]any)
		if !ok {
			return canonical
		}
		for key, value := range canonical {
			member, ok := members[key]
			if !ok || member == nil {
				delete(canonical, key)
				continue
			}
			canonical[key] = common(member, value)
		}
	case []any:
		items, ok := written.([]any)
		if !ok || len(items) != len(canonical) {
			return canonical
		}
		for i := range canonical {
			canonical[i] = common(items[i], canonical[i])
		}
	}
	return canonical
}

// typed compiles a value that Kubernetes decodes as a T, with further checks. A constant gets the form in which
// kube-apiserver stores it at once, and a computed value after its computation.
func typed[T any](c *Context, n source.Node, path string, checks []check) (Value, source.Findings) {
	value, findings := c.Tree(n, path)
	if findings = append(findings, unknownFields(n, path, reflect.TypeFor[T]())...); len(findings) > 0 {
		return value, findings
	}
	if value.constant == nil {
		value.shape = shapeOf[T]
		return value, runChecks(checks, n, path)
	}
	raw, err := shapeOf[T](value.constant.JSON)
	if err != nil {
		return value, source.FindingsOf(n, path, err).Of(WrongShape)
	}
	value.constant = &Resolved{JSON: raw}
	return value, runChecks(checks, n, path)
}

// check is a condition for the values at a path that types do not express. kube-apiserver enforces it, or the component
// when it starts.
type check struct {
	// path leads to the values: keys with dots between them, [] for the items of a list, {} for the values of a mapping.
	// If it is empty, the check is about the value itself.
	path  string
	judge judge
}

// judge returns the findings of a value that is known when the profile is loaded; at is its field.
type judge func(n source.Node, at string) source.Findings

// below returns the checks for the values below each of several paths.
func below(checks []check, paths ...string) []check {
	var all []check
	for _, path := range paths {
		for _, c := range checks {
			all = append(all, check{strings.TrimSuffix(path+"."+c.path, "."), c.judge})
		}
	}
	return all
}

// runChecks returns the findings of the checks for a value. It ignores computed parts.
func runChecks(checks []check, n source.Node, at string) source.Findings {
	var findings source.Findings
	for _, c := range checks {
		visit(n, at, c.path, func(n source.Node, at string) { findings = append(findings, c.judge(n, at)...) })
	}
	return findings
}

// wrong returns a finding about a value, or none if there are no problems.
func wrong(n source.Node, at string, rule source.LintRule, problems ...string) source.Findings {
	if len(problems) == 0 {
		return nil
	}
	value := n.Value
	if n.Tag == "!!str" {
		value = strconv.Quote(value)
	}
	return source.Findings{n.Finding(at, "%s, is %s", strings.Join(problems, "; "), value).Of(rule)}
}

// oneOf returns a check that a value is one of several words.
func oneOf[T ~string](words ...T) judge {
	known := make([]string, len(words))
	for i, word := range words {
		known[i] = string(word)
	}
	return func(n source.Node, at string) source.Findings {
		if n.Kind != yaml.ScalarNode || slices.Contains(known, n.Value) {
			return nil
		}
		return source.Findings{n.Finding(at, "must be one of %s, is %q", strings.Join(known, ", "), n.Value).Of(source.WrongValue).Instead(n, known)}
	}
}

// integer returns a check of a number. It ignores other values, which the type check reports.
func integer(problems func(int) []string) judge {
	return func(n source.Node, at string) source.Findings {
		var value int
		if n.Kind == yaml.ScalarNode && n.Tag == "!!int" && n.Decode(&value) == nil {
			return wrong(n, at, source.WrongValue, problems(value)...)
		}
		return nil
	}
}

// between returns a check that a number is in an inclusive range.
func between(least, most int) judge {
	return integer(func(value int) []string { return validation.IsInRange(value, least, most) })
}

// atLeast returns a check of the minimum of a number.
func atLeast(least int) judge {
	return integer(func(value int) []string {
		if value < least {
			return []string{fmt.Sprintf("must be %d or more", least)}
		}
		return nil
	})
}

// named returns a check that a text is a valid name.
func named(problems func(string) []string) judge {
	return func(n source.Node, at string) source.Findings {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
			return nil
		}
		return wrong(n, at, source.InvalidName, problems(n.Value)...)
	}
}

// needs returns a check that a mapping has members.
func needs(members ...string) judge {
	return func(n source.Node, at string) source.Findings {
		if n.Kind != yaml.MappingNode {
			return nil
		}
		var findings source.Findings
		for _, member := range members {
			if value := n.Get(member); value.Absent() || value.Kind == yaml.ScalarNode && value.Value == "" {
				findings = append(findings, n.Finding(at+"."+member, "is missing").Of(source.MissingField))
			}
		}
		return findings
	}
}

// exactlyOne returns a check that a mapping has exactly one of these members.
func exactlyOne(members ...string) judge {
	return func(n source.Node, at string) source.Findings {
		if n.Kind != yaml.MappingNode {
			return nil
		}
		has := 0
		for _, member := range members {
			switch value := n.Get(member); {
			case value.Absent():
			case isComputed(value):
				return nil // it may be null
			default:
				has++
			}
		}
		if has == 1 {
			return nil
		}
		return source.Findings{n.Finding(at, "exactly one of %s is needed", strings.Join(members, ", ")).Of(source.ExclusiveFields)}
	}
}

// notBelowZero checks that a quantity is not negative.
func notBelowZero(n source.Node, at string) source.Findings {
	if quantity, err := resource.ParseQuantity(n.Value); err == nil && n.Kind == yaml.ScalarNode && quantity.Sign() < 0 {
		return wrong(n, at, source.WrongValue, "must not be negative")
	}
	return nil
}

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
)

// isPort checks that a value is the number or the name of a port.
func isPort(n source.Node, at string) source.Findings {
	return append(integer(validation.IsValidPortNum)(n, at), named(validation.IsValidPortName)(n, at)...)
}

// isMode checks that a number is the mode of a file.
func isMode(n source.Node, at string) source.Findings { return between(0, 0o777)(n, at) }

// isInside checks that a path is relative and has no .. in it.
func isInside(n source.Node, at string) source.Findings {
	if strings.HasPrefix(n.Value, "/") || slices.Contains(strings.Split(n.Value, "/"), "..") {
		return wrong(n, at, source.WrongValue, "must be a relative path without ..")
	}
	return nil
}

// checkLabel checks a name that must be a DNS label, such as the name of a container or a volume.
func checkLabel(name string) string {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return strings.Join(problems, "; ")
	}
	return ""
}

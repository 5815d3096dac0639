// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// requirements are the needs of each replica. Without a value, they are unknown.
type requirements struct{ value }

// replicaRequirements and nodeClaim have the fields of Karmada's API (work.karmada.io/v1alpha2,
// ReplicaRequirements).
type replicaRequirements struct {
	NodeClaim         map[string]json.RawMessage `json:"nodeClaim"`
	ResourceRequest   map[string]json.RawMessage `json:"resourceRequest"`
	Namespace         *string                    `json:"namespace"`
	PriorityClassName *string                    `json:"priorityClassName"`
}

type nodeClaim struct {
	NodeSelector     map[string]string    `json:"nodeSelector"`
	Tolerations      []corev1.Toleration  `json:"tolerations"`
	HardNodeAffinity *corev1.NodeSelector `json:"hardNodeAffinity"`
}

var (
	requirementFields = []string{"nodeClaim", "resourceRequest", "namespace", "priorityClassName"}
	nodeClaimFields   = []string{"nodeSelector", "tolerations", "hardNodeAffinity"}
)

// of evaluates the requirements, or returns nil if there are none.
func (r requirements) of(q *question) (*interpreter.Requirements, error) {
	raw, err := r.value.of(q)
	if err != nil || raw == nil {
		return nil, err
	}
	read, field, why := readRequirements(raw)
	if field != "" {
		why = cmp.Or(why, "the result does not have the form of Karmada's API")
		return nil, unfit("%s: %s", spot{strings.TrimSuffix(r.at.name+"."+field, "."+wholeField), r.at.position}, why)
	}
	return read, nil
}

// readRequirements parses evaluated requirements; null means not set. field names the invalid field, "" if
// there is none; why explains it, "" if its form is wrong. Neither contains values.
func readRequirements(raw []byte) (read *interpreter.Requirements, field, why string) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return nil, wholeField, ""
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if !slices.Contains(requirementFields, name) {
			return nil, wholeField, ""
		}
	}
	var all replicaRequirements
	for name, into := range map[string]any{
		"nodeClaim": &all.NodeClaim, "resourceRequest": &all.ResourceRequest, "namespace": &all.Namespace, "priorityClassName": &all.PriorityClassName,
	} {
		if part, ok := parts[name]; ok && json.Unmarshal(part, into) != nil {
			return nil, name, ""
		}
	}
	result := interpreter.Requirements{}
	if all.Namespace != nil {
		result.Namespace = *all.Namespace
	}
	if all.PriorityClassName != nil {
		result.PriorityClassName = *all.PriorityClassName
	}
	var ok bool
	if result.NodeClaim, ok = readNodeClaim(all.NodeClaim); !ok {
		return nil, "nodeClaim", ""
	}
	if result.ResourceRequest, why = readRequest(all.ResourceRequest); why != "" {
		return nil, "resourceRequest", why
	}
	if len(result.NodeClaim)+len(result.ResourceRequest)+len(result.Namespace)+len(result.PriorityClassName) == 0 {
		return nil, "", ""
	}
	return &result, "", ""
}

// readNodeClaim checks that Karmada can decode a claim.
func readNodeClaim(parts map[string]json.RawMessage) (json.RawMessage, bool) {
	maps.DeleteFunc(parts, func(_ string, raw json.RawMessage) bool { return isNull(raw) })
	if len(parts) == 0 {
		return nil, true
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		return nil, false
	}
	strict, err := kjson.UnmarshalStrict(raw, &nodeClaim{})
	return raw, err == nil && len(strict) == 0
}

// readRequest checks that all resources are quantities and converts them to strings. why names the first
// invalid one.
func readRequest(parts map[string]json.RawMessage) (request json.RawMessage, why string) {
	texts := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		raw := parts[name]
		if isNull(raw) {
			continue
		}
		text := string(raw)
		if raw[0] == '"' && json.Unmarshal(raw, &text) != nil {
			return nil, noQuantity(name)
		}
		if quantity, err := resource.ParseQuantity(text); err != nil || quantity.Sign() < 0 {
			return nil, noQuantity(name)
		}
		texts[name] = text
	}
	if len(texts) == 0 {
		return nil, ""
	}
	raw, err := json.Marshal(texts)
	if err != nil {
		return nil, err.Error()
	}
	return raw, ""
}

// noQuantity returns the message for an invalid quantity.
func noQuantity(name string) string { return name + " must be a quantity, such as 500m or 2Gi" }

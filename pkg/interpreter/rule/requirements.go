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

// nodeClaim has the fields of Karmada's API (work.karmada.io/v1alpha2, NodeClaim).
type nodeClaim struct {
	NodeSelector     map[string]string    `json:"nodeSelector"`
	Tolerations      []corev1.Toleration  `json:"tolerations"`
	HardNodeAffinity *corev1.NodeSelector `json:"hardNodeAffinity"`
}

var (
	requirementFields = []string{"nodeClaim", "resourceRequest", "namespace", "priorityClassName"}
	nodeClaimFields   = []string{"nodeSelector", "tolerations", "hardNodeAffinity"}
)

// evaluate evaluates the requirements, or returns nil if there are none.
func (r requirements) evaluate(q *question) (*interpreter.Requirements, error) {
	raw, err := r.value.evaluate(q)
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
	result := interpreter.Requirements{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		part := parts[name]
		var ok bool
		switch name {
		case "nodeClaim":
			result.NodeClaim, ok = readNodeClaim(part)
		case "resourceRequest":
			result.ResourceRequest, why, ok = readRequest(part)
		case "namespace":
			ok = json.Unmarshal(part, &result.Namespace) == nil
		case "priorityClassName":
			ok = json.Unmarshal(part, &result.PriorityClassName) == nil
		default:
			name, ok = wholeField, false
		}
		if !ok {
			return nil, name, why
		}
	}
	if len(result.NodeClaim)+len(result.ResourceRequest)+len(result.Namespace)+len(result.PriorityClassName) == 0 {
		return nil, "", ""
	}
	return &result, "", ""
}

// readNodeClaim checks that Karmada can decode a claim, and drops members that are null.
func readNodeClaim(raw []byte) (json.RawMessage, bool) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return nil, false
	}
	maps.DeleteFunc(parts, func(_ string, part json.RawMessage) bool { return isNull(part) })
	if len(parts) == 0 {
		return nil, true
	}
	claim, err := json.Marshal(parts)
	if err != nil {
		return nil, false
	}
	strict, err := kjson.UnmarshalStrict(claim, &nodeClaim{})
	return claim, err == nil && len(strict) == 0
}

// readRequest checks that all resources are quantities and converts them to strings. why names the first
// invalid one.
func readRequest(raw []byte) (request json.RawMessage, why string, ok bool) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return nil, "", false
	}
	texts := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if isNull(parts[name]) {
			continue
		}
		text := string(parts[name])
		if text[0] == '"' && json.Unmarshal(parts[name], &text) != nil {
			return nil, noQuantity(name), false
		}
		if quantity, err := resource.ParseQuantity(text); err != nil || quantity.Sign() < 0 {
			return nil, noQuantity(name), false
		}
		texts[name] = text
	}
	if len(texts) == 0 {
		return nil, "", true
	}
	request, err := json.Marshal(texts)
	return request, "", err == nil
}

// noQuantity returns the message for an invalid quantity.
func noQuantity(name string) string { return name + " must be a quantity, such as 500m or 2Gi" }

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// maximumReference limits a reference, in bytes, because the ledger stores it in the row of its allocation.
const maximumReference = 16 << 10

// answer has the expressions for the fields of a binding, by name.
type answer map[string]*expression.Tree

func (c *definitionParser) answer(p source.Place) answer {
	made := answer{}
	for _, name := range []string{"mac", "vlan", "addresses", "gateways", "routes", "reference"} {
		if tree := c.tree(p.At(name), c.environments.answer); tree != nil {
			made[name] = tree
		}
	}
	return made
}

// response is the HTTP response to a call.
type response struct {
	call   *call
	status int
	header http.Header
	body   []byte
	// vars has the variables of the call, and those of the response.
	vars interpreter.Activation
}

// setVariables adds status, answer and headers to the variables of the call, for the expressions about the response.
func (r *response) setVariables(vars map[string]any) (err error) {
	first := make(map[string]string, len(r.header)) // of each header, by its name in lower case
	for name := range r.header {
		first[strings.ToLower(name)] = r.header.Get(name)
	}
	vars["status"], vars["answer"], vars["headers"] = int64(r.status), expression.Value(r.value()), first
	if r.vars, err = interpreter.NewActivation(vars); err != nil {
		return fmt.Errorf("binding variables: %w", err)
	}
	return nil
}

// value returns the body for expressions: JSON, or an empty object for another body.
func (r *response) value() any {
	if value, err := expression.ParseJSON(r.body); err == nil && len(r.body) > 0 {
		return value
	}
	return map[string]any{}
}

// isTrue evaluates a condition. Without one, it returns the default.
func (r *response) isTrue(ctx context.Context, condition *expression.Expression, otherwise bool) (bool, error) {
	if condition == nil {
		return otherwise, nil
	}
	holds, err := condition.Bool(ctx, r.vars)
	if err != nil {
		return false, fmt.Errorf("reading the answer to %s with status %d: %w", r.call.name, r.status, err)
	}
	return holds, nil
}

// binding evaluates a response. If it differs from the request, the result is a refusal, because the binding is
// useless.
func (r *response) binding(ctx context.Context, of network.Allocation) (network.Binding, error) {
	made, err := r.read(ctx, "mac", "vlan", "addresses", "gateways", "routes", "reference")
	if err != nil {
		return network.Binding{}, err
	}
	for i := range made.Routes {
		made.Routes[i].Destination = made.Routes[i].Destination.Masked()
	}
	return made, r.agrees(made, of)
}

// read returns a binding with these fields of a response. It fails if one cannot be read.
func (r *response) read(ctx context.Context, names ...string) (made network.Binding, err error) {
	for _, name := range names {
		if err := r.readField(ctx, name, &made); err != nil {
			return made, fmt.Errorf("reading the answer of the cloud: %w", err)
		}
	}
	if size := len(made.Reference); size > maximumReference {
		return made, fmt.Errorf("reading the answer of the cloud: the reference has %d bytes, and the ledger keeps at most %d", size, maximumReference)
	}
	return made, nil
}

// readField sets a field of a binding. Null and empty texts are ignored.
func (r *response) readField(ctx context.Context, name string, into *network.Binding) error {
	tree := r.call.answer[name]
	if tree == nil {
		return nil
	}
	value, err := tree.JSON(ctx, r.vars)
	if err != nil || string(value) == "null" || string(value) == `""` {
		return err
	}
	err = json.Unmarshal(fmt.Appendf(nil, `{%q: %s}`, name, value), into)
	if err != nil || !isUsable(*into) {
		return fmt.Errorf("answer.%s has a wrong value", name) // which may be confidential
	}
	return nil
}

// isUsable reports whether all values of a binding are in their ranges. Addresses have no zone, and IPv4 is not mapped to
// IPv6.
func isUsable(b network.Binding) bool {
	wrong := func(a netip.Addr) bool { return !a.IsValid() || a.Zone() != "" || a.Is4In6() }
	for _, route := range b.Routes {
		if wrong(route.Destination.Addr()) || route.Gateway.IsValid() && wrong(route.Gateway) {
			return false
		}
	}
	return !slices.ContainsFunc(b.Addresses, func(p netip.Prefix) bool { return wrong(p.Addr()) }) &&
		!slices.ContainsFunc(b.Gateways, wrong) && (len(b.MAC) == 0 || len(b.MAC) == 6) && b.VLAN <= 4094
}

// agrees returns an error if the cloud's choice differs from the request.
func (r *response) agrees(made network.Binding, of network.Allocation) error {
	if r.call.answer["addresses"] == nil {
		return nil
	}
	if len(made.Addresses) == 0 {
		return errors.New("the answer of the cloud has no address yet")
	}
	families := map[bool]bool{}
	for _, chosen := range made.Addresses {
		if families[chosen.Addr().Is4()] {
			return fmt.Errorf("%w: it has bound two addresses of one family", network.ErrRefused)
		}
		families[chosen.Addr().Is4()] = true
		if len(of.Addresses) > 0 && !slices.Contains(of.Addresses, chosen.Addr()) {
			return fmt.Errorf("%w: it has bound another address than that of the allocation", network.ErrRefused)
		}
	}
	if len(made.Addresses) < len(of.Addresses) {
		return fmt.Errorf("%w: it has not bound all addresses of the allocation", network.ErrRefused)
	}
	return nil
}

// failure returns the error for a response that is no success: a refusal, or else one without the body.
func (r *response) failure(ctx context.Context, now time.Time) error {
	refused, err := r.isTrue(ctx, r.call.refused, false)
	if err != nil {
		return err
	}
	if refused {
		return fmt.Errorf("%w: %s", network.ErrRefused, r.reason())
	}
	text := fmt.Sprintf("the cloud answered %s with status %d", r.call.name, r.status)
	if later, ok := cloud.ParseRetryAfter(text, r.status, r.header, now); ok {
		return later
	}
	return errors.New(text)
}

// longestReason limits the cloud's reason in an error, in bytes: an Event has 1 kB.
const longestReason = 200

// reason returns the cloud's reason for a refusal on one line.
func (r *response) reason() string {
	text := errorMessage(r.value(), 0)
	if plain := strings.TrimSpace(string(r.body)); text == "" && plain != "" && !strings.ContainsRune("<{[", rune(plain[0])) {
		text = plain
	}
	text = serving.Line(text, longestReason)
	if text == "" {
		return fmt.Sprintf("status %d", r.status)
	}
	return fmt.Sprintf("%s (status %d)", text, r.status)
}

// speaking lists the fields with error messages in common APIs, the most probable first.
var speaking = []string{"message", "detail", "error_description", "description", "reason", "title", "error", "msg"}

// errorMessage returns the error message of an answer, from one of the usual fields or from the only object in it.
func errorMessage(value any, depth int) string {
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	object, ok := value.(map[string]any)
	if !ok || depth > 2 {
		return ""
	}
	for _, name := range speaking {
		if text, ok := object[name].(string); ok && text != "" {
			return text
		}
	}
	for name, inner := range object {
		if text := errorMessage(inner, depth+1); text != "" && (len(object) == 1 || name == "error" || name == "errors") {
			return text
		}
	}
	return ""
}

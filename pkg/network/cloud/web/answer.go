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

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// maximumReference limits a reference, in bytes, because the ledger stores it in the row of its allocation.
const maximumReference = 16 << 10

// answer evaluates a response about an allocation. Nil fields are not part of the response.
type answer struct {
	mac, vlan, addresses, gateways, routes, reference *expression.Tree
}

func (c *compiler) answer(spec v1alpha1.NetworkHTTPAnswer, path string) *answer {
	in := c.environments.answer
	return &answer{
		mac:       c.tree(spec.MAC.At, path+".mac", in),
		vlan:      c.tree(spec.VLAN.At, path+".vlan", in),
		addresses: c.tree(spec.Addresses, path+".addresses", in),
		gateways:  c.tree(spec.Gateways, path+".gateways", in),
		routes:    c.tree(spec.Routes, path+".routes", in),
		reference: c.tree(spec.Reference, path+".reference", in),
	}
}

// binding evaluates a response. If it differs from the request, the result is a refusal, because the binding is
// useless.
func (a *answer) binding(ctx context.Context, vars map[string]any, of network.Allocation) (network.Binding, error) {
	r := &reader{ctx: ctx}
	if r.vars, r.err = activation(vars); r.err != nil {
		return network.Binding{}, r.err
	}
	var (
		made network.Binding
		mac  string
	)
	if r.decode("mac", a.mac, &mac); mac != "" {
		err := made.MAC.UnmarshalText([]byte(mac))
		if err == nil && len(made.MAC) != 6 {
			err = errors.New("it must have 6 bytes")
		}
		r.note("mac", "not a MAC address", err)
	}
	if r.decode("vlan", a.vlan, &made.VLAN); made.VLAN > 4094 {
		r.note("vlan", "not the number of a VLAN", errors.New("too large"))
	}
	made.Addresses = parsed(r, "addresses", a.addresses, parsePrefix)
	made.Gateways = parsed(r, "gateways", a.gateways, parseAddress)
	made.Routes = r.routes(a.routes)
	made.Reference = r.reference(a.reference)
	if r.err == nil && len(made.Reference) > maximumReference {
		r.err = fmt.Errorf("the reference has %d bytes, and the ledger keeps at most %d", len(made.Reference), maximumReference)
	}
	if r.err != nil {
		return network.Binding{}, r.failed()
	}
	return made, a.agrees(made, of)
}

// referring returns only the reference of an answer, or nil if the answer has none.
func (a *answer) referring(ctx context.Context, vars map[string]any) (json.RawMessage, error) {
	r := &reader{ctx: ctx}
	if r.vars, r.err = activation(vars); r.err != nil {
		return nil, r.err
	}
	reference := r.reference(a.reference)
	if r.err != nil {
		return nil, r.failed()
	}
	return reference, nil
}

// agrees returns an error if the cloud's choice differs from the request.
func (a *answer) agrees(made network.Binding, of network.Allocation) error {
	if a.addresses == nil {
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

// reader reads values until one of them cannot be read.
type reader struct {
	ctx  context.Context
	vars interpreter.Activation
	err  error
}

// note keeps the first error, without the value that caused it.
func (r *reader) note(field, problem string, err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("answer.%s is %s", field, problem)
	}
}

// decode stores a value; null and an undefined value leave the destination unchanged.
func (r *reader) decode(field string, tree *expression.Tree, into any) {
	if tree == nil || r.err != nil {
		return
	}
	raw, err := tree.JSON(r.ctx, r.vars)
	if err != nil {
		r.err = err
		return
	}
	r.note(field, "of the wrong type", json.Unmarshal(raw, into))
}

func (r *reader) reference(tree *expression.Tree) (reference json.RawMessage) {
	if r.decode("reference", tree, &reference); string(reference) == "null" {
		return nil
	}
	return reference
}

// failed returns the error of an unreadable response.
func (r *reader) failed() error { return fmt.Errorf("reading the answer of the cloud: %w", r.err) }

// parsed parses a list of texts.
func parsed[T any](r *reader, field string, tree *expression.Tree, parse func(string) (T, error)) []T {
	var texts []string
	r.decode(field, tree, &texts)
	var all []T
	for _, text := range texts {
		value, err := parse(text)
		if r.note(field, "not an address", err); r.err != nil {
			return nil
		}
		all = append(all, value)
	}
	return all
}

func (r *reader) routes(tree *expression.Tree) []network.Route {
	var written []struct {
		Destination string `json:"destination"`
		Gateway     string `json:"gateway"`
	}
	r.decode("routes", tree, &written)
	var all []network.Route
	for _, route := range written {
		var (
			made network.Route
			err  error
		)
		made.Destination, err = parsePrefix(route.Destination)
		r.note("routes", "not all destinations and gateways", err)
		if route.Gateway != "" {
			made.Gateway, err = parseAddress(route.Gateway)
			r.note("routes", "not all destinations and gateways", err)
		}
		made.Destination = made.Destination.Masked()
		all = append(all, made)
	}
	return all
}

var errNoAddress = errors.New("no address")

// parseAddress parses the address of an interface: without a zone, and IPv4 not mapped to IPv6.
func parseAddress(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" || address.Is4In6() {
		return netip.Addr{}, errNoAddress
	}
	return address, nil
}

// parsePrefix reads an address with or without a length; without one, it is alone in its subnet.
func parsePrefix(text string) (netip.Prefix, error) {
	if address, err := parseAddress(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return netip.Prefix{}, errNoAddress
	}
	return prefix, nil
}

// response is an HTTP response whose body was read.
type response struct {
	status int
	header http.Header
	body   []byte
}

// value returns the body for expressions: JSON, or an empty object for another body.
func (r *response) value() any {
	if value, err := expression.ParseJSON(r.body); err == nil && len(r.body) > 0 {
		return value
	}
	return map[string]any{}
}

// headers maps names in lower case to the first value of each.
func (r *response) headers() map[string]string {
	all := make(map[string]string, len(r.header))
	for name, values := range r.header {
		if len(values) > 0 {
			all[strings.ToLower(name)] = values[0]
		}
	}
	return all
}

// failure returns the error for a response that is neither a success nor a refusal. It does not contain the body.
func (r *response) failure(name string, now time.Time) error {
	text := fmt.Sprintf("the cloud answered %s with status %d", name, r.status)
	if r.status != http.StatusTooManyRequests && r.status != http.StatusServiceUnavailable {
		return errors.New(text)
	}
	after, ok := cloud.ParseRetryAfter(r.header, now)
	if !ok && r.status == http.StatusServiceUnavailable {
		return errors.New(text)
	}
	return cloud.NewRetryAfter(after, text)
}

// longestReason limits the cloud's reason in an error, in characters: an Event has 1 kB.
const longestReason = 200

// reason returns the cloud's reason for a refusal on one line.
func (r *response) reason() string {
	text := errorMessage(r.value(), 0)
	if plain := strings.TrimSpace(string(r.body)); text == "" && plain != "" && !strings.ContainsRune("<{[", rune(plain[0])) {
		text = plain
	}
	text = cloud.Line(text, longestReason)
	if text == "" {
		return fmt.Sprintf("status %d", r.status)
	}
	return fmt.Sprintf("%s (status %d)", text, r.status)
}

// speaking lists the fields with error messages in common APIs, the most probable first.
var speaking = []string{"message", "detail", "error_description", "description", "reason", "title", "error", "msg"}

// errorMessage returns the error message of an answer, from one of the usual fields or from the only object in it.
func errorMessage(value any, depth int) string {
	object, ok := value.(map[string]any)
	if !ok || depth > 2 {
		return ""
	}
	for _, name := range speaking {
		if text, ok := object[name].(string); ok && text != "" {
			return text
		}
	}
	for _, name := range append([]string{"error", "errors"}, keys(object)...) {
		inner := object[name]
		if list, ok := inner.([]any); ok && len(list) > 0 {
			inner = list[0]
		}
		if text := errorMessage(inner, depth+1); text != "" {
			return text
		}
	}
	return ""
}

// keys returns the only key of an object.
func keys(object map[string]any) []string {
	if len(object) != 1 {
		return nil
	}
	for name := range object {
		return []string{name}
	}
	return nil
}

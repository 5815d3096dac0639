// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// asked is a decoded message.
type asked struct {
	identity
	interpreter.Request
	// whole is the parsed message that the request's nodes belong to. The caller that has an answer releases
	// it.
	whole *document.Document
}

// malformed returns the failure for a message that violates its dialect.
func malformed(format string, values ...any) *interpreter.Failure {
	return &interpreter.Failure{Code: http.StatusBadRequest, Message: fmt.Sprintf(format, values...)}
}

// unfit returns the failure for an invalid object.
func unfit(format string, values ...any) *interpreter.Failure {
	return &interpreter.Failure{Code: interpreter.CodeUnfit, Message: fmt.Sprintf(format, values...)}
}

// read decodes a message. It ignores unknown fields, because callers may be newer, and fields that the
// operation does not use: Karmada sends `replicas: 0` with every operation. The result refers to body, which
// must not change. After an error there is nothing to release, and dialect is nil if it is unknown.
func (a *asked) read(body []byte) error {
	d, err := parse(body)
	if err != nil {
		return err
	}
	if err = a.readMessage(d.Root()); err != nil {
		*a = asked{}
	} else {
		err = a.readSubject(d.Root().Get("request"))
	}
	// Duplicate keys in the object are reported on first access. Then nothing that was read from it is valid.
	if twice := d.Err(); twice != nil {
		*a, err = asked{}, malformed("%s", twice)
	}
	if err != nil {
		d.Release()
		return err
	}
	a.whole = d
	return nil
}

func parse(body []byte) (*document.Document, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, malformed("the body is empty; send a message")
	}
	d, err := document.Parse(body)
	switch {
	case errors.Is(err, document.ErrTooDeep):
		return nil, malformed("the body is nested too deeply")
	case err != nil:
		return nil, malformed("the body is not JSON: %s", err)
	case d.Root().Kind() != document.Object:
		d.Release()
		return nil, malformed("the body must be an object")
	}
	return d, nil
}

// readMessage decodes everything except the object.
func (a *asked) readMessage(root *document.Node) error {
	kind, _ := root.Get("kind").Text()
	spoken := dialects[kind]
	request := root.Get("request")
	switch {
	case spoken == nil:
		return malformed("kind must be %s or %s", KindContext, KindReview)
	case !root.Get("apiVersion").Is(Group + "/" + Version):
		return malformed("apiVersion must be %s/%s, the only supported version", Group, Version)
	case request.Kind() != document.Object:
		return malformed("request must be an object")
	}
	a.dialect = spoken
	if err := readTexts(request, "request", field{"uid", &a.uid, true}); err != nil {
		return err
	}
	if err := a.readKind(request); err != nil {
		return err
	}
	return a.readOperation(request)
}

func (a *asked) readKind(request *document.Node) error {
	kind := request.Get("kind")
	if kind.Kind() != document.Object {
		return malformed("request.kind must be an object with group, version and kind")
	}
	err := readTexts(kind, "request.kind", field{"group", &a.Kind.Group, false}, field{"version", &a.Kind.Version, true}, field{"kind", &a.Kind.Kind, true})
	if err != nil {
		return err
	}
	switch {
	case !isShort(a.Kind.Group, lower+".", validation.DNS1123SubdomainMaxLength):
		return malformed("request.kind.group must be a DNS name of at most %d characters, such as apps", validation.DNS1123SubdomainMaxLength)
	case !isShort(a.Kind.Version, lower, validation.DNS1123LabelMaxLength):
		return malformed("request.kind.version must be a DNS label of at most %d characters, such as v1", validation.DNS1123LabelMaxLength)
	case !isShort(a.Kind.Kind, lower+upper, validation.DNS1123LabelMaxLength):
		return malformed("request.kind.kind must be a word of at most %d letters, such as Deployment", validation.DNS1123LabelMaxLength)
	}
	return nil
}

// The characters of names that an API server serves.
const (
	lower = "abcdefghijklmnopqrstuvwxyz0123456789-"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// isShort reports whether a name has only these characters, and at most so many that it may be stored and logged.
func isShort(name, characters string, most int) bool {
	return len(name) <= most && strings.Trim(name, characters) == ""
}

func (a *asked) readOperation(request *document.Node) error {
	var name string
	if err := readTexts(request, "request", field{"operation", &name, true}); err != nil {
		return err
	}
	var known bool
	if a.Operation, known = a.dialect.operations[name]; !known {
		return &interpreter.Failure{Code: interpreter.CodeUnknown, Message: fmt.Sprintf("the operation %.40q is not known; the known operations are %s",
			name, strings.Join(slices.Sorted(maps.Keys(a.dialect.operations)), ", "))}
	}
	return nil
}

// readSubject decodes the object and the operation's other inputs.
func (a *asked) readSubject(request *document.Node) error {
	var err error
	if a.Object, err = object(request, "object"); err != nil {
		return err
	}
	a.ObjectNode = request.Get("object")
	if err := a.checkKind(request.Get("object")); err != nil {
		return err
	}
	switch a.Operation {
	case interpreter.Revise:
		a.Replicas, err = number(request, "replicas")
	case interpreter.Retain:
		if a.dialect.kind == KindReview && absent(request.Get("observedObject")) {
			return nil // the proposal has no field for it; rules that do not need it can answer
		}
		a.Observed, err = object(request, "observedObject")
		a.ObservedNode = request.Get("observedObject")
	case interpreter.Aggregate:
		a.Members, err = members(request.Get("aggregatedStatus"))
	}
	return err
}

// checkKind fails if the object states another apiVersion or kind than the request.
func (a *asked) checkKind(object *document.Node) error {
	version := schema.GroupVersion{Group: a.Kind.Group, Version: a.Kind.Version}.String()
	for _, part := range [][2]string{{"apiVersion", version}, {"kind", a.Kind.Kind}} {
		if is := object.Get(part[0]); is != nil && !is.Is(part[1]) {
			return unfit("request.object.%s differs from request.kind", part[0])
		}
	}
	return nil
}

// absent reports whether n is missing or null.
func absent(n *document.Node) bool { return n == nil || n.Kind() == document.Null }

// field is a string member, which must not be empty if it is needed.
type field struct {
	name   string
	into   *string
	needed bool
}

// readTexts reads string members of an object at a path.
func readTexts(in *document.Node, path string, fields ...field) error {
	for _, f := range fields {
		n := in.Get(f.name)
		if absent(n) && !f.needed {
			continue
		}
		var ok bool
		if *f.into, ok = n.Text(); !ok || f.needed && *f.into == "" {
			return malformed("%s.%s must be a string%s", path, f.name, map[bool]string{true: " that is not empty"}[f.needed])
		}
	}
	return nil
}

// object returns the raw text of an object member.
func object(request *document.Node, name string) ([]byte, error) {
	n := request.Get(name)
	switch {
	case absent(n):
		return nil, unfit("request.%s is missing", name)
	case n.Kind() != document.Object:
		return nil, unfit("request.%s must be an object", name)
	}
	return n.Raw(), nil
}

// number reads a non-negative whole number of 32 bits.
func number(request *document.Node, name string) (int32, error) {
	n := request.Get(name)
	if absent(n) {
		return 0, unfit("request.%s is missing", name)
	}
	value, err := strconv.ParseInt(string(n.Raw()), 10, 32)
	if err != nil || value < 0 {
		return 0, unfit("request.%s must be a non-negative whole number of 32 bits", name)
	}
	return int32(value), nil
}

// members reads the statuses of the member clusters. Members to which the object was not applied have no
// status.
func members(list *document.Node) ([]interpreter.Member, error) {
	if absent(list) {
		return nil, nil
	}
	if list.Kind() != document.Array {
		return nil, malformed("request.aggregatedStatus must be a list")
	}
	all := make([]interpreter.Member, list.Len())
	for i, item := range list.Items() {
		if member(&all[i], item, "") == nil {
			continue
		}
		// the path is formatted for errors only
		return nil, member(&all[i], item, fmt.Sprintf("request.aggregatedStatus[%d]", i))
	}
	return all, nil
}

func member(m *interpreter.Member, item *document.Node, path string) error {
	if item.Kind() != document.Object {
		return malformed("%s must be an object", path)
	}
	if err := readTexts(item, path, field{"clusterName", &m.Cluster, true}, field{"appliedMessage", &m.Message, false}, field{"health", &m.Health, false}); err != nil {
		return err
	}
	switch applied := item.Get("applied"); {
	case absent(applied):
	case applied.Kind() != document.Bool:
		return malformed("%s.applied must be true or false", path)
	default:
		m.Applied = string(applied.Raw()) == "true"
	}
	switch status := item.Get("status"); {
	case absent(status):
	case status.Kind() != document.Object:
		return unfit("%s.status must be an object", path)
	default:
		m.Status, m.StatusNode = status.Raw(), status
	}
	return nil
}

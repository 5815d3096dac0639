// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// output is JSON that is being written. Raw JSON values are appended without another check, because answerOf
// checked them.
type output struct{ out []byte }

// beginMessage begins a message with the response to question uid. End it with endMessage.
func beginMessage(out []byte, kind, uid string) output {
	o := output{out}
	o.json([]byte(`{"apiVersion":"` + Group + "/" + Version + `","kind":"`))
	o.out = append(append(o.out, kind...), `","response":{"uid":`...)
	o.text(uid)
	return o
}

func (o *output) endMessage() []byte { return append(o.out, "}}"...) }

func (o *output) begin() *output {
	o.out = append(o.out, '{')
	return o
}

func (o *output) end() { o.out = append(o.out, '}') }

// next appends a comma if the current object or list already has an entry.
func (o *output) next() *output {
	if last := o.out[len(o.out)-1]; last != '{' && last != '[' {
		o.out = append(o.out, ',')
	}
	return o
}

// member writes a member's name, which must not need escapes.
func (o *output) member(name string) *output {
	o.next()
	o.out = append(append(append(o.out, '"'), name...), '"', ':')
	return o
}

func (o *output) text(s string)   { o.out = document.AppendQuoted(o.out, s) }
func (o *output) bool(b bool)     { o.out = strconv.AppendBool(o.out, b) }
func (o *output) number(n int32)  { o.out = strconv.AppendInt(o.out, int64(n), 10) }
func (o *output) json(raw []byte) { o.out = append(o.out, raw...) }

// textUnlessEmpty writes a string member, or nothing if s is empty.
func (o *output) textUnlessEmpty(name, s string) {
	if s != "" {
		o.member(name).text(s)
	}
}

// jsonUnlessEmpty writes a raw JSON member, or nothing if raw is empty.
func (o *output) jsonUnlessEmpty(name string, raw json.RawMessage) {
	if raw = bytes.TrimSpace(raw); len(raw) > 0 {
		o.member(name).json(raw)
	}
}

// list writes a member whose value is a list.
func list[T any](o *output, name string, items []T, write func(*output, *T)) {
	o.member(name).json([]byte("["))
	for i := range items {
		write(o.next(), &items[i])
	}
	o.json([]byte("]"))
}

// writeTo writes the fields of the operation. status is the dialect's name for the status field.
func (a *answer) writeTo(o *output, status string) {
	switch a.operation {
	case interpreter.Replicas:
		o.member("replicas").number(*a.replicas)
		if a.requirements != nil {
			writeRequirements(o, a.requirements)
		}
	case interpreter.Components:
		list(o, "components", a.components, writeComponent)
	case interpreter.Dependencies:
		list(o, "dependencies", a.dependencies, writeDependency)
	case interpreter.Health:
		o.member("healthy").bool(*a.healthy)
	case interpreter.Status:
		o.member(status).json(a.status)
	default:
		if len(a.patch) > 0 {
			o.member("patch").json([]byte{'"'})
			o.out = append(document.AppendBase64(o.out, a.patch), '"')
			o.member("patchType").text("JSONPatch")
		}
	}
}

func writeRequirements(o *output, r *interpreter.Requirements) {
	o.member("replicaRequirements").begin()
	o.jsonUnlessEmpty("nodeClaim", r.NodeClaim)
	o.jsonUnlessEmpty("resourceRequest", r.ResourceRequest)
	o.textUnlessEmpty("namespace", r.Namespace)
	o.textUnlessEmpty("priorityClassName", r.PriorityClassName)
	o.end()
}

func writeComponent(o *output, c *interpreter.Component) {
	o.begin().member("name").text(c.Name)
	o.member("replicas").number(c.Replicas)
	if c.Requirements != nil {
		writeRequirements(o, c.Requirements)
	}
	o.end()
}

func writeDependency(o *output, d *interpreter.Dependency) {
	o.begin().member("apiVersion").text(d.APIVersion)
	o.member("kind").text(d.Kind)
	o.textUnlessEmpty("namespace", d.Namespace)
	o.textUnlessEmpty("name", d.Name)
	o.jsonUnlessEmpty("labelSelector", d.LabelSelector)
	o.end()
}

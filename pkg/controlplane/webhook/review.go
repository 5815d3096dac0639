// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/base64"
	"net/http"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

const (
	reviewKind    = "AdmissionReview"
	reviewVersion = "admission.k8s.io/v1"
)

// review has the parts of an AdmissionReview that an admission needs.
type review struct {
	uid         string
	subresource string
	request     mutation.Request
	scanned     *document.Document
}

// release releases the memory of the scanned review. The request is invalid afterwards.
func (r *review) release() { r.scanned.Release() }

// handled reports whether the operation of the review can be mutated.
func (r *review) handled() bool {
	return r.subresource == "" && (r.request.Operation == "CREATE" || r.request.Operation == "UPDATE")
}

// dryRun reports whether the request is a dry run.
func (r *review) dryRun() bool {
	return string(r.scanned.Original().Find("request", "dryRun").Raw()) == "true"
}

// parseReview scans the body with its objects once. Its errors are *refusals and quote nothing of the body.
func parseReview(body []byte, route Route) (*review, error) {
	d, err := document.Parse(body)
	if err != nil {
		return nil, refuse(ReviewUnreadable, http.StatusBadRequest, "the body is not JSON")
	}
	root := d.Original()
	if !root.Get("kind").Is(reviewKind) || !root.Get("apiVersion").Is(reviewVersion) {
		return nil, refuse(ReviewVersion, http.StatusBadRequest, "the body must be an %s of %s", reviewKind, reviewVersion)
	}
	request := root.Get("request")
	object, old := objectAt(request, "object"), objectAt(request, "oldObject")
	r := &review{
		scanned:     d,
		uid:         text(request, "uid"),
		subresource: text(request, "subResource"),
		request: mutation.Request{
			Set: route.Set, Provider: route.Provider, Garden: route.Garden,
			Operation: operationOf(request.Get("operation")),
			Namespace: text(request, "namespace"), Name: text(request, "name"),
			Group: text(request, "kind", "group"), Version: text(request, "kind", "version"), Kind: text(request, "kind", "kind"),
			Object: object.Raw(), OldObject: old.Raw(), Document: object.Document(), OldDocument: old.Document(),
		},
	}
	if err := d.Err(); err != nil {
		return nil, refuse(ReviewUnreadable, http.StatusBadRequest, "the review has a duplicate key")
	}
	if r.uid == "" || r.request.Operation == "" || r.request.Kind == "" {
		return nil, refuse(ReviewUnreadable, http.StatusBadRequest, "the review lacks request.uid, request.operation or request.kind")
	}
	if r.handled() && r.request.Object == nil {
		return nil, refuse(ReviewUnreadable, http.StatusBadRequest, "the review lacks request.object")
	}
	return r, nil
}

// text returns the string at the keys, or "".
func text(n *document.Node, keys ...string) string {
	value, _ := n.Find(keys...).Text()
	return value
}

// operationOf returns the operation, without a copy for the common ones.
func operationOf(n *document.Node) string {
	for _, usual := range [...]string{"UPDATE", "CREATE"} {
		if n.Is(usual) {
			return usual
		}
	}
	return text(n)
}

// objectAt returns the object at a key, or nil if it is absent or null.
func objectAt(n *document.Node, key string) *document.Node {
	if member := n.Get(key); member.Kind() == document.Object {
		return member
	}
	return nil
}

const responseHead = `{"kind":"` + reviewKind + `","apiVersion":"` + reviewVersion + `","response":{"uid":`

// appendAllowed appends the answer that admits the object unchanged.
func appendAllowed(out []byte, uid string) []byte {
	out = document.AppendQuoted(append(out, responseHead...), uid)
	return append(out, `,"allowed":true}}`+"\n"...)
}

// appendPatched appends the answer that admits the object with a patch, and its audit annotations.
func appendPatched(out []byte, uid string, result *mutation.Result) []byte {
	out = document.AppendQuoted(append(out, responseHead...), uid)
	out = append(out, `,"allowed":true,"patchType":"JSONPatch","patch":"`...)
	out = base64.StdEncoding.AppendEncode(out, result.Patch)
	out = append(out, `","auditAnnotations":`...)
	return append(appendAudit(out, result), "}}\n"...)
}

// appendDenied appends the answer that denies the object.
func appendDenied(out []byte, uid string, d *rejection) []byte {
	out = document.AppendQuoted(append(out, responseHead...), uid)
	out = append(out, `,"allowed":false,"status":{"status":"Failure","code":`...)
	out = strconv.AppendInt(out, int64(d.code), 10)
	out = append(out, `,"reason":"`+statusReason(d.code)+`","message":`...)
	out = document.AppendQuoted(out, d.message)
	return append(out, "}}}\n"...)
}

// maximumAuditBytes limits the names of rules in an audit annotation, because the audit log has a line for each
// request.
const maximumAuditBytes = 1024

// appendAudit appends the audit annotations of a patch: `profiles` with their versions, and `rules` that
// changed the object. The API server writes them to its audit log, prefixed by the name of the webhook
// (k8s.io/api/admission/v1: AdmissionResponse.AuditAnnotations). They contain names in profiles and no content
// of objects.
func appendAudit(out []byte, result *mutation.Result) []byte {
	out = append(out, '{')
	if result.Versions != nil {
		out = append(out, `"profiles":`...)
		out = append(append(out, result.Versions...), ',')
	}
	out = append(out, `"rules":`...)
	rules, more := make([]byte, 0, maximumAuditBytes+256), 0
	for i, a := range result.Applied {
		if a.Outcome != mutation.Changed || i > 0 && result.Applied[i-1].Outcome == mutation.Changed && result.Applied[i-1].Rule == a.Rule &&
			result.Applied[i-1].Profile == a.Profile {
			continue // the items of a rule are adjacent
		}
		if len(rules)+len(a.Profile)+len(a.Rule) > maximumAuditBytes {
			more++
			continue
		}
		if len(rules) > 0 {
			rules = append(rules, ", "...)
		}
		rules = append(append(append(rules, a.Profile...), '/'), a.Rule...)
	}
	if more > 0 {
		rules = append(strconv.AppendInt(append(rules, " and "...), int64(more), 10), " more"...)
	}
	return append(document.AppendQuoted(out, rules), '}')
}

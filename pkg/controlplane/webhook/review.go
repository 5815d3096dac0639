// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
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

// handled reports whether the operation of the review can be mutated.
func (r *review) handled() bool {
	return r.subresource == "" && (r.request.Operation == "CREATE" || r.request.Operation == "UPDATE")
}

// parseReview scans the body once; old objects are indexed when rules read them. A rejection quotes nothing of the body.
func parseReview(body []byte, route Route) (*review, *rejection) {
	d, err := document.ParseDeferring(body, "oldObject")
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
			Operation: text(request, "operation"),
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

// objectAt returns the object at a key, or nil if it is absent or null.
func objectAt(n *document.Node, key string) *document.Node {
	if member := n.Get(key); member.Kind() == document.Object {
		return member
	}
	return nil
}

// answers are buffers of answers.
var answers = sync.Pool{New: func() any { return new([]byte) }}

// respond writes an AdmissionReview with a response.
func (r *review) respond(w http.ResponseWriter, request *http.Request, response admissionv1.AdmissionResponse) {
	buffer := answers.Get().(*[]byte)
	defer answers.Put(buffer)
	out := (*buffer)[:0]
	out = append(out, `{"kind":"`+reviewKind+`","apiVersion":"`+reviewVersion+`","response":{"uid":`...)
	out = append(out, document.Quote(r.uid)...)
	out = strconv.AppendBool(append(out, `,"allowed":`...), response.Allowed)
	if response.Result != nil {
		status, _ := json.Marshal(response.Result) // strings can always be encoded
		out = append(append(out, `,"status":`...), status...)
	}
	if response.Patch != nil {
		annotations, _ := json.Marshal(response.AuditAnnotations)
		out = base64.StdEncoding.AppendEncode(append(out, `,"patch":"`...), response.Patch)
		out = append(append(out, `","patchType":"JSONPatch","auditAnnotations":`...), annotations...)
	}
	out = append(out, "}}\n"...)
	*buffer = out
	w.Header().Set("Content-Type", "application/json")
	serving.Answer(w, request, http.StatusOK, out)
}

// patched returns the response that admits the object with a patch, and its audit annotations.
func patched(result *mutation.Result) admissionv1.AdmissionResponse {
	return admissionv1.AdmissionResponse{
		Allowed: true, Patch: result.Patch, PatchType: ptr.To(admissionv1.PatchTypeJSONPatch), AuditAnnotations: auditOf(result),
	}
}

// denied returns the response that denies the object.
func denied(d *rejection) admissionv1.AdmissionResponse {
	return admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: d.code, Reason: statusReason(d.code), Message: d.message,
	}}
}

// maximumAuditBytes limits the names of rules in an audit annotation, because the audit log has a line for each
// request.
const maximumAuditBytes = 1024

// auditOf returns the audit annotations of a patch: `profiles` with their versions, and `rules` that changed the
// object. The API server writes them to its audit log, prefixed by the name of the webhook (k8s.io/api/admission/v1:
// AdmissionResponse.AuditAnnotations). They contain names in profiles and no content of objects.
func auditOf(result *mutation.Result) map[string]string {
	var (
		rules strings.Builder
		last  mutation.Applied
		more  int
	)
	rules.Grow(256)
	for _, a := range result.Applied {
		if a.Outcome != mutation.Changed || a.Profile == last.Profile && a.Rule == last.Rule { // the items of a rule are adjacent
			continue
		}
		last = a
		if rules.Len()+len(a.Profile)+1+len(a.Rule) > maximumAuditBytes {
			more++
			continue
		}
		if rules.Len() > 0 {
			rules.WriteString(", ")
		}
		rules.WriteString(a.Profile)
		rules.WriteByte('/')
		rules.WriteString(a.Rule)
	}
	if more > 0 {
		fmt.Fprintf(&rules, " and %d more", more)
	}
	annotations := map[string]string{"rules": rules.String()}
	if result.Versions != "" {
		annotations["profiles"] = result.Versions
	}
	return annotations
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

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

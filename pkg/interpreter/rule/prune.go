// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"

// answerPrune takes away what is not packed for members.
func (r *rules) answerPrune(q *question) (interpreter.Response, error) { return applied(q, r.prune) }

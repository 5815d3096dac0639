// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	celinterpreter "github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// broken returns the failure for an expression error. Errors that occur for every object were found at compile
// time, so that the cause is the object. The message contains no values.
func (q *question) broken(at spot, err error) error {
	if ended := q.ctx.Err(); ended != nil {
		return &interpreter.Failure{Code: interpreter.CodeBroken, Message: at.name + ": stopped: " + ended.Error()}
	}
	var (
		failure *interpreter.Failure
		inner   *expression.EvaluationError
	)
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &inner): // the error contains the place
		return unfit("%s: %s", at.name, err)
	}
	return unfit("%s: %s", at, err)
}

// patient is the number of items between checks of the context, in loops without expressions.
const patient = 64

// ended returns an error if the context has ended. Call it for each item of a list.
func (q *question) ended(at spot, item int) error {
	if item%patient != 0 {
		return nil
	}
	if err := q.ctx.Err(); err != nil {
		return q.broken(at, err)
	}
	return nil
}

// member is a member cluster's state. status is nil if it has none yet.
type member struct {
	*interpreter.Member
	status *document.Document
}

// readMembers parses the statuses and sorts them by cluster. It fails for duplicate clusters, which would be
// counted twice.
func (q *question) readMembers() error {
	members := make([]*member, len(q.asked.Members))
	for i := range members {
		members[i] = &member{Member: &q.asked.Members[i]}
	}
	q.members = members
	slices.SortStableFunc(members, func(a, b *member) int { return cmp.Compare(a.Cluster, b.Cluster) })
	for i := 1; i < len(members); i++ {
		if members[i].Cluster == members[i-1].Cluster {
			return unfit("the member %s is listed twice", members[i].Cluster)
		}
	}
	for _, m := range members {
		if len(m.Status) == 0 || isNull(m.Status) {
			continue
		}
		var err error
		if m.status, err = readObject("the status of the member ", m.Cluster, m.Status, m.StatusNode); err != nil {
			return err
		}
	}
	return nil
}

// found is a member's value at a path.
type found struct {
	*member
	*document.Node
}

// unknownHealth is the default health of a member.
const unknownHealth = "Unknown"

// memberValues returns the variable members.
func (q *question) memberValues() ref.Val {
	values := make([]ref.Val, len(q.members))
	for i, m := range q.members {
		fields := expression.Values{"cluster": m.Cluster, "applied": m.Applied, "message": m.Message, "health": cmp.Or(m.Health, unknownHealth)}
		if m.status != nil {
			fields["status"] = valueOf(m.status.Original())
		}
		values[i] = memberType.Value(fields)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

// question is the state of one question, which expressions evaluate against. It is for one goroutine.
type question struct {
	ctx    context.Context
	asked  interpreter.Request
	object *document.Document
	trace  *tracer // nil unless the rules are traced

	// response is the answer so far, seen has the keys of its items, and made is the reflected status.
	response interpreter.Response
	seen     map[string]bool
	made     *document.Document

	observed *document.Document // for Retain
	members  []*member          // for Aggregate, sorted by cluster
	item     ref.Val            // item of forEach or items
	kept     ref.Val            // observed item of items

	membersValue ref.Val // the variable members, created on first use
}

// newQuestion parses the inputs. The caller must release the result.
func newQuestion(ctx context.Context, r interpreter.Request) (*question, error) {
	q := &question{ctx: ctx, asked: r}
	var err error
	if q.object, err = readObject("the object", "", r.Object, r.ObjectNode); err != nil {
		return q, err
	}
	switch r.Operation {
	case interpreter.Retain:
		if len(r.Observed) == 0 {
			break // rules that need it fail
		}
		q.observed, err = readObject("the observed object", "", r.Observed, r.ObservedNode)
	case interpreter.Aggregate:
		err = q.readMembers()
	case interpreter.Status, interpreter.Health:
		if status := q.object.Root().Get("status"); status != nil && status.Kind() != document.Null && status.Kind() != document.Object {
			err = unfit("the status of the object is %s, and must be an object", word(status))
		}
	case interpreter.Revise:
		if r.Replicas < 0 {
			err = unfit("the number of replicas is negative")
		}
	}
	return q, err
}

// readObject parses an object unless it has a node in a message. what and name describe it in failures.
func readObject(what, name string, raw []byte, node *document.Node) (*document.Document, error) {
	if len(raw) == 0 {
		return nil, unfit("%s is missing", what+name)
	}
	read := node.Document()
	if read == nil {
		var err error
		if read, err = document.Parse(raw); err != nil {
			return nil, unreadable(what+name, err)
		}
	}
	if root := read.Root(); root.Kind() != document.Object {
		defer read.Release()
		return nil, unfit("%s is %s, and must be an object", what+name, word(root))
	}
	return read, nil
}

// release returns the memory of the parsed inputs. The response stays valid.
func (q *question) release() {
	q.object.Release()
	q.observed.Release()
	for _, m := range q.members {
		m.status.Release()
	}
}

// ResolveName implements celinterpreter.Activation.
func (q *question) ResolveName(name string) (any, bool) {
	switch name {
	case "object":
		return valueOf(q.object.Original()), true
	case "observed":
		if q.observed == nil {
			return types.NewErr("%s", errUnobserved.Error()), true
		}
		return valueOf(q.observed.Original()), true
	case "members":
		if q.membersValue == nil {
			q.membersValue = q.memberValues()
		}
		return q.membersValue, true
	case "kind":
		kind := q.asked.Kind
		return kindType.Value(expression.Values{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}), true
	case "replicas":
		return types.Int(q.asked.Replicas), true
	case "item":
		return q.item, q.item != nil
	case "observedItem":
		return q.kept, q.kept != nil
	}
	return nil, false
}

// Parent implements celinterpreter.Activation.
func (*question) Parent() celinterpreter.Activation { return nil }

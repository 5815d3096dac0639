// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	celinterpreter "github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// broken says that an expression has failed, which holds no values, and where. What fails for every object was found when the rule was compiled: one
// that fails now does so because of what it was asked about.
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
	case errors.As(err, &inner): // which says where
		return unfit("%s: %s", at.name, err)
	}
	return unfit("%s: %s", at, err)
}

// patient is how many items are passed between two looks at the context, where no expression looks.
const patient = 64

// ended says that nobody waits for an answer any more; it is asked before each item of a list.
func (q *question) ended(at spot, item int) error {
	if item%patient != 0 {
		return nil
	}
	if err := q.ctx.Err(); err != nil {
		return q.broken(at, err)
	}
	return nil
}

// member is what a member cluster says. The status is nil where there is none yet.
type member struct {
	*interpreter.Member
	status *document.Document
	value  ref.Val
}

// readMembers reads the statuses, and orders them by the names of clusters, each of which is one member: two would be counted twice.
func (q *question) readMembers() error {
	all := q.asked.Members
	q.said, q.members = slices.Grow(q.said[:0], len(all))[:len(all)], slices.Grow(q.members[:0], len(all))[:len(all)]
	members := q.members
	for i := range all {
		q.said[i] = member{Member: &all[i]}
		members[i] = &q.said[i]
	}
	slices.SortStableFunc(members, func(a, b *member) int { return cmp.Compare(a.Cluster, b.Cluster) })
	for i := 1; i < len(members); i++ {
		if members[i].Cluster == members[i-1].Cluster {
			return unfit("the member %s stands twice", members[i].Cluster)
		}
	}
	for _, m := range members {
		if len(m.Status) == 0 || isNull(m.Status) {
			continue
		}
		var err error
		if m.status, err = readObject("the status of the member ", m.Cluster, m.Status, m.StatusIndex); err != nil {
			return err
		}
	}
	return nil
}

// memberValues is the variable members.
func (q *question) memberValues() ref.Val {
	values := make([]ref.Val, len(q.members))
	for i, m := range q.members {
		values[i] = memberType.Value(m)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

// unknownHealth is the health of a member of which nothing is said.
const unknownHealth = "Unknown"

// Field implements expression.Fields.
func (m *member) Field(name string) (any, bool) {
	switch name {
	case "cluster":
		return m.Cluster, true
	case "applied":
		return m.Applied, true
	case "message":
		return m.Message, true
	case "health":
		return cmp.Or(m.Health, unknownHealth), true
	case "status":
		if m.status == nil {
			return nil, false
		}
		return lazily(&m.value, func() ref.Val { return valueOf(m.status.Original()) }), true
	}
	return nil, false
}

// question is one question on its way to an answer, and what expressions see of it. It is for one goroutine, and its memory is used again.
type question struct {
	ctx     context.Context
	asked   interpreter.Request
	object  *document.Document
	because []string

	observed *document.Document // of Retain
	members  []*member          // of Aggregate, by the names of clusters
	said     []member           // where members are
	taken    []found            // what was taken of them last
	out      []byte             // what was written last, which is copied to where it belongs
	item     ref.Val            // of a forEach, or of items
	kept     ref.Val            // of items: that of the observed object

	// What expressions have named, made when they first did.
	objectValue, observedValue, membersValue, kindValue ref.Val
}

var questions = sync.Pool{New: func() any { return new(question) }}

// What is kept for the next question: no more members, and no more bytes that were written, than these.
const (
	maxKeptMembers = 64
	maxKeptBytes   = 64 << 10
)

// newQuestion reads what is asked about. It must be released, unless something refers to it.
func newQuestion(ctx context.Context, r interpreter.Request) (*question, error) {
	q := questions.Get().(*question)
	q.ctx, q.asked = ctx, r
	var err error
	if q.object, err = readObject("the object", "", r.Object, r.ObjectIndex); err != nil {
		return q, err
	}
	switch r.Operation {
	case interpreter.Retain:
		if len(r.Observed) == 0 {
			break // which is a failure of the rules that need it
		}
		q.observed, err = readObject("the observed object", "", r.Observed, r.ObservedIndex)
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

// readObject reads an object, unless it was read already. Failures call it what, and by the name behind that.
func readObject(what, name string, raw []byte, index interpreter.Index) (*document.Document, error) {
	if len(raw) == 0 {
		return nil, unfit("%s is missing", what+name)
	}
	read := index.Document()
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

// release gives back what was read, and the question itself. What was answered stays valid.
func (q *question) release() {
	q.object.Release()
	q.observed.Release()
	for _, m := range q.members {
		m.status.Release()
	}
	if cap(q.said) > maxKeptMembers || cap(q.out) > maxKeptBytes {
		return
	}
	clear(q.members)
	clear(q.said)
	clear(q.taken[:cap(q.taken)])
	*q = question{members: q.members[:0], said: q.said[:0], taken: q.taken[:0], out: q.out[:0]}
	questions.Put(q)
}

// wrote remembers where bytes were written, so that the next ones are written there.
func (q *question) wrote(out []byte) []byte {
	q.out = out
	return out
}

// ResolveName implements celinterpreter.Activation.
func (q *question) ResolveName(name string) (any, bool) {
	switch name {
	case "object":
		return lazily(&q.objectValue, func() ref.Val { return valueOf(q.object.Original()) }), true
	case "observed":
		if q.observed == nil {
			return types.NewErr("%s", errUnobserved.Error()), true
		}
		return lazily(&q.observedValue, func() ref.Val { return valueOf(q.observed.Original()) }), true
	case "members":
		return lazily(&q.membersValue, q.memberValues), true
	case "kind":
		return lazily(&q.kindValue, func() ref.Val { return kindType.Value((*kindFields)(&q.asked.Kind)) }), true
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

func lazily(value *ref.Val, first func() ref.Val) ref.Val {
	if *value == nil {
		*value = first()
	}
	return *value
}

// kindFields are the fields of kind.
type kindFields interpreter.Kind

// Field implements expression.Fields.
func (k *kindFields) Field(name string) (any, bool) {
	switch name {
	case "group":
		return k.Group, true
	case "version":
		return k.Version, true
	case "kind":
		return k.Kind, true
	}
	return nil, false
}

var _ expression.Fields = (*kindFields)(nil)

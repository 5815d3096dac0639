// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

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

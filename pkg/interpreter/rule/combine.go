// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// sum adds numbers up: exactly while all are whole.
func sum(at path) combine {
	return func(q *question) ([]byte, error) {
		var (
			whole int64
			float float64
			exact = true
		)
		all := q.take(at)
		for _, f := range all {
			if f.Kind() != document.Number {
				return nil, f.misfit(at, "a number")
			}
			switch n := numeric(f.Node).(type) {
			case int64:
				if added := whole + n; (added > whole) != (n > 0) && n != 0 {
					return nil, tooLarge(at)
				}
				whole += n
				float += float64(n)
			case float64:
				exact = false
				float += n
			}
		}
		switch {
		case len(all) == 0:
			return nil, nil
		case exact:
			return q.wrote(strconv.AppendInt(q.out[:0], whole, 10)), nil
		case math.Abs(float) >= math.MaxInt64: // no number of Kubernetes is
			return nil, tooLarge(at)
		}
		return []byte(strings.ToLower(strconv.FormatFloat(float, 'g', -1, 64))), nil
	}
}

func tooLarge(at path) error { return unfit("%s: status.%s: the sum is too large", at.at, at.text) }

// least is the smallest number, as its member writes it.
func least(at path) combine { return extreme(at, func(a, b float64) bool { return a < b }) }

// most is the largest number, as its member writes it.
func most(at path) combine { return extreme(at, func(a, b float64) bool { return a > b }) }

func extreme(at path, better func(a, b float64) bool) combine {
	return func(q *question) ([]byte, error) {
		var (
			best []byte
			than float64
		)
		for _, f := range q.take(at) {
			if f.Kind() != document.Number {
				return nil, f.misfit(at, "a number")
			}
			n, err := strconv.ParseFloat(string(f.Raw()), 64)
			if err != nil {
				return nil, unfit("%s: the member %s: status.%s is too large", at.at, f.Cluster, at.text)
			}
			if best == nil || better(n, than) {
				best, than = f.Raw(), n
			}
		}
		return best, nil
	}
}

// allTrue says whether all members have true.
func allTrue(at path) combine {
	return func(q *question) ([]byte, error) {
		count, err := truths(q, at)
		if err != nil || len(q.members) == 0 {
			return nil, err
		}
		return q.wrote(strconv.AppendBool(q.out[:0], count == len(q.members))), nil
	}
}

// anyTrue says whether a member has true.
func anyTrue(at path) combine {
	return func(q *question) ([]byte, error) {
		count, err := truths(q, at)
		if err != nil || len(q.members) == 0 {
			return nil, err
		}
		return q.wrote(strconv.AppendBool(q.out[:0], count > 0)), nil
	}
}

// truths are how many members have true.
func truths(q *question, at path) (count int, err error) {
	for _, f := range q.take(at) {
		if f.Kind() != document.Bool {
			return 0, f.misfit(at, "true or false")
		}
		if f.Raw()[0] == 't' {
			count++
		}
	}
	return count, nil
}

// same is what all have that have something.
func same(at path) combine {
	return func(q *question) ([]byte, error) {
		all := q.take(at)
		for _, f := range all {
			if !f.Equal(all[0].Node) {
				return nil, nil
			}
		}
		return firstOf(all), nil
	}
}

// first is what the first has that has something.
func first(at path) combine {
	return func(q *question) ([]byte, error) { return firstOf(q.take(at)), nil }
}

func firstOf(all []found) []byte {
	if len(all) == 0 {
		return nil
	}
	return all[0].Raw()
}

// separator stands between the texts of members.
const separator = "; "

// join is the texts of all, each behind the name of its cluster; that of a single member as it is.
func join(at path) combine {
	return func(q *question) ([]byte, error) {
		var joined strings.Builder
		for _, f := range q.take(at) {
			text, ok := f.Text()
			switch {
			case !ok:
				return nil, f.misfit(at, "a text")
			case text == "":
				continue
			case len(q.members) == 1:
				return f.Raw(), nil
			}
			if joined.Len() > 0 {
				joined.WriteString(separator)
			}
			joined.WriteString(f.Cluster + ": " + text)
		}
		if joined.Len() == 0 {
			return nil, nil
		}
		return bytes.Clone(document.Quote(joined.String())), nil
	}
}

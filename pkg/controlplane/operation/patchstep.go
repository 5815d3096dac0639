// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// patchRun is a patch of which the operations are applied one by one.
type patchRun struct{ tests []patchTest }

// patchTest is a test: what must stand at a place.
type patchTest struct {
	pointer string
	want    []byte
}

// patchStep is an operation that changes something, behind so many tests of its run.
type patchStep struct {
	run     *patchRun
	tests   int
	op      string
	pointer string
	path    fieldPath
}

// failedTest is noted of a run when one of its tests has failed.
const failedTest = -1

var (
	errMissing = errors.New("is missing")
	errPointer = errors.New("it does not begin with /, or has a ~ before something else than 0 and 1")
	errNoIndex = errors.New("is no position in the list")
	pointer    = regexp.MustCompile(`^(/([^~/]|~[01])*)+$`)
	unescape   = strings.NewReplacer("~1", "/", "~0", "~")
)

// parsePointer reads a JSON pointer (RFC 6901) of a place below the root.
func parsePointer(text string) (fieldPath, error) {
	if !utf8.ValidString(text) || !pointer.MatchString(text) {
		return nil, errPointer
	}
	var p fieldPath
	for token := range strings.SplitSeq(text[1:], "/") {
		s := fieldpath.Step{Key: unescape.Replace(token)}
		s.Position = token == "-" || token != "" && strings.Trim(token, "0123456789") == ""
		if p = append(p, s); len(p) > fieldpath.MaximumSteps {
			return nil, fmt.Errorf("has more than %d steps", fieldpath.MaximumSteps)
		}
	}
	return p, nil
}

func (s patchStep) apply(o *target.Object, v Resolved) error {
	if holds, err := s.run.holds(o, s.tests); err != nil || !holds {
		return err
	}
	defer o.ForgetCommandLines()
	root, last := o.Document.Root(), s.path[len(s.path)-1].Key
	parent := root.At(s.pointer[:strings.LastIndexByte(s.pointer, '/')])
	var err error
	switch {
	case s.op == "remove":
		removeAt(parent, last)
	case parent == nil, s.op == "replace" && root.At(s.pointer) == nil:
		err = errMissing
	case s.op == "replace":
		err = root.At(s.pointer).Replace(v.JSON)
	case parent.Kind() == document.Array:
		err = insertAt(parent, last, v.JSON)
	default:
		_, err = parent.Set(last, v.JSON)
	}
	return nested(err, "%s", s.pointer)
}

// holds evaluates the tests that stand before an operation and were not evaluated yet. Once one has failed, all that follows
// is left out.
func (r *patchRun) holds(o *target.Object, tests int) (bool, error) {
	done := o.Note(r)
	for done != failedTest && done < tests {
		want, err := document.Parse(r.tests[done].want)
		if err != nil {
			return false, err
		}
		equal := o.Document.Root().At(r.tests[done].pointer).Equal(want.Root())
		want.Release()
		if done++; !equal {
			done = failedTest
		}
	}
	o.SetNote(r, done)
	return done != failedTest, nil
}

// leaves tells the net effect of the operation: the field, or the item that came into a list or went out of it. A position says little once
// others have edited the list.
func (s patchStep) leaves(original, now *document.Node, v *Resolved) []Trace {
	if !isLasting(s.path) {
		return nil
	}
	list := s.path[:len(s.path)-1]
	if !s.path[len(list)].Position || s.op == "replace" || list.find(original).Kind() != document.Array && list.find(now).Kind() != document.Array {
		return []Trace{{Path: s.path.String()}}
	}
	trace := Trace{Path: list.String()}
	switch {
	case s.op == "remove":
		return append(trace.missing(list.find(original), list.find(now)), trace.Any())
	case v == nil:
		return []Trace{trace.Any()}
	default:
		return trace.itemsOf(v.JSON, false)
	}
}

// missing are the traces of the items that a list had and has not any more.
func (t Trace) missing(before, after *document.Node) []Trace {
	var traces []Trace
	for _, item := range before.Items() {
		if t.Item = Digest(Canonical(item)); itemWith(after, t.Item) < 0 {
			traces = append(traces, t)
		}
	}
	return traces
}

func removeAt(parent *document.Node, key string) {
	if parent.Kind() != document.Array {
		parent.Remove(key)
		return
	}
	if i, err := strconv.Atoi(key); err == nil {
		parent.RemoveItem(i)
	}
}

func insertAt(list *document.Node, key string, raw []byte) error {
	if key == "-" {
		_, err := list.Append(raw)
		return err
	}
	i, err := strconv.Atoi(key)
	if err != nil || strconv.Itoa(i) != key {
		return errNoIndex
	}
	_, err = list.Insert(i, raw)
	return err
}

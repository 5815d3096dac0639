// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// patch applies a JSON patch (RFC 6902) to the object as the rule finds it: the last resort. Removing what is not there is no
// error, so that a patch can meet its own result; for the same reason what depends on positions in lists needs a test.
func patch() Definition {
	return Definition{
		Name: "patch",
		Summary: "applies add, remove, replace and test of a JSON patch to the object as the rule finds it; where a test fails, the rest of the rule's patch is " +
			"left out. It is the last resort: other operations merge, and find items by name",
		Example: "patch: [{op: replace, path: /spec/minReadySeconds, value: 5}]",
		Examples: []string{
			"patch: [{op: test, path: /spec/x/0, value: a}, {op: add, path: /spec/x/-, value: \"${ shoot.region }\"}, {op: remove, path: /spec/old}]",
		},
		Arguments: []Argument{{Type: listOf(members(
			Argument{Name: "op", Type: oneOfTexts("add", "remove", "replace", "test"), Required: true, Summary: "what is done"},
			Argument{Name: "path", Type: fixedText, Required: true, Summary: "the JSON pointer of the place"},
			Argument{Name: "value", Type: orNull(anyTree), Summary: "what stands there then, or for test what must stand there, which is constant"},
		)), Summary: "the operations in their order"}},
		Parts:   target.Metadata,
		Compile: compilePatch,
	}
}

// patchOperation is an operation of a patch as it is written.
type patchOperation struct {
	Op    string      `json:"op"`
	Path  string      `json:"path"`
	Value source.Node `json:"value"`
}

func compilePatch(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	if arguments.Node == nil || arguments.Kind != yaml.SequenceNode {
		return nil, source.Findings{arguments.Finding(path, "must be a list of operations with op, path and value").Of(source.WrongType)}
	}
	var (
		writes   []Write
		findings source.Findings
		run      = &patchRun{}
	)
	for i, item := range arguments.Items() {
		at := fmt.Sprintf("%s[%d]", path, i)
		write, problems := compilePatchOperation(c, item, at, run)
		findings = append(findings, problems...)
		if len(problems) == 0 && write.Apply != nil {
			writes = append(writes, write)
		}
	}
	if len(writes)+len(findings) == 0 {
		findings = append(findings, arguments.Finding(path, "changes nothing").Of(NothingToDo))
	}
	return writes, findings
}

// compilePatchOperation compiles one operation. A test goes into the run and is no write.
func compilePatchOperation(c *Context, item source.Node, at string, run *patchRun) (Write, source.Findings) {
	var a patchOperation
	if findings := source.Decode(item, at, &a); len(findings) > 0 {
		return Write{}, findings
	}
	p, problem := checkPatch(a, len(run.tests) > 0)
	if problem == "" && a.Op != "test" {
		problem = checkPatchOwner(c.Target, p)
	}
	if problem != "" {
		return Write{}, source.Findings{item.Finding(at, "%s", problem).Of(WrongPath)}
	}
	value, findings := Remove(), source.Findings(nil)
	if a.Op != "remove" {
		value, findings = c.Tree(a.Value, at+".value")
	}
	if len(findings) > 0 {
		return Write{}, findings
	}
	if a.Op == "test" {
		constant, ok := value.Constant()
		if !ok {
			return Write{}, source.Findings{a.Value.Finding(at+".value", "a test compares with a constant; an expression belongs into the condition of the rule").
				Of(source.WrongValue)}
		}
		run.tests = append(run.tests, patchTest{pointer: a.Path, want: constant.JSON})
		return Write{}, nil
	}
	place := Place{Kind: Field, Name: p.String()}
	if len(run.tests) > 0 {
		// It may be left out, and so neither overrides another rule's write nor contradicts it.
		place.Kind, place.Container = TestedField, item.Position().String()
	}
	step := patchStep{run: run, tests: len(run.tests), op: a.Op, pointer: a.Path, path: p}
	return Write{Place: place, Value: value, At: item, Path: at, Adds: place.Kind == TestedField, Apply: step.apply, leaves: step.leaves}, nil
}

// checkPatch judges an operation, and gives its path; tested says that a test stands before it.
func checkPatch(a patchOperation, tested bool) (fieldPath, string) {
	switch op := a.Op; {
	case op == "":
		return nil, "op is missing"
	case op == "move" || op == "copy":
		return nil, op + " is not possible: what it leaves depends on whether the object has been patched before"
	case !slices.Contains([]string{"add", "remove", "replace", "test"}, op):
		return nil, fmt.Sprintf("op must be add, remove, replace or test, is %q", op)
	case op == "remove" && a.Value.Node != nil:
		return nil, "remove has no value"
	case op != "remove" && a.Value.Node == nil:
		return nil, "value is missing"
	}
	p, err := parsePointer(a.Path)
	if err != nil {
		return nil, fmt.Sprintf("path must be a JSON pointer such as /spec/replicas: %v", err)
	}
	if problem := checkName(a.Path); problem != "" {
		return nil, problem
	}
	return p, checkPositions(p, a.Op, tested)
}

// checkPositions judges what depends on positions in lists.
func checkPositions(p fieldPath, op string, tested bool) string {
	last := p[len(p)-1]
	end := slices.IndexFunc(p, func(s fieldpath.Step) bool { return s.Position && s.Key == "-" })
	switch {
	case end >= 0 && (end < len(p)-1 || op != "add"):
		return "- is where an item can be added, and nothing else"
	case last.Position && !tested && (op == "add" || op == "remove"):
		return op + " at a position in a list does the same again each time the object is admitted; " +
			"a test must stand before it that fails when it has been done"
	}
	return ""
}

// checkPatchOwner says which operation is to be used for labels and annotations, since the contract's clauses know their places, and
// for the storage of an etcd, which cannot change once it exists.
func checkPatchOwner(t *target.Target, p fieldPath) string {
	keys := strings.Join(p.keys(), ".") // as String writes it, a key with dots stands in brackets
	for _, o := range owners {
		if slices.Contains([]string{"labels", "annotations", "podLabels", "podAnnotations", "storage"}, o.operation) && t.Has(o.parts) &&
			(keys == o.path || inside(keys, o.path)) {
			return o.message()
		}
	}
	return ""
}

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

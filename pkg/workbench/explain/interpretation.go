// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Interpretation is what each rule says where Karmada asks about an object, and why. docs/reference/output.md describes it as a document. Fields may be
// added, but none changes its meaning within a version.
type Interpretation struct {
	// APIVersion is that of profiles; Kind is InterpretationExplanation.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Object is the object that is asked about, and Operation what is asked.
	Object    Identity `json:"object"`
	Operation string   `json:"operation"`
	// Rules are those of the operation for the kind, in their order.
	Rules []InterpretationRule `json:"rules"`
	// Answer is the answer, with the members that the operation has; absent where there is none.
	Answer map[string]json.RawMessage `json:"answer,omitempty"`
	// Failure is why there is no answer, and Code that of the failure.
	Failure string `json:"failure,omitempty"`
	Code    int    `json:"code,omitempty"`
}

// InterpretationRule is one rule and what became of it.
type InterpretationRule struct {
	Profile string `json:"profile"`
	// Name is the path of the rule in its profile.
	Name     string    `json:"name"`
	Position *Position `json:"position,omitempty"`
	// Outcome is applied, unchanged, skipped, refused, failed or not asked.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	// When is the condition with its terms; of a rule with forEach each item has its own.
	When    *Term  `json:"when,omitempty"`
	ForEach []Term `json:"forEach,omitempty"`
	// Items are the items of a rule with forEach: Item is what each is called.
	Items []Term `json:"items,omitempty"`
	// Healthy is what a rule of health says, with its terms.
	Healthy *Term `json:"healthy,omitempty"`
	// Writes are the places that a rule which applied writes, in its order.
	Writes []Written `json:"writes,omitempty"`
}

// Interpret explains the answer to a question about an object. The documents are those of the program. The error is of what cannot be explained.
func Interpret(ctx context.Context, p *rule.Program, documents []*profile.Interpreter, r interpreter.Request) (*Interpretation, error) {
	trace, err := p.Trace(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("explaining the answer: %w", err)
	}
	i := &Interpretation{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "InterpretationExplanation", Object: identityOf(r), Operation: string(r.Operation),
		Rules: []InterpretationRule{},
	}
	t := interpretationReader{secret: r.Kind == interpreter.Kind{Version: "v1", Kind: "Secret"}, name: i.Object.Name, places: places(documents)}
	for n := range trace.Rules {
		i.Rules = append(i.Rules, t.rule(&trace.Rules[n]))
		t.ended = cmp.Or(t.ended, notAsked[trace.Rules[n].Outcome])
	}
	if !i.failed(trace.Failure) {
		i.Answer, err = t.answer(&trace.Response)
	}
	return i, err
}

// failed says whether there is no answer, and why.
func (i *Interpretation) failed(why *interpreter.Failure) bool {
	if why == nil {
		return false
	}
	i.Failure, i.Code = why.Message, why.Code
	return true
}

// identityOf names the object of a question.
func identityOf(r interpreter.Request) Identity {
	var head struct {
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(r.Object, &head) // what cannot be read has no name
	version := r.Kind.Version
	if r.Kind.Group != "" {
		version = r.Kind.Group + "/" + version
	}
	return Identity{version, r.Kind.Kind, head.Metadata.Namespace, head.Metadata.Name}
}

// interpretationReader makes what the engine says fit to be shown.
type interpretationReader struct {
	// secret says that the object is a Secret of this name, of which no value is shown.
	secret bool
	name   string
	places map[string]source.Position
	// ended is why the rules that follow are not asked.
	ended string
}

// notAsked is why rules behind one with this outcome are not asked, where it is not that one had decided.
var notAsked = map[rule.Outcome]string{rule.Failed: "a rule before it failed", rule.Refused: "a rule before it refused the object"}

func (r *interpretationReader) rule(t *rule.Traced) InterpretationRule {
	name, path, _ := strings.Cut(t.At, ": ")
	out := InterpretationRule{Profile: name, Name: path, Position: position(r.places[t.At]), Outcome: string(t.Outcome), ForEach: r.terms(t.ForEach)}
	if t.When != nil {
		when := r.whole(*t.When)
		out.When = &when
	}
	if t.Healthy != nil {
		healthy := r.whole(*t.Healthy)
		out.Healthy = &healthy
	}
	for i, item := range t.Items {
		shown := Term{Item: fmt.Sprint(i), Value: fmt.Sprint(item.Holds)}
		if item.When != nil {
			item := *item.When
			shown = r.whole(item)
			shown.Item = fmt.Sprint(i)
		}
		if !r.secret {
			shown.Item = called(item.Item, i)
		}
		out.Items = append(out.Items, shown)
	}
	out.Writes = r.written(t.Writes, out.Items)
	switch {
	case t.Failure != nil:
		out.Reason = strings.TrimLeft(strings.TrimPrefix(t.Failure.Message, t.At), ".: ")
	case t.Outcome == rule.NotAsked:
		out.Reason = cmp.Or(r.ended, "another rule had decided")
	case t.Outcome == rule.Skipped && t.ForEach != nil && len(t.Items) == 0:
		out.Reason = "there is no item"
	}
	return out
}

// whole is an expression of a rule, of which the value as a whole is seen in what became of the rule.
func (r *interpretationReader) whole(t expression.Term) Term {
	shown := r.term(t)
	if t.Value != nil {
		shown.Value = expression.Describe(t.Value)
	}
	return shown
}

func (r *interpretationReader) terms(all []expression.Term) []Term {
	var shown []Term
	for _, t := range all {
		shown = append(shown, r.term(t))
	}
	return shown
}

// term makes a term fit to be shown: of a Secret, no value is.
func (r *interpretationReader) term(t expression.Term) Term {
	shown := Term{Text: t.Text, Position: position(t.Position), NotEvaluated: t.Skipped, More: t.More, Terms: r.terms(t.Terms)}
	switch {
	case t.Skipped:
	case t.Failed != nil:
		shown.Failed = withoutPlace(t.Failed)
	case r.secret:
		shown.Value = fromSecret(r.name)
	default:
		shown.Value = expression.Describe(t.Value)
	}
	for i, item := range t.Each {
		below := r.term(item)
		below.Item = fmt.Sprint(i)
		if !r.secret {
			below.Item = called(item.Item, i)
		}
		shown.Each = append(shown.Each, below)
	}
	return shown
}

// withoutPlace is why an expression failed, without its place, which stands beside it.
func withoutPlace(err error) string {
	var failed *expression.EvaluationError
	if errors.As(err, &failed) {
		return failed.Message
	}
	return err.Error()
}

// called is what an item is called: by its name or its type, by itself where it is short, or by its number.
func called(value ref.Val, index int) string {
	const most = 60
	if indexed, ok := value.(traits.Mapper); ok {
		for _, field := range []types.String{"name", "cluster", "type", "key"} {
			if text, found := indexed.Find(field); found && text.Type() == types.StringType {
				return string(text.(types.String))
			}
		}
	}
	if text, err := expression.Text(value); err == nil && text != "" && len(text) <= most {
		return text
	}
	return fmt.Sprint(index)
}

// answer is what the answer has; of a Secret, numbers and truths only.
func (r *interpretationReader) answer(of *interpreter.Response) (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(struct {
		Replicas     *int32                    `json:"replicas,omitempty"`
		Requirements *interpreter.Requirements `json:"requirements,omitempty"`
		Components   []interpreter.Component   `json:"components,omitempty"`
		Dependencies []interpreter.Dependency  `json:"dependencies,omitempty"`
		Status       json.RawMessage           `json:"status,omitempty"`
		Healthy      *bool                     `json:"healthy,omitempty"`
		Patch        json.RawMessage           `json:"patch,omitempty"`
	}{of.Replicas, of.Requirements, of.Components, of.Dependencies, of.Status, of.Healthy, of.Patch})
	if err != nil {
		return nil, fmt.Errorf("writing the answer: %w", err)
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("writing the answer: %w", err)
	}
	if !r.secret {
		return answer, nil
	}
	hidden, err := json.Marshal(fromSecret(r.name))
	if err != nil {
		return nil, fmt.Errorf("writing the answer: %w", err)
	}
	for name := range answer {
		if name != "replicas" && name != "healthy" {
			answer[name] = hidden
		}
	}
	return answer, nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package luatest

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Pair answers questions by rules, and by the scripts that are written from them. It must be closed, and is for one goroutine.
type Pair struct {
	program *rule.Program
	scripts map[interpreter.Kind]*lua.Customizations
	machine *Machine
}

// NewPair compiles and translates documents; nil where one of the findings is more than a warning.
func NewPair(documents []*profile.Interpreter, o lua.Options) (*Pair, source.Findings) {
	customizations, findings := lua.Translate(documents, o)
	if len(findings.Errors()) > 0 {
		return nil, findings
	}
	p, problems := NewPairOf(documents, customizations)
	return p, append(problems, findings...)
}

// NewPairOf compiles documents, which are compared with scripts that were not written from them.
func NewPairOf(documents []*profile.Interpreter, customizations []lua.Customization) (*Pair, source.Findings) {
	program, findings := rule.Compile(documents)
	if program == nil {
		return nil, findings
	}
	machine, err := New()
	if err != nil {
		return nil, source.Findings{{Message: err.Error()}}
	}
	machine.Keep = true
	p := &Pair{program: program, machine: machine, scripts: map[interpreter.Kind]*lua.Customizations{}}
	for i, c := range customizations {
		p.scripts[interpreter.KindOf(c.Spec.Target.APIVersion, c.Spec.Target.Kind)] = &customizations[i].Spec.Customizations
	}
	return p, findings
}

// Close ends the machine.
func (p *Pair) Close() { p.machine.Close() }

// failing is how failures differ, of which there is one at least.
func failing(ruled, scripted error) string {
	switch {
	case scripted == nil:
		return "the rules fail: " + ruled.Error() + "; the script does not"
	case ruled == nil:
		return "the script fails: " + scripted.Error() + "; the rules do not"
	case !Alike(ruled, scripted):
		return fmt.Sprintf("the rules fail: %s; the script: %s", ruled, scripted)
	}
	return ""
}

// Difference is how the two answers differ, empty where they do not. What is null or empty does not count, as Karmada's machine does not keep it.
//
// Where both fail, they must do so for the same reason as far as both know it: see Alike.
//
// A Retain without an observed object is a call of the proposal's dialect, which has no scripts: Karmada never makes it.
func (p *Pair) Difference(r interpreter.Request) (string, error) {
	if r.Operation == interpreter.Retain && len(r.Observed) == 0 {
		return "", nil
	}
	response, ruled := p.program.Interpret(context.Background(), r)
	scripts := p.scripts[r.Kind]
	if scripts == nil || scripts.Of(r.Operation) == nil {
		if ruled == nil && r.Operation != interpreter.Prune {
			return "there is no script", nil
		}
		return "", nil
	}
	answer, scripted := p.machine.Answer(scripts, r)
	if ruled != nil || scripted != nil {
		return failing(ruled, scripted), nil
	}
	want, err := became(r, response)
	if err != nil {
		return "", err
	}
	got, err := plain(answer)
	return cmp.Diff(want, got), err
}

// became is a response with the object as it becomes, in place of the patch.
func became(r interpreter.Request, response interpreter.Response) (any, error) {
	answer := Answer{Response: response}
	if r.Operation.Patches() {
		answer.Object = r.Object
	}
	if response.Patch != nil {
		patch, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			return nil, err
		}
		if answer.Object, err = patch.Apply(r.Object); err != nil {
			return nil, err
		}
	}
	answer.Patch, answer.Because = nil, nil
	return plain(answer)
}

// plain is an answer without what is null or empty.
func plain(answer Answer) (any, error) {
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	var decoded any
	err = json.Unmarshal(raw, &decoded)
	return Filled(decoded), err
}

// Filled is a value without what is null or empty in it; nil where nothing is left.
func Filled(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if value[key] = Filled(member); value[key] == nil {
				delete(value, key)
			}
		}
		if len(value) == 0 {
			return nil
		}
	case []any:
		var kept []any
		for _, item := range value {
			if item = Filled(item); item != nil {
				kept = append(kept, item)
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	}
	return value
}

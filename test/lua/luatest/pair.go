// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package luatest

import (
	"bytes"
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

// Pair answers questions with rules and with scripts, to compare them. It must be closed, and is for one
// goroutine.
type Pair struct {
	program *rule.Program
	scripts map[interpreter.Kind]lua.Customizations
	machine *Machine
}

// NewPair compiles and translates documents. It returns nil if a finding is more than a warning.
func NewPair(documents []*profile.Interpreter, o lua.Options) (*Pair, source.Findings) {
	customizations, findings := lua.Translate(documents, o)
	if len(findings.Errors()) > 0 {
		return nil, findings
	}
	p, problems := NewPairOf(documents, customizations)
	return p, append(problems, findings...)
}

// NewPairOf compiles documents and pairs them with scripts from another source.
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
	p := &Pair{program: program, machine: machine, scripts: map[interpreter.Kind]lua.Customizations{}}
	for i, c := range customizations {
		p.scripts[interpreter.KindOf(c.Spec.Target.APIVersion, c.Spec.Target.Kind)] = customizations[i].Spec.Customizations
	}
	return p, findings
}

// Close releases the machine.
func (p *Pair) Close() { p.machine.Close() }

// failing returns the difference between two failures, of which at least one is not nil.
func failing(script string, ruled, scripted error) string {
	switch {
	case scripted == nil:
		return "the rules fail: " + ruled.Error() + "; the script does not"
	case ruled == nil:
		return "the script fails: " + scripted.Error() + "; the rules do not"
	case !Alike(ruled.Error(), Named(script, scripted)):
		return fmt.Sprintf("the rules fail: %s; the script: %s", ruled, scripted)
	}
	return ""
}

// Difference returns the difference between the two answers, or "". Null and empty values are ignored, because
// Karmada's machine drops them.
//
// If both fail, they must name the same rule: see Alike. Objects without metadata get a name, as Kubernetes requires.
//
// A Retain without observed object is skipped. Only the proposal's dialect has this call, and Karmada does not
// make it.
func (p *Pair) Difference(r interpreter.Request) (string, error) {
	if r.Operation == interpreter.Retain && len(r.Observed) == 0 {
		return "", nil
	}
	r.Object, r.Observed = withMetadata(r.Object), withMetadata(r.Observed)
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
		return failing(scripts.Of(r.Operation).LuaScript, ruled, scripted), nil
	}
	want, err := became(r, response)
	if err != nil {
		return "", err
	}
	got, err := plain(answer)
	return cmp.Diff(want, got), err
}

// withMetadata returns an object with metadata. Other values stay as they are.
func withMetadata(raw json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object == nil || object["metadata"] != nil {
		return raw
	}
	rest := bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("{"))
	if len(object) > 0 {
		rest = append([]byte(","), rest...)
	}
	return append([]byte(`{"metadata":{"name":"a"}`), rest...)
}

// became returns the response with the changed object instead of the patch.
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

// plain returns an answer without null and empty values.
func plain(answer Answer) (any, error) {
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	var decoded any
	err = json.Unmarshal(raw, &decoded)
	return Filled(decoded), err
}

// Filled returns a value without null and empty values, or nil if nothing is left.
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

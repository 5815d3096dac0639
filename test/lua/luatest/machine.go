// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package luatest runs scripts as Karmada runs those of its customizations: with the same libraries, input
// values and processing of results. It is for tests and benchmarks, and contains no code of Graft's engine.
// Start reading at Run.
package luatest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	luavm "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/api/resource"
	luajson "layeh.com/gopher-json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
)

// Limit is the time limit for a script in Karmada (luavm.VM.RunScript).
const Limit = time.Second

// Answer is the result of a script. Object is the changed object in JSON; other results are in Response.
type Answer struct {
	interpreter.Response
	Object json.RawMessage
}

// Machine is a Lua state as Karmada creates it. It is for one goroutine. Globals persist between scripts, as in
// Karmada.
type Machine struct {
	// Keep caches compiled scripts. Karmada compiles them for each question.
	Keep bool
	// Limit is the time limit for a script. 0 means none, so that tests do not depend on the machine's speed.
	Limit time.Duration
	state *luavm.LState
	kept  map[string]*luavm.LFunction
}

// closedFunctions and closedOfStrings list the functions of the base and string libraries that Karmada
// disables.
var (
	closedFunctions = []string{
		"collectgarbage", "dofile", "getfenv", "getmetatable", "load", "loadfile", "loadstring", "rawequal", "rawget",
		"rawset", "setfenv", "setmetatable",
		"module", "newproxy",
	}
	closedOfStrings = []string{"gsub", "rep", "dump"}
)

// New returns a machine. The caller must close it.
func New() (*Machine, error) {
	state := luavm.NewState(luavm.Options{SkipOpenLibs: true})
	for name, open := range map[string]luavm.LGFunction{
		luavm.LoadLibName: luavm.OpenPackage, luavm.BaseLibName: luavm.OpenBase, luavm.TabLibName: luavm.OpenTable,
		luavm.StringLibName: luavm.OpenString,
		luavm.MathLibName:   luavm.OpenMath,
	} {
		if err := state.CallByParam(luavm.P{Fn: state.NewFunction(open), Protect: true}, luavm.LString(name)); err != nil {
			return nil, fmt.Errorf("opening the library %s: %w", name, err)
		}
	}
	for _, name := range closedFunctions {
		state.SetGlobal(name, state.NewFunction(closed))
	}
	for _, name := range closedOfStrings {
		state.SetField(state.GetGlobal("string"), name, state.NewFunction(closed))
	}
	state.PreloadModule("kube", func(l *luavm.LState) int {
		l.Push(l.SetFuncs(l.NewTable(), map[string]luavm.LGFunction{"resourceAdd": resourceAdd}))
		return 1
	})
	return &Machine{state: state, kept: map[string]*luavm.LFunction{}}, nil
}

// Close releases the machine.
func (m *Machine) Close() { m.state.Close() }

func closed(l *luavm.LState) int {
	l.RaiseError("this function is not open in Karmada")
	return 0
}

// resourceAdd adds quantities. It panics for an invalid quantity, as Karmada does.
func resourceAdd(l *luavm.LState) int {
	sum := resource.Quantity{}
	for i := 1; i <= l.GetTop(); i++ {
		if l.Get(i) != luavm.LNil {
			sum.Add(resource.MustParse(string(l.Get(i).(luavm.LString))))
		}
	}
	l.Push(luavm.LString(sum.String()))
	return 1
}

// run calls the function of a script.
func (m *Machine) run(script, function string, results int, arguments ...any) ([]luavm.LValue, error) {
	if m.Limit > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), m.Limit)
		defer cancel()
		m.state.SetContext(ctx)
	}
	if err := m.load(script); err != nil {
		return nil, fmt.Errorf("reading the script: %w", err)
	}
	values := make([]luavm.LValue, len(arguments))
	for i, argument := range arguments {
		raw, err := json.Marshal(argument)
		if err != nil {
			return nil, err
		}
		if values[i], err = luajson.Decode(m.state, raw); err != nil {
			return nil, err
		}
	}
	called := luavm.P{Fn: m.state.GetGlobal(function), NRet: results, Protect: true}
	if err := m.state.CallByParam(called, values...); err != nil {
		return nil, err
	}
	all := make([]luavm.LValue, results)
	for i := range all {
		all[i] = m.state.Get(i + 1)
	}
	m.state.SetTop(0)
	return all, nil
}

// load loads the functions of a script.
func (m *Machine) load(script string) error {
	loaded := m.kept[script]
	if loaded == nil {
		var err error
		if loaded, err = m.state.LoadString(script); err != nil {
			return err
		}
		if m.Keep {
			m.kept[script] = loaded
		}
	}
	return m.state.CallByParam(luavm.P{Fn: loaded, Protect: true})
}

// status is Karmada's AggregatedStatusItem.
type status struct {
	ClusterName    string          `json:"clusterName"`
	Status         json.RawMessage `json:"status,omitempty"`
	Applied        bool            `json:"applied,omitempty"`
	AppliedMessage string          `json:"appliedMessage,omitempty"`
	Health         string          `json:"health,omitempty"`
}

// Answer runs the customization's script for a request.
func (m *Machine) Answer(c lua.Customizations, r interpreter.Request) (Answer, error) {
	script := c.Of(r.Operation)
	if script == nil {
		return Answer{}, fmt.Errorf("there is no script for %s", r.Operation)
	}
	switch r.Operation {
	case interpreter.Replicas:
		return m.replicas(script.LuaScript, r)
	case interpreter.Health:
		return m.health(script.LuaScript, r)
	case interpreter.Revise:
		return m.changed(script.LuaScript, "ReviseReplica", []json.RawMessage{r.Object}, r.Object, r.Replicas)
	case interpreter.Retain:
		return m.changed(script.LuaScript, "Retain", []json.RawMessage{r.Object, r.Observed}, r.Object, r.Observed)
	case interpreter.Aggregate:
		statuses := make([]status, len(r.Members))
		for i, member := range r.Members {
			statuses[i] = status{member.Cluster, member.Status, member.Applied, member.Message, member.Health}
		}
		return m.changed(script.LuaScript, "AggregateStatus", nil, r.Object, statuses)
	}
	var (
		answer Answer
		err    error
	)
	switch r.Operation {
	case interpreter.Status:
		err = m.into(script.LuaScript, "ReflectStatus", r, &answer.Status)
	case interpreter.Dependencies:
		err = m.into(script.LuaScript, "GetDependencies", r, &answer.Dependencies)
	case interpreter.Components:
		err = m.into(script.LuaScript, "GetComponents", r, &answer.Components)
	}
	return answer, err
}

func (m *Machine) replicas(script string, r interpreter.Request) (Answer, error) {
	results, err := m.run(script, "GetReplicas", 2, r.Object)
	if err != nil {
		return Answer{}, err
	}
	number, ok := results[0].(luavm.LNumber)
	if !ok {
		return Answer{}, fmt.Errorf("the replicas are a %s", results[0].Type())
	}
	count := int32(number)
	answer := Answer{Response: interpreter.Response{Replicas: &count}}
	if results[1] == luavm.LNil {
		return answer, nil
	}
	raw, err := encode(results[1], nil)
	if err != nil {
		return Answer{}, err
	}
	answer.Requirements = &interpreter.Requirements{}
	return answer, json.Unmarshal(raw, answer.Requirements)
}

func (m *Machine) health(script string, r interpreter.Request) (Answer, error) {
	results, err := m.run(script, "InterpretHealth", 1, r.Object)
	if err != nil {
		return Answer{}, err
	}
	healthy, ok := results[0].(luavm.LBool)
	if !ok {
		return Answer{}, fmt.Errorf("the health is a %s", results[0].Type())
	}
	return Answer{Response: interpreter.Response{Healthy: new(bool(healthy))}}, nil
}

// changed runs a script that returns the object. The references tell for empty tables whether they are objects
// or lists.
func (m *Machine) changed(script, function string, references []json.RawMessage, arguments ...any) (Answer, error) {
	results, err := m.run(script, function, 1, arguments...)
	if err != nil {
		return Answer{}, err
	}
	raw, err := encode(results[0], references)
	return Answer{Object: raw}, err
}

// into runs a script that returns a table.
func (m *Machine) into(script, function string, r interpreter.Request, into any) error {
	results, err := m.run(script, function, 1, r.Object)
	if err != nil {
		return err
	}
	raw, err := encode(results[0], nil)
	if err != nil {
		return err
	}
	if _, list := into.(*json.RawMessage); list && string(raw) == "[]" {
		raw = []byte("{}")
	}
	return json.Unmarshal(raw, into)
}

// errNoTable means that a script did not return a table.
var errNoTable = errors.New("the script does not return a table")

// encode returns a table in JSON. In Lua, an empty table is neither object nor list: it gets its type from the
// references, or is omitted if they do not contain it.
func encode(value luavm.LValue, references []json.RawMessage) (json.RawMessage, error) {
	if value.Type() != luavm.LTTable {
		return nil, errNoTable
	}
	raw, err := luajson.Encode(value)
	if err != nil {
		return nil, err
	}
	var decoded any
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return nil, err
	}
	known := map[string]any{}
	for _, reference := range references {
		var came any
		if err := json.Unmarshal(reference, &came); err != nil {
			return nil, err
		}
		empties(came, nil, known)
	}
	return json.Marshal(restored(decoded, nil, known))
}

// empties collects the paths of empty objects and lists, without list indexes.
func empties(value any, path []string, known map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			known[strings.Join(path, "\x00")] = value
		}
		for key, member := range value {
			empties(member, slices.Concat(path, []string{key}), known)
		}
	case []any:
		if len(value) == 0 {
			known[strings.Join(path, "\x00")] = value
		}
		for _, item := range value {
			empties(item, path, known)
		}
	}
}

// restored returns the value with the types of empty tables restored.
func restored(value any, path []string, known map[string]any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			below := slices.Concat(path, []string{key})
			if list, ok := member.([]any); ok && len(list) == 0 {
				if came, ok := known[strings.Join(below, "\x00")]; ok {
					value[key] = came
				} else {
					delete(value, key)
				}
				continue
			}
			value[key] = restored(member, below, known)
		}
	case []any:
		for i, item := range value {
			value[i] = restored(item, path, known)
		}
	}
	return value
}

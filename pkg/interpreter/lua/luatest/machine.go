// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package luatest runs scripts as Karmada runs those of its customizations: with the libraries that are open there, the values that it hands over, and what
// it makes of a result. It is for tests and measurements, and holds no Graft of its own. Enter at Run.
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

// Limit is how long a script may take in Karmada (luavm.VM.RunScript).
const Limit = time.Second

// Answer is what a script gives. Object is that which was changed, as JSON; the Response holds everything else.
type Answer struct {
	interpreter.Response
	Object json.RawMessage
}

// Machine is a state of Lua as Karmada makes it. It is for one goroutine, and keeps globals from one script to the next, as there.
type Machine struct {
	// Keep keeps scripts compiled, which Karmada does not: it compiles them for each question.
	Keep bool
	// Limit ends a script that takes longer; 0: as long as it likes, so that no test depends on how fast the machine is.
	Limit time.Duration
	state *luavm.LState
	kept  map[string]*luavm.LFunction
}

// closed are functions of the base library that fail there, and of the string library.
var (
	closedFunctions = []string{
		"collectgarbage", "dofile", "getfenv", "getmetatable", "load", "loadfile", "loadstring", "rawequal", "rawget", "rawset", "setfenv", "setmetatable",
		"module", "newproxy",
	}
	closedOfStrings = []string{"gsub", "rep", "dump"}
)

// New makes a machine. It must be closed.
func New() (*Machine, error) {
	state := luavm.NewState(luavm.Options{SkipOpenLibs: true})
	for name, open := range map[string]luavm.LGFunction{
		luavm.LoadLibName: luavm.OpenPackage, luavm.BaseLibName: luavm.OpenBase, luavm.TabLibName: luavm.OpenTable, luavm.StringLibName: luavm.OpenString,
		luavm.MathLibName: luavm.OpenMath,
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

// Close ends the machine.
func (m *Machine) Close() { m.state.Close() }

func closed(l *luavm.LState) int {
	l.RaiseError("this function is not open in Karmada")
	return 0
}

// resourceAdd adds quantities up. One that is none ends in a panic there, too.
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

// load makes the functions of a script known.
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

// Answer runs the script of a customization that answers a request.
func (m *Machine) Answer(c *lua.Customizations, r interpreter.Request) (Answer, error) {
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

// changed runs a script that gives the object back. What is empty in it is an object or a list where one of the references says which.
func (m *Machine) changed(script, function string, references []json.RawMessage, arguments ...any) (Answer, error) {
	results, err := m.run(script, function, 1, arguments...)
	if err != nil {
		return Answer{}, err
	}
	raw, err := encode(results[0], references)
	return Answer{Object: raw}, err
}

// into runs a script that gives a table.
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

// errNoTable says that a script gives something else than a table.
var errNoTable = errors.New("what the script gives is no table")

// encode writes a table as JSON. What is empty has lost whether it was an object or a list: it becomes again what it is in the references, and is left out
// where it is in none.
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

// empties are the paths at which something empty stands; positions in lists are left out.
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

// restored is a value with what is empty in it as it was.
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

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// expression writes CEL as a value of a profile.
func expression(cel string) string { return "${ " + cel + " }" }

// when writes conditions as a value of a profile; "" for none.
func when(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return expression(strings.Join(conditions, " && "))
}

// replicas converts GetReplicas: a number, and the requirements of a Pod template.
func (s *script) replicas(out *rules) error {
	s.returned = func(conditions []string, values []value) error {
		if len(values) == 0 || values[0].or("0") == "" {
			return errors.New("the number of replicas is not found")
		}
		converted := documentRule{When: when(conditions), Count: expression(values[0].or("0"))}
		if len(values) > 1 && len(values[1].template) > 0 {
			spec := optional(values[1].template) + ".?spec"
			converted.Requirements = &requirements{
				ResourceRequest:   expression(spec + ".?containers[?0].?resources.?requests.orValue(null)"),
				PriorityClassName: expression(spec + ".?priorityClassName.orValue(null)"),
				NodeClaim: map[string]string{
					"nodeSelector": expression(spec + ".?nodeSelector.orValue(null)"), "tolerations": expression(spec + ".?tolerations.orValue(null)"),
				},
			}
		}
		out.Replicas = append(out.Replicas, converted)
		return nil
	}
	return s.follow(s.body, nil)
}

// revise converts ReviseReplica: fields that get the number of replicas.
func (s *script) revise(out *rules) error {
	s.assigned = func(conditions []string, to, what value) error {
		cel := what.or("0")
		if to.path[0] != "object" || cel == "" {
			return errors.New("this assignment")
		}
		set := map[string]string{strings.Join(to.path[1:], "."): expression(cel)}
		out.Revise = append(out.Revise, documentRule{When: when(conditions), Set: set})
		return nil
	}
	return s.follow(s.body, nil)
}

// retain converts Retain: fields that are copied from the observed object.
func (s *script) retain(out *rules) error {
	s.guards = "observed"
	s.assigned = func(conditions []string, to, what value) error {
		if to.path[0] != "object" || len(what.path) < 2 || what.path[0] != "observed" || !slices.Equal(to.path[1:], what.path[1:]) {
			return errors.New("a field that is not copied as it is")
		}
		out.Retain = append(out.Retain, documentRule{When: when(conditions), Fields: []string{strings.Join(to.path[1:], ".")}})
		return nil
	}
	return s.follow(s.body, nil)
}

// status converts ReflectStatus: the status as a whole, or fields that are copied into a table.
func (s *script) status(out *rules) error {
	var keep []string
	s.guards = "object"
	s.assigned = func(conditions []string, to, what value) error {
		if to.path[0] != "table" || len(conditions) > 0 || len(what.path) < 3 || !slices.Equal(what.path[:2], []string{"object", "status"}) ||
			!slices.Equal(what.path[2:], to.path[1:]) {
			return errors.New("a field that is not copied as it is")
		}
		keep = append(keep, strings.Join(to.path[1:], "."))
		return nil
	}
	s.returned = func(_ []string, values []value) error {
		switch {
		case len(values) != 1:
			return errors.New("the status is not found")
		case slices.Equal(values[0].path, []string{"object", "status"}):
			out.Status = []documentRule{{}}
		case values[0].table && len(keep) > 0:
			out.Status = []documentRule{{Keep: keep}}
		case values[0].cel != "null" && !values[0].table:
			return errors.New("the status is computed")
		}
		return nil
	}
	return s.follow(s.body, nil)
}

// health converts InterpretHealth: the values that are returned under conditions on an object and on the items
// of lists.
func (s *script) health(out *rules) error {
	s.returned = func(conditions []string, values []value) error {
		if len(values) != 1 {
			return errors.New("the health is not found")
		}
		healthy := values[0].cel
		if len(values[0].path) > 1 {
			healthy = values[0].or("false") + " == true"
		}
		if healthy == "" || healthy == "null" {
			return errors.New("the health is not found")
		}
		out.Health = append(out.Health, documentRule{When: when(conditions), Healthy: expression(healthy)})
		return nil
	}
	return s.follow(s.body, nil)
}

// loop converts a loop over the items of a list if all its returns, or all its assignments to one variable,
// have the same value.
func (s *script) loop(statement ast.Stmt, conditions []string) error {
	inner := &script{locals: maps.Clone(s.locals)}
	list, body, err := s.over(statement, inner.locals)
	if err != nil {
		return err
	}
	var (
		some             []string
		variable, result string
	)
	inner.set = func(conditions []string, name string, v value) error {
		switch {
		case len(some) > 0 && name != variable:
			return errors.New("a loop with several variables")
		case len(conditions) == 0 || len(some) > 0 && v.cel != result:
			return errors.New("a loop with several results")
		}
		some, variable, result = append(some, "("+strings.Join(conditions, " && ")+")"), name, v.cel
		return nil
	}
	inner.returned = func(conditions []string, values []value) error {
		if len(values) != 1 {
			return errors.New("a loop with several results")
		}
		return inner.set(conditions, "", values[0])
	}
	if err := inner.follow(body, nil); err != nil {
		if _, ok := errors.AsType[unsupported](err); ok {
			return err
		}
		return unsupported{statement.Line(), err.Error()}
	}
	if len(some) == 0 {
		return nil
	}
	exists := list + ".orValue([]).exists(item, " + strings.Join(some, " || ") + ")"
	if variable == "" {
		return s.returned(slices.Concat(conditions, []string{exists}), []value{{cel: result}})
	}
	switch before := s.locals[variable].cel; {
	case len(conditions) > 0:
		return unsupported{statement.Line(), "a variable that is set in some cases only"}
	case before == "false" && result == "true":
		s.locals[variable] = value{cel: exists}
	case before == "true" && result == "false":
		s.locals[variable] = value{cel: "!" + exists}
	default:
		return unsupported{statement.Line(), "a variable that is no flag"}
	}
	return nil
}

// over finds the list of a loop and its body. It sets the loop variable: the index of for i = 1, #list, or the item of
// for _, item in ipairs(list).
func (s *script) over(statement ast.Stmt, locals map[string]value) (list string, body []ast.Stmt, err error) {
	var (
		of   ast.Expr
		name string
		item value
	)
	switch statement := statement.(type) {
	case *ast.NumberForStmt:
		from, one := statement.Init.(*ast.NumberExpr)
		length, ok := statement.Limit.(*ast.UnaryLenOpExpr)
		if one && ok && from.Value == "1" && statement.Step == nil {
			of, name, body = length.Expr, statement.Name, statement.Stmts
		}
	case *ast.GenericForStmt:
		if len(statement.Names) == 2 && len(statement.Exprs) == 1 {
			call, ok := statement.Exprs[0].(*ast.FuncCallExpr)
			if ok && len(call.Args) == 1 && slices.Contains([]string{"pairs", "ipairs"}, callee(call)) {
				of, name, body, item.path = call.Args[0], statement.Names[1], statement.Stmts, []string{"item"}
			}
		}
	}
	if of == nil || s.set != nil { // loops in loops are not converted
		return "", nil, unsupported{statement.Line(), "this loop"}
	}
	v, err := s.value(of)
	if err != nil || len(v.path) < 2 {
		return "", nil, unsupported{statement.Line(), "a loop over no field"}
	}
	if len(item.path) == 0 {
		item.cel = optional(v.path) // s.field recognizes an item of this list by the index variable
	}
	locals[name] = item
	return optional(v.path), body, nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// check is what must hold of the values at a path. Types do not say it, and the API server, or a component when it starts, does.
type check struct {
	// path leads to the values: keys with dots between them, [] for the items of a list, {} for the values of a mapping. Empty: the value itself.
	path  string
	judge judge
}

// judge finds what is wrong with a value that is known when the profile is loaded; at is its field.
type judge func(n source.Node, at string) source.Findings

// below are the checks of what stands below each of some paths.
func below(checks []check, paths ...string) []check {
	var all []check
	for _, path := range paths {
		for _, c := range checks {
			all = append(all, check{strings.TrimSuffix(path+"."+c.path, "."), c.judge})
		}
	}
	return all
}

// hold finds what does not hold in a value. What is computed is left out.
func hold(checks []check, n source.Node, at string) source.Findings {
	var findings source.Findings
	for _, c := range checks {
		visit(n, at, c.path, func(n source.Node, at string) { findings = append(findings, c.judge(n, at)...) })
	}
	return findings
}

// visit calls a function with each value at a path that is there and not computed.
func visit(n source.Node, at, path string, do func(n source.Node, at string)) {
	if n.Absent() || isComputed(n) {
		return
	}
	if path == "" {
		do(n, at)
		return
	}
	if rest, ok := strings.CutPrefix(path, "[]"); ok {
		for i, item := range n.Items() {
			visit(item, fmt.Sprintf("%s[%d]", at, i), strings.TrimPrefix(rest, "."), do)
		}
		return
	}
	if rest, ok := strings.CutPrefix(path, "{}"); ok {
		for _, field := range n.Fields() {
			visit(field.Value, at+"."+field.Key.Value, strings.TrimPrefix(rest, "."), do)
		}
		return
	}
	end := strings.IndexAny(path, ".[{")
	if end < 0 {
		end = len(path)
	}
	visit(n.Get(path[:end]), at+"."+path[:end], strings.TrimPrefix(path[end:], "."), do)
}

// isComputed says whether a scalar may hold an expression.
func isComputed(n source.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!str" && strings.Contains(n.Value, "${")
}

// wrong is a finding of a value, unless there is nothing to say.
func wrong(n source.Node, at string, rule source.Rule, problems ...string) source.Findings {
	if len(problems) == 0 {
		return nil
	}
	value := n.Value
	if n.Tag == "!!str" {
		value = strconv.Quote(value)
	}
	return source.Findings{n.Finding(at, "%s, is %s", strings.Join(problems, "; "), value).Of(rule)}
}

// oneOf holds that a value is one of several words.
func oneOf[T ~string](words ...T) judge {
	known := make([]string, len(words))
	for i, word := range words {
		known[i] = string(word)
	}
	return func(n source.Node, at string) source.Findings {
		if n.Kind != yaml.ScalarNode || slices.Contains(known, n.Value) {
			return nil
		}
		return source.Findings{n.Finding(at, "must be one of %s, is %q", strings.Join(known, ", "), n.Value).Of(source.WrongValue).Instead(n, known)}
	}
}

// integer holds what is to be held of a number; of what is none, types say it.
func integer(problems func(int) []string) judge {
	return func(n source.Node, at string) source.Findings {
		var value int
		if n.Kind == yaml.ScalarNode && n.Tag == "!!int" && n.Decode(&value) == nil {
			return wrong(n, at, source.WrongValue, problems(value)...)
		}
		return nil
	}
}

// between holds that a number is in a range, both ends among it.
func between(least, most int) judge {
	return integer(func(value int) []string { return validation.IsInRange(value, least, most) })
}

// atLeast holds that a number is not too small.
func atLeast(least int) judge {
	return integer(func(value int) []string {
		if value < least {
			return []string{fmt.Sprintf("must be %d or more", least)}
		}
		return nil
	})
}

// named holds that a text is written as names in its place are.
func named(problems func(string) []string) judge {
	return func(n source.Node, at string) source.Findings {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
			return nil
		}
		return wrong(n, at, source.InvalidName, problems(n.Value)...)
	}
}

// needs holds that a mapping has members.
func needs(members ...string) judge {
	return func(n source.Node, at string) source.Findings {
		if n.Kind != yaml.MappingNode {
			return nil
		}
		var findings source.Findings
		for _, member := range members {
			if value := n.Get(member); value.Absent() || value.Kind == yaml.ScalarNode && value.Value == "" {
				findings = append(findings, n.Finding(at+"."+member, "is missing").Of(source.MissingField))
			}
		}
		return findings
	}
}

// exactlyOne holds that a mapping has one of its members and no other of them.
func exactlyOne(members ...string) judge {
	return func(n source.Node, at string) source.Findings {
		if n.Kind != yaml.MappingNode {
			return nil
		}
		has := 0
		for _, member := range members {
			switch value := n.Get(member); {
			case value.Absent():
			case isComputed(value):
				return nil // it may be null
			default:
				has++
			}
		}
		if has == 1 {
			return nil
		}
		return source.Findings{n.Finding(at, "exactly one of %s is needed", strings.Join(members, ", ")).Of(source.ExclusiveFields)}
	}
}

// notBelowZero holds that a quantity is not negative.
func notBelowZero(n source.Node, at string) source.Findings {
	if quantity, err := resource.ParseQuantity(n.Value); err == nil && n.Kind == yaml.ScalarNode && quantity.Sign() < 0 {
		return wrong(n, at, source.WrongValue, "must not be negative")
	}
	return nil
}

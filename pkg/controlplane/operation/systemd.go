// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// escape writes values so that systemd reads them back. The zero value writes them as they are.
type escape struct {
	// computed escapes the result of an expression, given the text before it.
	computed func(before, computed string) (string, error)
	// whole escapes the text as a whole; nil: it stays.
	whole func(string) string
}

// text evaluates a template.
func (e escape) text(ctx context.Context, t *expression.Template, variables Variables) (string, error) {
	if e.computed == nil {
		return t.String(ctx, variables)
	}
	text, err := t.Escaped(ctx, variables, e.computed)
	if err != nil || e.whole == nil {
		return text, err
	}
	return e.whole(text), nil
}

// escaped returns the value with an escape; a constant is escaped at once.
func (v Value) escaped(e escape) Value {
	if v.constant == nil {
		v.escape = e
		return v
	}
	if e.whole != nil {
		constant := *v.constant
		constant.Texts = make([]string, len(v.constant.Texts))
		for i, text := range v.constant.Texts {
			constant.Texts[i] = e.whole(text)
		}
		v.constant = &constant
	}
	return v
}

// computedDollar stands for a dollar sign from an expression until the whole is escaped.
const computedDollar = "\x00"

var dollar = regexp.MustCompile(`\$(\{[a-zA-Z_][a-zA-Z0-9_]*\})?`)

// inCommand escapes the value of a kubelet's flag: the kubelet is given what the profile says. Only ${NAME}, which a profile writes
// as $${NAME}, stays a variable of the unit.
var inCommand = escape{
	computed: func(_, computed string) (string, error) {
		return strings.ReplaceAll(computed, "$", computedDollar), nil
	},
	whole: func(text string) string {
		text = dollar.ReplaceAllStringFunc(text, func(match string) string {
			if match == "$" {
				return "$$"
			}
			return match
		})
		return strings.NewReplacer("%", "%%", computedDollar, "$$").Replace(text)
	},
}

var errLineBreak = errors.New("the value has a line break, behind which it would be another line of the unit")

// execLine is a text that ends in a command of a unit, with the lines that continue it.
var execLine = regexp.MustCompile(`(?:^|[\r\n])[ \t]*Exec[A-Za-z]*[ \t]*=(?:\\\r?\n|[^\r\n])*$`)

// inUnitText escapes the results of expressions in the text of a unit or a drop-in, behind its first section. An expression before it
// gives the text itself.
var inUnitText = escape{computed: func(before, computed string) (string, error) {
	if !begun.MatchString(before) {
		return computed, nil
	}
	return unitValue(computed, execLine.MatchString(before))
}}

// inOption escapes the results of expressions in the value of an option.
func inOption(option string) escape {
	return escape{computed: func(_, computed string) (string, error) {
		return unitValue(computed, strings.HasPrefix(option, "Exec"))
	}}
}

// unitValue escapes a part of a value; in commands, a dollar sign begins a variable.
func unitValue(computed string, command bool) (string, error) {
	if strings.ContainsAny(computed, "\r\n") {
		return "", errLineBreak
	}
	computed = strings.ReplaceAll(computed, "%", "%%")
	if command {
		computed = strings.ReplaceAll(computed, "$", "$$")
	}
	return computed, nil
}

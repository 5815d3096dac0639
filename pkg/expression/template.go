// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Piece is a part of a template: literal text, or a checked CEL expression.
type Piece struct {
	Literal string
	// Syntax is nil for text.
	Syntax *ast.AST
}

// Syntax returns the checked syntax tree of the condition for a translation to another language. It must not be
// changed.
func (x *Expression) Syntax() *ast.AST { return x.program.ast.NativeRep() }

// Pieces returns the parts of the template in their order. They must not be changed.
func (t *Template) Pieces() []Piece {
	pieces := make([]Piece, len(t.parts))
	for i, part := range t.parts {
		pieces[i].Literal = part.literal
		if part.program != nil {
			pieces[i].Syntax = part.program.ast.NativeRep()
		}
	}
	return pieces
}

// Whole reports whether the template consists of one expression, so that its result has the type of the expression.
func (t *Template) Whole() bool { return t.whole != nil }

// References returns the variables and fields that the condition uses, as dotted paths, sorted.
func (x *Expression) References() []string { return slices.Clone(x.program.references) }

// Constant reports whether the condition uses no variables.
func (x *Expression) Constant() bool { return x.program.value != nil }

// Constant reports whether the template uses no variables.
func (t *Template) Constant() bool { return t.value != nil }

// Takes sets the expected type of a result with an unknown type, for messages.
func (t *Template) Takes(wanted *cel.Type) {
	if t.whole != nil {
		t.whole.takes = wanted
	}
}

// Type returns the type of the result: that of the expression if the template consists of one expression, or else
// string.
func (t *Template) Type() *cel.Type {
	if t.whole != nil {
		return t.whole.result
	}
	return cel.StringType
}

// Size returns the estimated size of the result.
func (t *Template) Size() Size {
	if t.whole != nil {
		return t.whole.size
	}
	size := Size{Item: 1}
	for _, part := range t.parts {
		size.Length += uint64(len(part.literal))
		if part.program != nil {
			size.Length += part.program.size.Length
		}
	}
	return size
}

// Evaluate computes the result. It ends with the context's error soon after the context does.
func (t *Template) Evaluate(ctx context.Context, vars interpreter.Activation) (ref.Val, error) {
	switch {
	case t.value != nil:
		return t.value, nil
	case t.whole != nil:
		return t.whole.evaluate(ctx, vars)
	}
	text, err := t.join(ctx, vars)
	if err != nil {
		return nil, err
	}
	return types.String(text), nil
}

func (t *Template) join(ctx context.Context, vars interpreter.Activation) (string, error) {
	return t.write(ctx, vars, func(_ *program, _, computed string) (string, error) { return computed, nil })
}

// Escaped works like String, but escapes each computed part with escape, which also receives the text before it;
// constant text stays unchanged. It also fails if escape does.
func (t *Template) Escaped(ctx context.Context, vars interpreter.Activation, escape func(before, computed string) (string, error)) (string, error) {
	return t.write(ctx, vars, func(_ *program, before, computed string) (string, error) { return escape(before, computed) })
}

// write writes the parts of a text. put writes each computed part, and also receives the text before it.
func (t *Template) write(ctx context.Context, vars interpreter.Activation, put func(p *program, before, computed string) (string, error)) (string, error) {
	var text strings.Builder
	for _, part := range t.parts {
		if part.program == nil {
			text.WriteString(part.literal)
			continue
		}
		value, err := part.program.text(ctx, vars)
		if err != nil {
			return "", err
		}
		escaped, err := put(part.program, text.String(), value)
		if err != nil {
			return "", part.program.failed(err.Error())
		}
		if text.Len()+len(escaped) > maximumValue {
			return "", part.program.exceeds(errTooLarge)
		}
		text.WriteString(escaped)
	}
	return text.String(), t.charge(ctx, text.Len())
}

// charge counts a text or JSON that is made of the template.
func (t *Template) charge(ctx context.Context, size int) error {
	for _, part := range t.parts {
		if part.program != nil {
			return part.program.charge(ctx, size)
		}
	}
	return nil
}

// String computes the result as text: strings, bool, numbers, versions, quantities, addresses and times. Lists, maps
// and null are an error.
func (t *Template) String(ctx context.Context, vars interpreter.Activation) (string, error) {
	if t.value == nil && t.whole != nil {
		text, err := t.whole.text(ctx, vars)
		if err != nil {
			return "", err
		}
		return text, t.whole.charge(ctx, len(text))
	}
	value, err := t.Evaluate(ctx, vars)
	if err != nil {
		return "", err
	}
	if s, ok := value.(types.String); ok {
		return string(s), nil
	}
	return t.whole.textOf(value)
}

// JSON computes the result as JSON with sorted keys; see JSON for how values are written. It fails if an expression
// fails, the result is not JSON, or a limit is exceeded.
func (t *Template) JSON(ctx context.Context, vars interpreter.Activation) ([]byte, error) {
	value, err := t.Evaluate(ctx, vars)
	if err != nil {
		return nil, err
	}
	raw, err := JSON(value)
	if ExceedsLimit(err) {
		return nil, t.whole.exceeds(err)
	}
	if err != nil {
		return nil, t.whole.failed(err.Error())
	}
	return raw, t.charge(ctx, len(raw))
}

// References returns the variables and fields that the template uses, as dotted paths such as shoot.networking.type,
// sorted. A path ends at a function call or a computed index.
func (t *Template) References() []string {
	var all []string
	for _, part := range t.parts {
		if part.program != nil {
			all = append(all, part.program.references...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Certain returns the References without those that are not always evaluated, such as branches of a condition.
func (t *Template) Certain() []string {
	var all []string
	for _, part := range t.parts {
		if part.program != nil {
			i := inspector{variables: part.program.environment.variables, certain: true}
			i.visit(part.program.ast.NativeRep().Expr())
			all = append(all, i.references...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// partsOf compiles the parts of the program once.
func (p *program) partsOf() (*node, error) {
	p.explaining.Do(func() { p.parts, p.partsError = p.compileParts() })
	return p.parts, p.partsError
}

// compileParts compiles the expression once more, so that it can be written part by part as it was: with its macros.
func (p *program) compileParts() (*node, error) {
	env, err := p.environment.written()
	if err != nil {
		return nil, fmt.Errorf("explaining the expression: %w", err)
	}
	compiled, issues := env.Compile(p.expressionText())
	if issues.Err() != nil {
		return nil, fmt.Errorf("explaining the expression: %w", issues.Err())
	}
	whole := p.shell()
	whole.ast = compiled
	c := partsCompiler{whole: whole, env: env, native: compiled.NativeRep(), variables: p.environment.variables}
	root, err := c.node(c.native.Expr())
	if err != nil {
		return nil, fmt.Errorf("explaining the expression: %w", err)
	}
	return root, nil
}

type partsCompiler struct {
	whole  *program
	env    *cel.Env
	native *ast.AST
	// variables are those of the environment, and those of the macros around the part.
	variables map[string]Variable
	items     []string
}

// node compiles a part and those below it.
func (c *partsCompiler) node(e ast.Expr) (*node, error) {
	text, err := parser.Unparse(e, c.native.SourceInfo(), parser.WrapOnColumn(math.MaxInt))
	if err != nil {
		return nil, err
	}
	p := c.whole.shell()
	p.result = c.native.GetType(e.ID())
	p.references, p.every = inspect(c.variables, e)
	part := ast.NewCheckedAST(ast.NewAST(e, c.native.SourceInfo()), c.native.TypeMap(), c.native.ReferenceMap())
	if p.run, err = planProgram(p, c.env, part); err != nil {
		return nil, err
	}
	n := &node{text: text, position: startOfNode(c.whole, e), program: p, items: c.items}
	for _, inner := range c.below(e, n) {
		below, err := c.node(inner)
		if err != nil {
			return nil, err
		}
		n.below = append(n.below, below)
	}
	n.each, err = c.each(e)
	return n, err
}

// below returns the non-constant parts that contributed to the value of a part, and describes how for && || and ?:.
func (c *partsCompiler) below(e ast.Expr, n *node) []ast.Expr {
	switch {
	case c.isChain(e):
		return nil
	case c.asks(e):
		return c.varying([]ast.Expr{e.AsComprehension().IterRange()})
	case c.isMacro(e):
		return c.paths(e)
	case e.Kind() != ast.CallKind:
		return c.varying(c.operands(e))
	}
	call := e.AsCall()
	switch call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr:
		n.absorbing = absorbing(call.FunctionName())
		return c.joined(e, call.FunctionName())
	case operators.Conditional:
		n.branches = true
		return call.Args()
	case operators.LogicalNot:
		return c.varying(call.Args())
	}
	operands := c.varying(c.operands(e))
	if c.isBool(e) {
		return operands
	}
	// For a comparison, only the variables of computed operands are shown.
	var leaves []ast.Expr
	for _, operand := range operands {
		leaves = append(leaves, c.leaves(operand)...)
	}
	return c.once(leaves)
}

// joined returns the operands of a chain of && or ||, which is a tree in CEL, in their order. It keeps constants,
// because they may be decisive.
func (c *partsCompiler) joined(e ast.Expr, function string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != function {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, operand := range e.AsCall().Args() {
		all = append(all, c.joined(operand, function)...)
	}
	return all
}

// leaves returns the variables in a part, and its conditions as wholes.
func (c *partsCompiler) leaves(e ast.Expr) []ast.Expr {
	if c.isChain(e) || c.isMacro(e) || c.isBool(e) {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, operand := range c.varying(c.operands(e)) {
		all = append(all, c.leaves(operand)...)
	}
	return all
}

// operands returns the direct operands of a part.
func (c *partsCompiler) operands(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			return append([]ast.Expr{e.AsCall().Target()}, e.AsCall().Args()...)
		}
		return e.AsCall().Args()
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var all []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			all = append(all, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return all
	}
	return nil
}

// paths returns the variables of a comprehension without its own.
func (c *partsCompiler) paths(e ast.Expr) []ast.Expr {
	i := inspector{variables: c.variables, found: &[]ast.Expr{}}
	i.visit(e)
	return c.once(*i.found)
}

// varying omits constants and parts that are already included.
func (c *partsCompiler) varying(all []ast.Expr) []ast.Expr {
	return c.once(slices.DeleteFunc(slices.Clone(all), func(e ast.Expr) bool {
		references, _ := inspect(c.variables, e)
		return len(references) == 0
	}))
}

// once leaves out parts that are written like an earlier one.
func (c *partsCompiler) once(all []ast.Expr) []ast.Expr {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(e ast.Expr) bool {
		text, err := parser.Unparse(e, c.native.SourceInfo(), parser.WrapOnColumn(math.MaxInt))
		double := err == nil && seen[text]
		seen[text] = true
		return double
	})
}

// isMacro reports whether a part was written as a macro with its own variables, such as exists.
func (c *partsCompiler) isMacro(e ast.Expr) bool {
	_, ok := c.native.SourceInfo().GetMacroCall(e.ID())
	return ok || e.Kind() == ast.ComprehensionKind
}

func (c *partsCompiler) isBool(e ast.Expr) bool {
	t := c.native.GetType(e.ID())
	return t != nil && t.IsExactType(cel.BoolType)
}

// isChain reports whether a part is a variable followed by fields and constant keys, possibly with a default.
func (c *partsCompiler) isChain(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return true
	case ast.SelectKind:
		return c.isChain(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect, operators.Index, operators.OptIndex:
			return call.Args()[1].Kind() == ast.LiteralKind && c.isChain(call.Args()[0])
		case "orValue", "hasValue", "value":
			return call.IsMemberFunction() && c.isChain(call.Target()) && len(c.varying(call.Args())) == 0 &&
				c.native.GetType(call.Target().ID()).TypeName() == types.OptionalType.TypeName()
		}
	}
	return false
}

// startOfNode returns the position of a part.
func startOfNode(p *program, e ast.Expr) source.Position {
	text, first := p.expressionText(), -1
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(inner ast.Expr) {
		at := p.ast.NativeRep().SourceInfo().GetStartLocation(inner.ID())
		if at.Line() == 0 {
			return
		}
		offset := offsetOf(text, at)
		if offset < len(text) && text[offset] == '(' {
			offset = callBefore(text, offset)
		}
		if first < 0 || offset < first {
			first = offset
		}
	}))
	if first < 0 {
		return p.origin.position(p.offset)
	}
	return p.origin.position(p.offset - leadingSpace(text) + first)
}

// callBefore moves from the parenthesis of a call to the beginning of its name, which may have a dot in it.
func callBefore(text string, offset int) int {
	before := nameBefore(text, offset)
	if before > 0 && before < offset && text[before-1] == '.' {
		return nameBefore(text, before-1)
	}
	return before
}

// Explain evaluates the condition as Bool does and returns the values of all its parts. It compiles the parts on first
// use. It fails if a part does not compile; one that cannot be evaluated is a Term with Failed.
func (x *Expression) Explain(ctx context.Context, vars interpreter.Activation) (Term, error) {
	term, err := x.program.explainTerms(ctx, vars)
	if err != nil || term.Value == nil {
		return term, err
	}
	if _, ok := term.Value.(types.Bool); !ok {
		term.Failed = x.program.failed("a condition must be bool, is " + term.Value.Type().TypeName())
		term.Value = nil
	}
	return term, nil
}

// explainTerms evaluates a program with its parts.
func (p *program) explainTerms(ctx context.Context, vars interpreter.Activation) (Term, error) {
	root, err := p.partsOf()
	if err != nil {
		return Term{}, err
	}
	return root.evaluate(ctx, vars), nil
}

// evaluate computes the part and then those below it, as far as the evaluation of the whole had to.
func (n *node) evaluate(ctx context.Context, vars interpreter.Activation) Term {
	term := n.term()
	term.Value, term.Failed = n.program.evaluate(ctx, vars)
	if term.Failed != nil {
		term.Value = nil
	}
	decided := false
	for i, below := range n.below {
		if decided || n.branches && i > 0 && !n.takes(term.Terms[0], i) {
			term.Terms = append(term.Terms, below.skipped())
			continue
		}
		inner := below.evaluate(ctx, vars)
		term.Terms = append(term.Terms, inner)
		decided = n.absorbing != nil && inner.Value == n.absorbing
	}
	if n.each != nil {
		term.Each, term.More = n.each.evaluate(ctx, vars)
	}
	return term
}

// takes reports whether the condition of a ?: selects the given branch.
func (n *node) takes(condition Term, branch int) bool {
	return condition.Value == types.Bool(branch == 1)
}

func (n *node) term() Term {
	return Term{Text: n.text, Position: n.position, References: n.program.references, Items: n.items}
}

// skipped returns the part as not evaluated, without the parts below it.
func (n *node) skipped() Term {
	term := n.term()
	term.Skipped = true
	return term
}

// mostItems limits the items that are explained.
const mostItems = 8

// asked lists the macros that test each item, with the result of a test that decides them.
var asked = map[string]ref.Val{"exists": types.True, "all": types.False, "exists_one": nil, "existsOne": nil}

// asks reports whether a part is such a macro over items, and not over keys with values.
func (c *partsCompiler) asks(e ast.Expr) bool {
	written, ok := c.native.SourceInfo().GetMacroCall(e.ID())
	if !ok || e.Kind() != ast.ComprehensionKind || written.Kind() != ast.CallKind {
		return false
	}
	_, ok = asked[written.AsCall().FunctionName()]
	return ok && !e.AsComprehension().HasIterVar2() && e.AsComprehension().LoopStep().Kind() == ast.CallKind
}

// each compiles the test of a macro, or returns nil for any other part.
func (c *partsCompiler) each(e ast.Expr) (*each, error) {
	if !c.asks(e) {
		return nil, nil
	}
	written, _ := c.native.SourceInfo().GetMacroCall(e.ID())
	decides, loop := asked[written.AsCall().FunctionName()], e.AsComprehension()
	// exists is accu || condition, all is accu && condition, and exists_one is condition ? accu + 1 : accu.
	condition := loop.LoopStep().AsCall().Args()[0]
	if decides != nil {
		condition = loop.LoopStep().AsCall().Args()[1]
	}
	of, err := c.node(loop.IterRange())
	if err != nil {
		return nil, err
	}
	inner := *c
	inner.variables = maps.Clone(c.variables)
	inner.variables[loop.IterVar()] = Variable{Name: loop.IterVar(), Type: cel.DynType}
	inner.items = slices.Concat(c.items, of.program.references)
	asks, err := inner.node(condition)
	return &each{variable: loop.IterVar(), of: of, condition: asks, decides: decides}, err
}

// evaluate explains the condition for each item, up to the deciding one; more counts the omitted items.
func (a *each) evaluate(ctx context.Context, vars interpreter.Activation) (terms []Term, more int) {
	value, err := a.of.program.evaluate(ctx, vars)
	if err != nil {
		return nil, 0
	}
	iterable, ok := value.(traits.Iterable)
	if !ok {
		return nil, 0
	}
	for it := iterable.Iterator(); it.HasNext() == types.True; {
		item := it.Next()
		term := a.condition.evaluate(ctx, &local{Activation: vars, name: a.variable, value: item})
		term.Item = item
		decided := a.decides != nil && term.Value == a.decides
		if len(terms) < mostItems || decided {
			terms = append(terms, term)
		} else {
			more++
		}
		if decided {
			break
		}
	}
	return terms, more
}

// local binds the variable of a macro.
type local struct {
	interpreter.Activation
	name  string
	value ref.Val
}

// ResolveName implements interpreter.Activation.
func (l *local) ResolveName(name string) (any, bool) {
	if name == l.name {
		return l.value, true
	}
	return l.Activation.ResolveName(name)
}

// With returns the text with each expression replaced by a sample, for checks of texts before their values are known.
func (t *Template) With(sample string) string {
	var text strings.Builder
	for _, part := range t.parts {
		if part.program == nil {
			text.WriteString(part.literal)
			continue
		}
		text.WriteString(sample)
	}
	return text.String()
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/Masterminds/semver/v3"
	blang "github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// ownFunctions declares Graft's functions in addition to Kubernetes' CEL.
func ownFunctions() []cel.EnvOption {
	return []cel.EnvOption{
		constraintFunction(),
		textFunction("base64.encode", func(data []byte) ref.Val {
			return types.String(base64.StdEncoding.EncodeToString(data))
		}),
		textFunction("sha256", func(data []byte) ref.Val {
			sum := sha256.Sum256(data)
			return types.String(hex.EncodeToString(sum[:]))
		}),
		cel.Function("base64.decode",
			cel.Overload("graft_base64_decode_string", []*cel.Type{cel.StringType}, cel.BytesType, cel.UnaryBinding(decodeBase64))),
		cel.Function("quote", cel.Overload("graft_quote_string", []*cel.Type{cel.StringType}, cel.StringType, cel.UnaryBinding(quote))),
		cel.Function("toJSON", cel.Overload("graft_to_json_dyn", []*cel.Type{cel.DynType}, cel.StringType, cel.UnaryBinding(toJSON))),
		cel.Function("toYAML", cel.Overload("graft_to_yaml_dyn", []*cel.Type{cel.DynType}, cel.StringType, cel.UnaryBinding(toYAML))),
	}
}

// textFunction declares a function of a string or of bytes that returns a string.
func textFunction(name string, f func([]byte) ref.Val) cel.EnvOption {
	return cel.Function(name,
		cel.Overload("graft_"+name+"_string", []*cel.Type{cel.StringType}, cel.StringType),
		cel.Overload("graft_"+name+"_bytes", []*cel.Type{cel.BytesType}, cel.StringType),
		cel.SingletonUnaryBinding(func(argument ref.Val) ref.Val {
			switch v := argument.(type) {
			case types.String:
				return f([]byte(v))
			case types.Bytes:
				return f(v)
			}
			return types.MaybeNoSuchOverloadErr(argument)
		}),
	)
}

func decodeBase64(argument ref.Val) ref.Val {
	text, ok := argument.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(argument)
	}
	data, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return types.WrapErr(safeError("base64.decode: not base64"))
	}
	return types.Bytes(data)
}

// quote writes a string as Go's %q does: in double quotes, with backslashes before quotes and control characters.
func quote(argument ref.Val) ref.Val {
	text, ok := argument.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(argument)
	}
	return types.String(strconv.Quote(string(text)))
}

func toJSON(argument ref.Val) ref.Val {
	raw, err := JSON(argument)
	if err != nil {
		return types.WrapErr(safeError("toJSON: " + err.Error()))
	}
	return types.String(raw)
}

// yamlFactor is the memory for writing a value as YAML, in multiples of its size.
const yamlFactor = 8

// satisfies is the name of the function `<version>.satisfies("< 1.34")`.
const satisfies = "satisfies"

// constraintFunction declares satisfies on versions and on strings with versions. As in Gardener's own checks
// (pkg/utils/version, CheckVersionMeetsConstraint), the text after a - or a + in the version is ignored: 1.34.0-rc.1 is
// not < 1.34.
func constraintFunction() cel.EnvOption {
	return cel.Function(satisfies,
		cel.MemberOverload("semver_satisfies_string", []*cel.Type{apiservercel.SemverType, cel.StringType}, cel.BoolType),
		cel.MemberOverload("string_satisfies_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType),
		cel.SingletonBinaryBinding(func(version, constraint ref.Val) ref.Val {
			text, ok := constraint.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(constraint)
			}
			parsed, err := semver.NewConstraint(string(text))
			if err != nil {
				return types.WrapErr(safeError("satisfies: not a version constraint"))
			}
			return check(version, parsed)
		}),
	)
}

func check(version ref.Val, constraint *semver.Constraints) ref.Val {
	switch v := version.(type) {
	case apiservercel.Semver:
		return types.Bool(constraint.Check(semver.New(v.Major, v.Minor, v.Patch, "", "")))
	case types.String:
		parsed, err := ParseVersion(string(v))
		if err != nil {
			return types.WrapErr(safeError("satisfies: not a version"))
		}
		return check(parsed, constraint)
	}
	return types.MaybeNoSuchOverloadErr(version)
}

// ParseVersion makes CEL's value of a version such as 1.34.2, v1.34 or 1.34.0-rc.1. It fails for long texts, because a
// version may take many times the memory of its text.
func ParseVersion(text string) (apiservercel.Semver, error) {
	if len(text) > maximumParsed {
		return apiservercel.Semver{}, errors.New("not a version")
	}
	version, err := blang.ParseTolerant(strings.TrimSpace(text))
	if err != nil {
		return apiservercel.Semver{}, errors.New("not a version")
	}
	return apiservercel.Semver{Version: version}, nil
}

// constraintOptimization parses a constraint that is written out once, when the expression is compiled.
var constraintOptimization = &interpreter.RegexOptimization{
	Function:   satisfies,
	RegexIndex: 1,
	Factory: func(call interpreter.InterpretableCall, text string) (interpreter.InterpretableCall, error) {
		constraint, err := semver.NewConstraint(text)
		if err != nil {
			return nil, err
		}
		// Requests often have the version of the one before, and a check formats an error for each failed comparison.
		type checked struct {
			version blang.Version
			result  ref.Val
		}
		var last atomic.Pointer[checked]
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(values ...ref.Val) ref.Val {
			version, ok := values[0].(apiservercel.Semver)
			if l := last.Load(); ok && l != nil && l.version.Equals(version.Version) {
				return l.result
			}
			result := check(values[0], constraint)
			if ok {
				last.Store(&checked{version.Version, result})
			}
			return result
		}), nil
	},
}

// validator reports problems of the parts of an expression.
type validator struct {
	name  string
	check func(e ast.Expr, report func(id int64, format string, arguments ...any))
}

// Name implements cel.ASTValidator.
func (v validator) Name() string { return "graft.validator." + v.name }

// Validate implements cel.ASTValidator.
func (v validator) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) { v.check(e, issues.ReportErrorAtID) }))
}

// literals reports a text that is written out as the last argument of a function and that check refuses.
func literals(name string, functions []string, check func(function, text string) error) cel.ASTValidator {
	return validator{name, func(e ast.Expr, report func(id int64, format string, arguments ...any)) {
		if e.Kind() != ast.CallKind || !slices.Contains(functions, e.AsCall().FunctionName()) {
			return
		}
		arguments := e.AsCall().Args()
		if !e.AsCall().IsMemberFunction() {
			arguments = arguments[1:]
		}
		if text, ok := literalString(arguments[0]); ok {
			if err := check(e.AsCall().FunctionName(), text); err != nil {
				report(arguments[0].ID(), "%s", err)
			}
		}
	}}
}

func checkConstraint(_, text string) error {
	if _, err := semver.NewConstraint(text); err != nil {
		return fmt.Errorf("not a version constraint: %q", text)
	}
	return nil
}

// checkRegularExpression checks the size first, because compiling takes memory for each repetition.
func checkRegularExpression(function, text string) error {
	if sizeOfPattern(types.String(text)) > maximumPattern {
		return errTooComplex
	}
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Errorf("invalid %s argument", function)
	}
	return nil
}

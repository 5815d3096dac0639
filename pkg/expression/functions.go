// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"regexp"
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
func ownFunctions() cel.EnvOption {
	options := []cel.EnvOption{
		constraintFunction(),
		textFunction("base64.encode", "base64 of a text or of bytes", cel.StringType, func(data []byte) ref.Val {
			return types.String(base64.StdEncoding.EncodeToString(data))
		}),
		textFunction("sha256", "SHA-256 of a text or of bytes, in hexadecimal", cel.StringType, func(data []byte) ref.Val {
			sum := sha256.Sum256(data)
			return types.String(hex.EncodeToString(sum[:]))
		}),
		cel.Function("base64.decode", cel.FunctionDocs("the bytes that a text has in base64"),
			cel.Overload("graft_base64_decode_string", []*cel.Type{cel.StringType}, cel.BytesType, cel.UnaryBinding(decodeBase64))),
		cel.Function("quote", cel.FunctionDocs("a text in double quotes with escapes"), cel.Overload("graft_quote_string", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(quote))),
		cel.Function("toJSON", cel.FunctionDocs("a value as JSON"), cel.Overload("graft_to_json_dyn", []*cel.Type{cel.DynType}, cel.StringType,
			cel.UnaryBinding(toJSON))),
		cel.Function("toYAML", cel.FunctionDocs("a value as YAML"), cel.Overload("graft_to_yaml_dyn", []*cel.Type{cel.DynType}, cel.StringType,
			cel.UnaryBinding(toYAML))),
	}
	return func(env *cel.Env) (*cel.Env, error) {
		var err error
		for _, option := range options {
			if env, err = option(env); err != nil {
				return nil, err
			}
		}
		return env, nil
	}
}

// textFunction declares a function of a string or of bytes.
func textFunction(name, summary string, result *cel.Type, f func([]byte) ref.Val) cel.EnvOption {
	return cel.Function(name,
		cel.FunctionDocs(summary),
		cel.Overload("graft_"+name+"_string", []*cel.Type{cel.StringType}, result),
		cel.Overload("graft_"+name+"_bytes", []*cel.Type{cel.BytesType}, result),
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
		return types.WrapErr(failure("base64.decode: not base64"))
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
		return types.WrapErr(failure("toJSON: " + err.Error()))
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
		cel.FunctionDocs("whether a version meets a constraint such as \"< 1.34\"; suffixes after - or + in the version are ignored"),
		cel.MemberOverload("semver_satisfies_string", []*cel.Type{apiservercel.SemverType, cel.StringType}, cel.BoolType),
		cel.MemberOverload("string_satisfies_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType),
		cel.SingletonBinaryBinding(func(version, constraint ref.Val) ref.Val {
			text, ok := constraint.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(constraint)
			}
			parsed, err := semver.NewConstraint(string(text))
			if err != nil {
				return types.WrapErr(failure("satisfies: not a version constraint"))
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
			return types.WrapErr(failure("satisfies: not a version"))
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
		known := &verdicts{constraint: constraint}
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(values ...ref.Val) ref.Val {
			return known.check(values[0])
		}), nil
	},
}

// verdicts caches the results of a constraint for recent versions: a seed has few, and each check allocates five times.
type verdicts struct {
	constraint *semver.Constraints
	last       [16]atomic.Pointer[verdict]
}

type verdict struct {
	major, minor, patch uint64
	result              ref.Val
}

func (v *verdicts) check(version ref.Val) ref.Val {
	parsed, ok := version.(apiservercel.Semver)
	if !ok {
		return check(version, v.constraint)
	}
	place := &v.last[(parsed.Minor*5+parsed.Patch)%uint64(len(v.last))]
	if known := place.Load(); known != nil && known.major == parsed.Major && known.minor == parsed.Minor && known.patch == parsed.Patch {
		return known.result
	}
	result := check(parsed, v.constraint)
	place.Store(&verdict{parsed.Major, parsed.Minor, parsed.Patch, result})
	return result
}

// constraintLiterals reports constraints that are written out and cannot be parsed.
type constraintLiterals struct{}

// Name implements cel.ASTValidator.
func (constraintLiterals) Name() string { return "graft.validator.constraints" }

// Validate implements cel.ASTValidator.
func (constraintLiterals) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, call := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher(satisfies)) {
		for _, argument := range call.AsCall().Args() {
			text, ok := literalString(argument)
			if !ok {
				continue
			}
			if _, err := semver.NewConstraint(text); err != nil {
				issues.ReportErrorAtID(argument.ID(), "not a version constraint: %q", text)
			}
		}
	}
}

// patternLiterals reports regular expressions that are written out and cannot be compiled, or are too large. It checks the
// size first, because compiling takes memory for each repetition.
type patternLiterals struct{}

// Name implements cel.ASTValidator.
func (patternLiterals) Name() string { return "graft.validator.patterns" }

// Validate implements cel.ASTValidator.
func (patternLiterals) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, name := range matching {
		for _, call := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher(name)) {
			arguments := call.AsCall().Args()
			if !call.AsCall().IsMemberFunction() {
				arguments = arguments[1:]
			}
			text, ok := literalString(arguments[0])
			if !ok {
				continue
			}
			if isLargePattern(text) {
				issues.ReportErrorAtID(arguments[0].ID(), "%s", errTooComplex)
			} else if _, err := regexp.Compile(text); err != nil {
				issues.ReportErrorAtID(arguments[0].ID(), "invalid %s argument", name)
			}
		}
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"sigs.k8s.io/yaml"
)

// ownFunctions declares what Graft adds to Kubernetes' CEL.
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

// yamlFactor is how many times its size a value takes while it is written as YAML.
const yamlFactor = 8

func toYAML(argument ref.Val) ref.Val {
	raw, err := JSON(argument)
	if err != nil {
		return types.WrapErr(failure("toYAML: " + err.Error()))
	}
	if sizeParsed(raw)*yamlFactor > maximumTogether {
		return types.WrapErr(errTooLarge)
	}
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return types.WrapErr(failure("toYAML: the value cannot be written as YAML"))
	}
	return types.String(text)
}

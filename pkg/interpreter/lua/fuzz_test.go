// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/test/lua/luatest"
)

// grammar has the forms of expressions of each kind: n numbers, t texts, b conditions, l lists, o optionals, and v any
// value.
var grammar = map[byte][]string{
	'n': {
		"1", "2", "-3", "object.spec.a", "object.spec.b", "object.spec.neg", "$n + $n", "$n - $n", "$n * $n", "$n / $n", "$n % $n", "size($t)", "size($l)",
		"$l.map(x, size($t)).sum()", "int($n)", "int($t)", "$o.orValue($n)", "object.?spec.?zero.orValue($n)", "$b ? $n : $n", "-dyn($n)", "$l[0]",
	},
	't': {
		`"text"`, `"a"`, `"ö"`, "object.spec.s", "object.spec.t", "object.spec.v", "string($n)", "$t + $t", "string($v)", `$o.orValue("none")`,
		"$b ? $t : $t", "string($t).lowerAscii()", `string($t).replace("t", "ö")`, `["a", "b"].join(string($t))`, "string($t).substring(1)", "$l[0]",
	},
	'b': {
		"true", "false", "object.spec.ok", "object.spec.no", "has(object.spec)", "has(object.spec.a)", "has(object.spec.m.x)", "$v == $v", "$v != $v",
		"$n < $n", "$n >= $n", "$t < $t", "$b && $b", "$b || $b", "$b && $b && $b", "$b || $b || $b", "!$b", "$v in $l", `"x" in object.spec.m`, "$l.all(x, $b)",
		"$l.exists(x, $b)", "$l.exists_one(x, $b)", "$l.all(x, x == $v)", "$l.exists(x, x > $n)", "$o.hasValue()", "$b ? $b : $b",
		"string($t).startsWith(string($t))", `string($t).matches("^[a-z]+$")`, `string($t).contains("e")`, "timestamp(object.spec.time) > timestamp(string($t))",
	},
	'l': {
		"[1, 2, 3]", `["a", object.spec.s]`, "object.spec.l", "object.spec.names", "object.spec.mixed", "object.spec.parts", "[$v, $v]", "$l.map(x, $v)",
		"$l.filter(x, $b)", "$l.map(x, [x, $v])", "[$v, ?$o]", `string($t).split(".")`, "$o.orValue([1])", "$l.filter(x, x != $v)",
	},
	'o': {
		"object.?spec.?a", "object.?spec.?nothing", "object.?spec.?s.?x", "object.?spec.parts", "object.spec.?l", "optional.of($v)",
		"optional.none()", "$o.or($o)",
	},
	'v': {"$n", "$t", "$b", "$l", "$n", "$t", "$b", "object.spec.m", "object.spec.parts[0]", `{"a": $v, "b": $v}`, "object.spec", "dyn($v)"},
}

// generate writes an expression of a kind.
func generate(r *rand.Rand, kind byte, depth int) string {
	ways := grammar[kind]
	if depth <= 0 {
		ways = ways[:3]
	}
	way := ways[r.IntN(len(ways))]
	var out strings.Builder
	for i := 0; i < len(way); i++ {
		if way[i] != '$' || grammar[way[i+1]] == nil {
			out.WriteByte(way[i])
			continue
		}
		i++
		out.WriteString("(" + generate(r, way[i], depth-1) + ")")
	}
	return out.String()
}

// FuzzExpressions compares expressions in Lua and CEL, except for invalid and untranslatable ones.
func FuzzExpressions(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed, byte(seed%6), byte(2+seed%3))
	}
	all := slices.DeleteFunc(objects(f), func(object json.RawMessage) bool {
		return strings.Contains(string(object), `"spec":[`) // one of the differences: a list where an object must be
	})
	f.Fuzz(func(t *testing.T, seed uint64, kind, depth byte) {
		expression := generate(rand.New(rand.NewPCG(seed, 0)), "ntblov"[kind%6], int(depth%4))
		pair, _ := luatest.NewPair(reflecting(t, expression), lua.Options{})
		if pair == nil {
			return
		}
		defer pair.Close()
		for _, object := range all {
			if diff := difference(t, pair, interpreter.Request{Operation: interpreter.Status, Kind: queue, Object: object}); diff != "" {
				t.Errorf("%s\n%s\n%s", expression, object, diff)
			}
		}
	})
}

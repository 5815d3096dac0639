// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const benchmarked = `${ shoot.kubernetes.satisfies("< 1.34") && "enable-vac" in shoot.annotations }`

func BenchmarkCompile(b *testing.B) {
	env := testEnvironment(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := env.Condition(benchmarked, source.Position{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExtend(b *testing.B) {
	env := testEnvironment(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := env.Extend(testVariables()...); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	env, vars := testEnvironment(b), testActivation(b)
	for _, c := range []struct{ name, text string }{
		{"condition", benchmarked},
		{"field", `${ shoot.name }`},
		{"flag", `${ shoot.hibernated }`},
		{"text", `eu-${ shoot.name }-x`},
		{"loop", `${ shoot.workers.exists(w, w.kubernetes.satisfies("< 1.33")) }`},
		{"spec", `${ shoot.spec.networking.?type.orValue("") }`},
	} {
		template, err := env.Template(c.text, source.Position{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := template.Evaluate(context.Background(), vars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestLimits checks that each function is stopped before its value is too large, and that typical values of the largest
// annotation are accepted.
func TestLimits(t *testing.T) {
	env, vars := limitEnvironment(t), limitActivation(t)
	const tooLarge, tooMuch, tooCostly = "the value is too large", "too large together", "too costly"
	const tooLong, tooComplex = "too long to be parsed", "the regular expression is too large"
	for text, want := range map[string]string{
		`text.contains("x") && text.startsWith("a,") && text.size() > 9`:           "",
		`text.split(",").size() > 9`:                                               "",
		`text.split(",").filter(p, p != "a").size() == 1`:                          "",
		`base64.encode(text) + sha256(text) + text.upperAscii().substring(9)`:      "",
		`text.split(",").exists(p, p == text)`:                                     "",
		`toJSON(text.split(","))`:                                                  "",
		`text.split(",").map(p, p + "=" + text).join(";")`:                         tooMuch,
		`text.split(",").map(p, text).join(";")`:                                   tooMuch,
		`text.replace("a", text)`:                                                  tooLarge,
		`text.replace("", "0123456789012345")`:                                     tooLarge,
		`[text, text].join(text) + text.replace("a", "0123456789012345678901234")`: tooLarge,
		`"%.4999999f%s".format([1.5, text])`:                                       tooLarge,
		`"%s%s%s%s%s".format([text, text, text, text, text])`:                      tooLarge,
		`(bytes(wide) + bytes(text) + bytes(wide)).size()`:                         tooLarge,
		`wide + wide + wide`:                                                       tooLarge,
		`quote(wide + wide)`:                                                       "",
		`toJSON([wide, wide, wide])`:                                               tooLarge,
		`toYAML(text.split(","))`:                                                  tooLarge,
		`base64.encode(base64.encode(wide)).substring(9)`:                          tooMuch,
		`[wide, wide, wide]`:                                                       tooLarge,
		`{"a": wide, "b": [wide], "c": {"d": wide}}`:                               tooLarge,
		`text.split(",").transformMapEntry(i, p, {string(i): wide})`:               tooMuch,
		`text.split(",").map(p, [text, p])[0]`:                                     tooMuch,
		`[text.split(","), text.split(",")].flatten()`:                             tooLarge,
		`text.split(",").distinct()`:                                               tooCostly,
		`lists.range(900).distinct().size() == 900`:                                "",
		`items.slice(0, 700).distinct().size() == 1`:                               tooCostly,
		`text.indexOf(text)`:                                                       tooCostly,
		`sets.contains(text.split(","), text.split(","))`:                          tooCostly,
		`items.all(a, items.exists(b, a != b) || items.size() > 0)`:                tooCostly,
		`items.exists(a, items.filter(b, b == a).size() == 0)`:                     tooCostly,
		`items.exists(a, items in [[items]])`:                                      tooMuch,
		`lists.range(100).map(i, semver(version).major()).size() == 100`:           "",
		`lists.range(1000).map(i, semver(version))`:                                tooMuch,
		`semver("1.0.0-" + text)`:                                                  tooLong,
		`isSemver("1.0.0-" + text)`:                                                tooLong,
		`quantity(text)`:                                                           tooLong,
		`isQuantity(text.replace(",", "1"))`:                                       tooLong,
		`version.satisfies("< 2") && "1.2.3".satisfies("< " + version)`:            "",
		`"1.2.3".satisfies(text.replace("a,", "1||"))`:                             tooLong,
		`text.matches("^(a,)+$") && "a".matches(escaped.substring(0, 100))`:        "",
		`text.matches(text)`:                                                       tooLong,
		`text.matches(pattern)`:                                                    tooComplex,
		`text.find(pattern)`:                                                       tooComplex,
		`text.findAll(pattern, 1)`:                                                 tooComplex,
		`items.exists(a, wide + wide + wide == a || a != "none")`:                  tooLarge,
		`items.all(a, text.matches("^(a|,)+$"))`:                                   tooCostly,
		`items.all(a, text.find("b") == "")`:                                       tooCostly,
		`items.all(a, items.all(b, b.matches(a)))`:                                 tooCostly,
		`wide.matches("^(w?){1000}$")`:                                             tooCostly,
		`items.all(a, text.size() > 0)`:                                            tooCostly,
		`items.all(a, version.indexOf(version) == 0)`:                              tooCostly,
		strings.Repeat(`text.contains("x") || `, 200) + `text == ""`:               tooCostly,
	} {
		t.Run(text, func(t *testing.T) {
			template, err := env.Template("${ "+text+" }", source.Position{File: "f", Line: 3, Column: 1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = template.Evaluate(context.Background(), vars)
			switch {
			case want == "" && err != nil:
				t.Errorf("got %v", err)
			case want != "" && (err == nil || !ExceedsLimit(err) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f:3:")):
				t.Errorf("got %v, want an error at f:3 with %q", err, want)
			}
		})
	}
}

// largePattern is a regular expression that takes more than 100 MB when it is compiled.
var largePattern = "(" + strings.Repeat("a", 3000) + "){1000}"

// TestLimitsOfTexts checks the limits of templates: texts with expressions, and JSON.
func TestLimitsOfTexts(t *testing.T) {
	env, vars := limitEnvironment(t), limitActivation(t)
	template, err := env.Template(`a${ wide }b${ wide }c${ wide }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := template.String(context.Background(), vars); !ExceedsLimit(err) {
		t.Errorf("a text of three: got %v", err)
	}
	if template, err = env.Template(`${ [control] }`, source.Position{}); err != nil {
		t.Fatal(err)
	}
	if _, err := template.JSON(context.Background(), vars); !ExceedsLimit(err) {
		t.Errorf("JSON of six characters for each: got %v", err)
	}
}

// TestLimitsOfConstants checks that expressions without variables are limited at compilation.
func TestLimitsOfConstants(t *testing.T) {
	env := limitEnvironment(t)
	for _, text := range []string{
		`text.matches("` + largePattern + `")`, `text.find("` + largePattern + `")`, `matches(text, "` + largePattern + `")`,
		`lists.range(10000000).size()`, `"%.9999999f".format([1.5])`, `lists.range(100000).map(i, lists.range(i)).size()`,
	} {
		if _, err := env.Template("${ "+text+" }", source.Position{}); err == nil || !strings.Contains(err.Error(), "too ") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestNesting checks that loops inside of each other are rejected at compilation, but not loops over written lists, nor
// one after the other.
func TestNesting(t *testing.T) {
	env := limitEnvironment(t)
	for text, accepted := range map[string]bool{
		`items.all(a, items.all(b, a != b))`:                               true,
		`items.all(a, items.all(b, items.all(c, a + b != c)))`:             false,
		`items.filter(a, a > 1).map(a, a + 1).map(a, a + 2).all(a, a > 3)`: true,
		`["a", "b"].all(a, items.all(b, items.exists(c, a + b == c)))`:     true,
		`items.all(a, items.filter(b, items.exists(c, b == c)) == [])`:     false,
	} {
		if _, err := env.Template("${ "+text+" }", source.Position{}); (err == nil) != accepted {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestLongVersion checks that a long text is not accepted as a version, with any constraint.
func TestLongVersion(t *testing.T) {
	if _, err := ParseVersion("1.0.0-" + strings.Repeat("a.", maximumParsed/2) + "a"); err == nil {
		t.Errorf("a version of more than %d bytes is parsed", maximumParsed)
	}
}

// TestLimit checks the common limit of all computations for one request.
func TestLimit(t *testing.T) {
	env, vars := limitEnvironment(t), limitActivation(t)
	whole, err := env.Template(`${ wide + "x" }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	costly, err := env.Template(`${ items.exists(p, p == "none" || p == "no") ? "" : "a" }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	for name, template := range map[string]*Template{"sizes": whole, "costs": costly} {
		t.Run(name, func(t *testing.T) {
			ctx, end := Limit(context.Background())
			defer end()
			for i := range 1000 {
				if _, err := template.Evaluate(ctx, vars); err != nil {
					if !ExceedsLimit(err) || i < 3 {
						t.Errorf("after %d evaluations: %v", i, err)
					}
					return
				}
			}
			t.Error("the total size of concurrent evaluations is not limited")
		})
	}
}

// TestLargeRequestsWait checks that at most largeRequests requests compute large values at a time, and that waiting
// ones end with their context.
func TestLargeRequestsWait(t *testing.T) {
	env, vars := limitEnvironment(t), limitActivation(t)
	template, err := env.Template(`${ wide + "x" }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	var ends []func()
	for range largeRequests {
		ctx, end := Limit(context.Background())
		if _, err := template.Evaluate(ctx, vars); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	waiting, cancel := context.WithCancel(context.Background())
	ctx, end := Limit(waiting)
	result := make(chan error)
	go func() {
		_, err := template.Evaluate(ctx, vars)
		result <- err
	}()
	cancel()
	if err := <-result; err == nil {
		t.Error("the request beyond the limit did not wait until its context ended")
	}
	end()
	for _, end := range ends {
		end()
	}
	ctx, end = Limit(context.Background())
	defer end()
	if _, err := template.Evaluate(ctx, vars); err != nil {
		t.Errorf("evaluation fails after the other evaluations have ended: %v", err)
	}
}

func limitEnvironment(t *testing.T) *Environment {
	t.Helper()
	env, err := NewEnvironment(
		Variable{Name: "text", Type: cel.StringType}, Variable{Name: "wide", Type: cel.StringType},
		Variable{Name: "control", Type: cel.StringType}, Variable{Name: "items", Type: cel.DynType},
		Variable{Name: "version", Type: cel.StringType}, Variable{Name: "escaped", Type: cel.StringType}, Variable{Name: "pattern", Type: cel.StringType},
	)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// limitActivation has an annotation of the largest size, a text of nearly half the size that a value may have, ten thousand items, and texts
// that become much larger when they are parsed.
func limitActivation(t *testing.T) cel.Activation {
	t.Helper()
	items := make([]string, 10_000)
	for i := range items {
		items[i] = strings.Repeat("b", 16)
	}
	vars, err := cel.NewActivation(map[string]any{
		"text": strings.Repeat("a,", 128<<10), "wide": strings.Repeat("w", maximumValue/2-1<<10),
		"control": strings.Repeat("\x01", maximumValue/4), "items": items,
		"version": "1.0.0-" + strings.Repeat("a.", 1000) + "a", "escaped": "/" + strings.Repeat("%41", 50_000), "pattern": largePattern,
	})
	if err != nil {
		t.Fatal(err)
	}
	return vars
}

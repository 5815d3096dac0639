// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/test/objects"
)

func TestLookups(t *testing.T) {
	requests := []LookupRequest{
		{Name: "cloudprovider", GroupVersionKind: Secret, ObjectName: "cloudprovider", Keys: []string{"region", "ca.crt"}},
		{Name: "extra", GroupVersionKind: ConfigMap, ObjectName: "extra", Keys: []string{"a"}, Optional: true},
	}
	lookups := NewLookups(requests)
	env, err := environment(t).Extend(lookups.Variable())
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]map[string]string{"cloudprovider": {"region": "eu-1", "ca.crt": "PEM", "password": "hunter2"}}
	for _, c := range []struct {
		name   string
		source Static
		text   string
		want   string
		err    string
	}{
		{"returns named keys of a Secret", Static{Objects: objects.Of(secrets, nil)}, "${ lookups.cloudprovider.region + lookups.cloudprovider.`ca.crt` }", `"eu-1PEM"`, ""},
		{"only the named keys", Static{Objects: objects.Of(secrets, nil)}, `${ lookups.cloudprovider }`, `{"ca.crt":"PEM","region":"eu-1"}`, ""},
		{"rejects a key that the lookup does not name", Static{Objects: objects.Of(secrets, nil)}, `${ lookups.cloudprovider.password }`, "", ":1:26: undefined field 'password'; there are ca.crt, region"},
		{"rejects a misspelt lookup", Static{Objects: objects.Of(secrets, nil)}, `${ lookups.cloudprovder.region }`, "", `:1:12: undefined field 'cloudprovder' (did you mean "cloudprovider"?)`},
		{"takes the default for an absent object", Static{Objects: objects.Of(secrets, nil)}, `${ lookups.?extra.?a.orValue("none") }`, `"none"`, ""},
		{"optional, absent, named", Static{Objects: objects.Of(secrets, nil)}, `${ lookups.extra.a }`, "", ":1:12: there is no extra"},
		{"optional, without the key", Static{Objects: objects.Of(secrets, map[string]map[string]string{"extra": {}})}, `${ has(lookups.extra) && !has(lookups.extra.a) }`, `true`, ""},
		{"takes the value of an optional object", Static{Objects: objects.Of(secrets, map[string]map[string]string{"extra": {"a": "b"}})}, `${ lookups.?extra.?a.orValue("none") }`, `"b"`, ""},
		{"fails for an absent object", Static{}, `${ 1 }`, "", "reading the Secret cloudprovider: not found"},
		{"without the key", Static{Objects: objects.Of(map[string]map[string]string{"cloudprovider": {"region": "hunter2"}}, nil)}, `${ 1 }`, "", "the Secret cloudprovider has no key ca.crt: not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := func() (string, error) {
				results := map[string]*LookupResult{}
				for _, r := range requests {
					result, err := c.source.Lookup(context.Background(), "ns", r)
					if err != nil {
						return "", err
					}
					results[r.Name] = result
				}
				vars, err := cel.NewActivation(map[string]any{"lookups": lookups.Value(results)})
				if err != nil {
					return "", err
				}
				return evaluate(env, c.text, vars)
			}()
			message := ""
			if err != nil {
				message = err.Error()
			}
			if message != c.err {
				t.Errorf("got error %q, want %q", message, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStaticWithoutFacts(t *testing.T) {
	if _, err := (&Static{}).Read(context.Background(), "ns"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dispatch_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

func read(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		t.Fatal(err)
	}
}

// configured is a configuration of either dialect with its name in front.
type configured[W any] struct {
	Name     string `json:"name"`
	Webhooks []W    `json:"webhooks"`
}

// TestChosen checks which webhooks are called.
func TestChosen(t *testing.T) {
	var cases []struct {
		About    string                              `json:"about"`
		Shipped  []configured[configuration.Webhook] `json:"shipped"`
		Proposed []configured[configuration.Webhook] `json:"proposed"`
		Want     map[string][]string                 `json:"want"`
	}
	read(t, "testdata/chosen.yaml", &cases)
	for _, c := range cases {
		t.Run(c.About, func(t *testing.T) {
			var shipped []*configuration.Configuration
			for _, one := range c.Shipped {
				made := &configuration.Configuration{Webhooks: one.Webhooks}
				made.Name = one.Name
				shipped = append(shipped, made)
			}
			var proposed []*configuration.Configuration
			for _, one := range c.Proposed {
				made := &configuration.Configuration{Webhooks: one.Webhooks}
				made.Name = one.Name
				proposed = append(proposed, made)
			}
			hooks := append(dispatch.Interpreters(shipped...), dispatch.Explorers(proposed...)...)
			for about, want := range c.Want {
				object, operation, _ := strings.Cut(about, " ")
				part := strings.Split(object, "/")
				s := dispatch.Subject{Kind: interpreter.Kind{Group: part[1], Version: part[2], Kind: part[3]},
					Namespaced: part[0] != ""}
				s.Resource = configuration.Resource(s.Kind)
				var got []string
				for _, h := range hooks.For(s, interpreter.Operation(operation)) {
					got = append(got, h.Name)
				}
				if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", about, diff)
				}
			}
		})
	}
}

// TestVerified checks which answers are accepted.
func TestVerified(t *testing.T) {
	var cases []struct {
		Dialect, Operation, Wrong string
		Response                  json.RawMessage
		Code                      int
	}
	read(t, "testdata/verified.yaml", &cases)
	for _, c := range cases {
		t.Run(c.Operation+" "+string(c.Response), func(t *testing.T) {
			var err error
			if c.Dialect == api.KindReview {
				var r *dispatch.ReviewResponse
				decode(t, c.Response, &r)
				err = dispatch.VerifyReview("u", c.Operation, r)
			} else {
				var r *dispatch.ContextResponse
				decode(t, c.Response, &r)
				err = dispatch.VerifyContext("u", c.Operation, r)
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			begin, open := strings.CutSuffix(c.Wrong, "*")
			if fits := got == c.Wrong || open && strings.HasPrefix(got, begin); !fits {
				t.Errorf("got %q, want %q", got, c.Wrong)
			}
			if f, failed := errors.AsType[*interpreter.Failure](err); failed != (c.Code != 0) || failed && f.Code != c.Code {
				t.Errorf("got %v", err)
			}
		})
	}
}

func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	if raw == nil {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

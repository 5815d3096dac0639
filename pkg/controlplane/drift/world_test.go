// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// engine is a program without facts.
type engine struct{ *mutation.Program }

func (e engine) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	return e.Program.Admit(ctx, r, &facts.Static{})
}

// compile makes an engine of the rules of a profile.
func compile(t *testing.T, rules string) engine {
	t.Helper()
	const head = "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: acme}\nproviders: [acme]\n"
	documents, findings := profile.Load(source.File{Name: "acme.yaml", Data: []byte(head + rules)})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, compiler.Options{Mark: true})
	if err != nil {
		t.Fatal(err)
	}
	return engine{program}
}

// answer returns an error of the API server.
func answer(status int) error {
	reasons := map[int]metav1.StatusReason{http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusGone: metav1.StatusReasonExpired}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: int32(status), Reason: reasons[status], Message: "status " + strconv.Itoa(status)}}
}

// seed is an API server with a webhook.
type seed struct {
	t *testing.T

	mutex sync.Mutex
	// objects are by their paths, in order.
	paths   []string
	objects map[string]string
	// webhook computes patches; nil means that there is no webhook.
	webhook drift.Engine
	// fail is called before each call and may return an error; nil means no failures.
	fail func(c call) error
	// largest is the largest requested page, and calls are all calls except reads.
	largest int
	calls   []string
}

// call is a read, or a touch.
type call struct {
	path  string
	query url.Values
	touch bool
}

func newSeed(t *testing.T) *seed { return &seed{t: t, objects: map[string]string{}} }

// put creates or replaces an object.
func (s *seed) put(path, object string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, there := s.objects[path]; !there {
		s.paths = append(s.paths, path)
		slices.Sort(s.paths)
	}
	s.objects[path] = object
}

// shoot makes a namespace of a control plane.
func (s *seed) shoot(name, annotations string) {
	s.put("/api/v1/namespaces/"+name, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"shoot.gardener.cloud/provider":"acme"},"annotations":{%s}}}`, name, annotations))
}

// configMap makes one.
func (s *seed) configMap(namespace, name, annotations string) {
	s.put("/api/v1/namespaces/"+namespace+"/configmaps/"+name,
		fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"annotations":{%s},"managedFields":[]},"data":{"a":"b"}}`, name, namespace, annotations))
}

// admit passes an object through a webhook.
func (s *seed) admit(e drift.Engine, path string) error {
	parts := strings.Split(path, "/")
	namespace, name := parts[4], parts[6]
	raw := []byte(s.objects[path])
	result, err := e.Admit(s.t.Context(), mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "UPDATE", Namespace: namespace, Name: name, Version: "v1", Kind: "ConfigMap", Object: raw, OldObject: raw,
	})
	if err != nil {
		return err
	}
	if result.Patch != nil {
		s.objects[path] = string(golden.Apply(s.t, raw, result.Patch))
	}
	return nil
}

// Read implements drift.API.
func (s *seed) Read(_ context.Context, path string, query url.Values) ([]byte, error) {
	return s.answer(call{path: path, query: query})
}

// Touch implements drift.API.
func (s *seed) Touch(_ context.Context, path string) ([]byte, error) {
	return s.answer(call{path: path, touch: true})
}

func (s *seed) answer(c call) ([]byte, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.fail != nil {
		if err := s.fail(c); err != nil {
			return nil, err
		}
	}
	raw, there := s.objects[c.path]
	switch {
	case c.touch:
		s.calls = append(s.calls, "touch "+c.path)
		if !there {
			return nil, answer(http.StatusNotFound)
		}
		if s.webhook != nil {
			if err := s.admit(s.webhook, c.path); err != nil {
				return nil, err
			}
		}
		return []byte(s.objects[c.path]), nil
	case there:
		return []byte(raw), nil
	case !c.query.Has("limit"):
		return nil, answer(http.StatusNotFound)
	}
	return s.list(c)
}

// list returns a page.
func (s *seed) list(c call) ([]byte, error) {
	limit, _ := strconv.Atoi(c.query.Get("limit"))
	s.largest = max(s.largest, limit)
	var items []json.RawMessage
	next := ""
	for _, path := range s.paths {
		name, is := strings.CutPrefix(path, c.path+"/")
		if !is || strings.Contains(name, "/") || path <= c.query.Get("continue") {
			continue
		}
		if len(items) == limit {
			break
		}
		if items, next = append(items, json.RawMessage(s.objects[path])), path; path == s.paths[len(s.paths)-1] {
			next = ""
		}
	}
	if len(items) < limit {
		next = ""
	}
	return json.Marshal(map[string]any{"metadata": map[string]string{"continue": next}, "items": items})
}

// find looks for drift, and returns a line for each finding.
func (s *seed) find(e drift.Engine) ([]string, drift.Summary, error) {
	lines := []string{}
	f := drift.Finder{API: s, Engine: e, Parallel: 3}
	summary, err := f.Find(s.t.Context(), func(f drift.Finding) error {
		lines = append(lines, fmt.Sprintf("%s %s/%s %v %s", f.State, f.Namespace, f.Name, f.Rules, f.Problem))
		return nil
	})
	slices.Sort(lines)
	return lines, summary, err
}

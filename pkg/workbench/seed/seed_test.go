// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/seed"
)

// server answers with the given answer for verb and path, or not found.
type server struct {
	answers map[string]string
	// status is another status than 200 for a verb and path, once for each that is listed.
	status map[string][]int

	lock  sync.Mutex
	asked []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	key := r.Method + " " + r.URL.RequestURI()
	s.asked = append(s.asked, key)
	if codes := s.status[key]; len(codes) > 0 {
		s.status[key] = codes[1:]
		if codes[0] == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		fail(w, codes[0], s.answers[key+" fails"])
		return
	}
	answer, ok := s.answers[key]
	if !ok {
		fail(w, http.StatusNotFound, `{"kind":"Status","reason":"NotFound","message":"it is not there"}`)
		return
	}
	fmt.Fprint(w, answer)
}

// fail writes an answer other than success; a Status is completed.
func fail(w http.ResponseWriter, code int, answer string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprint(w, strings.Replace(answer, `{"kind":"Status"`, fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","code":%d`, code), 1))
}

// connect starts the server and connects to it, by a URL with a path as behind a proxy.
func connect(t *testing.T, s *server) *seed.Seed {
	t.Helper()
	web := httptest.NewServer(http.StripPrefix("/clusters/c1", s))
	t.Cleanup(web.Close)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"other","clusters":[{"name":"c","cluster":{"server":"%s/clusters/c1/"}}],
		"contexts":[{"name":"this","context":{"cluster":"c"}},{"name":"other","context":{"cluster":"none"}}]}`, web.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := seed.Connect(seed.Connection{Kubeconfig: config}); err == nil {
		t.Error("a context without a cluster is connected to")
	}
	connected, err := seed.Connect(seed.Connection{Kubeconfig: config, Context: "this"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(connected.Host(), web.URL) {
		t.Errorf("the host is %s", connected.Host())
	}
	return connected
}

func compile(t *testing.T, rules string) *mutation.Program {
	t.Helper()
	return compileWith(t, rules, compiler.Options{})
}

// compileAny compiles rules with flags that no version of Kubernetes has.
func compileAny(t *testing.T, rules string) *mutation.Program {
	t.Helper()
	none, err := semver.NewConstraint("< 1.31")
	if err != nil {
		t.Fatal(err)
	}
	return compileWith(t, rules, compiler.Options{Kubernetes: none})
}

func compileWith(t *testing.T, rules string, options compiler.Options) *mutation.Program {
	t.Helper()
	head := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: p}\nproviders: [acme]\n"
	documents, findings := profile.Load(source.File{Name: "p.yaml", Data: []byte(head + rules)})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, options)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

const (
	namespace = `{"metadata":{"name":"shoot--a--b","labels":{"shoot.gardener.cloud/provider":"acme"}}}`
	cluster   = `{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"Cluster","metadata":{"name":"shoot--a--b"},"spec":{"cloudProfile":{"apiVersion":"core.gardener.cloud/v1beta1","kind":"CloudProfile"},
		"seed":{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Seed"},"shoot":{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","metadata":{"name":"b","namespace":"garden-a"},"spec":{"kubernetes":{"version":"1.33.1"},"provider":{"type":"acme"}}}}}`
	base = "/api/v1/namespaces/shoot--a--b"
)

func configMap(name string, more string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shoot--a--b","resourceVersion":"7","managedFields":[{"manager":"x"}]%s}}`, name, more)
}

// stored is an object as an answer to one request.
func stored(more string) string {
	return strings.Replace(configMap("exact", more), "{", `{"apiVersion":"v1","kind":"ConfigMap",`, 1)
}

const objects = `
lookups:
  s: {secret: cloud, keys: [region]}
  own: {object: {apiVersion: acme.example.com/v1, kind: Cloud, name: c}, paths: {region: spec.region}}
controlplane:
  objects:
  - {apiVersion: v1, kind: ConfigMap, name: cloud-*, rules: [{labels: {set: {region: "${ lookups.s.region + lookups.own.region }"}}}]}
  - {apiVersion: v1, kind: ConfigMap, name: exact, rules: [{labels: {set: {a: b}}}]}
  kube-scheduler:
  - flags: {set: {v: "3"}}
`

func TestSnapshot(t *testing.T) {
	record := `,"labels":{"a":"b"},"annotations":{"graft.provider.extensions.gardener.cloud/mutated-by-controlplane":"p@12345678","graft.provider.extensions.gardener.cloud/written-controlplane":"{\"metadata.labels.a\":{\"wrote\":\"` + operation.Digest([]byte(`"b"`)) + `\"}}"}`
	s := &server{answers: map[string]string{
		"GET " + base: namespace,
		"GET /apis/extensions.gardener.cloud/v1alpha1/clusters/shoot--a--b": cluster,
		"GET " + base + "/configmaps?limit=250":                             `{"metadata":{"continue":"x"},"items":[` + configMap("cloud-b", "") + `,` + configMap("other", "") + `]}`,
		"GET " + base + "/configmaps?continue=x&limit=250":                  `{"metadata":{},"items":[` + configMap("cloud-a", "") + `,` + configMap("exact", record) + `]}`,
		"GET " + base + "/secrets/cloud":                                    `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"cloud"},"data":{"region":"ZXU="}}`,
		"GET /apis/acme.example.com/v1":                                     `{"resources":[{"name":"clouds","namespaced":false}]}`,
		"GET /apis/acme.example.com/v1/clouds/c":                            `{"apiVersion":"acme.example.com/v1","kind":"Cloud","metadata":{"name":"c"},"spec":{"region":"-1"}}`,
	}}
	connected, program := connect(t, s), compile(t, objects)
	plane, err := connected.Snapshot(t.Context(), "shoot--a--b", program)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range plane.Snapshot.Objects {
		change, err := compare.CompiledSide{Program: program}.Admit(t.Context(), plane.Snapshot, o)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.String()+" "+labelsOf(t, o.JSON)+" "+labelsOf(t, change.Bytes()))
		if strings.Contains(string(o.JSON), "managedFields") || o.APIVersion != "v1" {
			t.Errorf("want the object without managedFields in v1, got %s", o.JSON)
		}
	}
	want := []string{`ConfigMap cloud-a null {"region":"eu-1"}`, `ConfigMap cloud-b null {"region":"eu-1"}`, `ConfigMap exact {} {"a":"b"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"": 2, "p@12345678": 1}, seed.Versions([]*seed.Plane{plane})); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	times := 0
	for _, asked := range s.asked {
		if strings.Contains(asked, "/secrets/") {
			times++
		}
	}
	if times != 1 {
		t.Errorf("the Secret is read %d times", times)
	}
}

func TestErrors(t *testing.T) {
	forbidden := `{"kind":"Status","reason":"Forbidden","message":"you may not"}`
	for _, c := range []struct {
		name    string
		answers map[string]string
		status  map[string][]int
		want    string
		is      error
	}{
		{name: "a missing namespace", want: "the seed has no namespace shoot--a--b", is: seed.ErrNoNamespace},
		{name: "a namespace without a Cluster", answers: map[string]string{"GET " + base: namespace}, want: "there is no Cluster shoot--a--b", is: seed.ErrNoNamespace},
		{
			name: "a request that is not permitted", answers: map[string]string{"GET " + base + " fails": forbidden}, status: map[string][]int{"GET " + base: {403}},
			want: "reading the Namespace shoot--a--b: you may not",
		},
		{name: "an error without a message", status: map[string][]int{"GET " + base: {500}}, want: "GET " + base + ": an error on the server"},
		{name: "a server that answers 429", status: map[string][]int{"GET " + base: {429}}, want: "the seed has no namespace shoot--a--b", is: seed.ErrNoNamespace},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := connect(t, &server{answers: c.answers, status: c.status}).Snapshot(t.Context(), "shoot--a--b", compile(t, objects))
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got error %v, want %q in it", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := connect(t, &server{}).Snapshots(ctx, []string{"a"}, nil, compile(t, objects)); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}

func TestControlPlanes(t *testing.T) {
	const selected = "GET /api/v1/namespaces?labelSelector=shoot.gardener.cloud%2Fprovider+in+%28acme%29&limit=500"
	s := &server{answers: map[string]string{selected: `{"metadata":{},"items":[{"metadata":{"name":"b"}},{"metadata":{"name":"a"}}]}`}}
	got, err := connect(t, s).ControlPlanes(t.Context(), compile(t, objects))
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// The garden is one of them, unless it does not exist.
	withGarden := compile(t, objects+"  virtual-garden-kube-apiserver:\n  - flags: {set: {v: \"3\"}}\n")
	if got, err := connect(t, s).ControlPlanes(t.Context(), withGarden); err != nil || !cmp.Equal(got, []string{"a", "b"}) {
		t.Errorf("without a garden: got %v, %v", got, err)
	}
	const garden = "GET /api/v1/namespaces/garden"
	s.answers[garden+" fails"], s.status = `{"kind":"Status","reason":"Forbidden","message":"no"}`, map[string][]int{garden: {http.StatusForbidden}}
	if got, err := connect(t, s).ControlPlanes(t.Context(), withGarden); err != nil || !cmp.Equal(got, []string{"a", "b", "garden"}) {
		t.Errorf("with an unreadable garden: got %v, %v", got, err)
	}
	s.answers[selected] = `{"metadata":{},"items":[]}`
	if _, err := connect(t, s).ControlPlanes(t.Context(), compile(t, objects)); !errors.Is(err, seed.ErrNoControlPlane) {
		t.Errorf("got error %v", err)
	}
	// An unreadable control plane does not prevent reading the rest.
	var seen []int
	planes, err := connect(t, s).Snapshots(t.Context(), []string{"a", "b"}, func(done, of int) { seen = append(seen, 10*done+of) }, compile(t, objects))
	if err != nil || planes[0].Err == nil || planes[1].Name != "b" || !cmp.Equal(seen, []int{12, 22}) {
		t.Errorf("got %v, %v, %v", planes, seen, err)
	}
}

// TestListExpires checks that a list restarts if its next page has expired, without duplicate objects and without an
// endless loop.
func TestListExpires(t *testing.T) {
	const first = "GET /api/v1/namespaces?labelSelector=shoot.gardener.cloud%2Fprovider+in+%28acme%29&limit=500"
	gones := []int{http.StatusGone, http.StatusGone, http.StatusGone, http.StatusGone}
	next := strings.Replace(first, "?", "?continue=x&", 1)
	for gone, want := range map[int][]string{1: {"a", "b"}, 3: {"a", "b"}, 4: nil} {
		s := &server{
			answers: map[string]string{
				first: `{"metadata":{"continue":"x"},"items":[{"metadata":{"name":"b"}}]}`, next: `{"metadata":{},"items":[{"metadata":{"name":"a"}}]}`,
				next + " fails": `{"kind":"Status","reason":"Expired","message":"the list is too old"}`,
			},
			status: map[string][]int{next: gones[:gone]},
		}
		got, err := connect(t, s).ControlPlanes(t.Context(), compile(t, objects))
		if diff := cmp.Diff(want, got); diff != "" || (err != nil) != (want == nil) {
			t.Errorf("gone %d times: %v (-want +got):\n%s", gone, err, diff)
		}
	}
}

// TestLookupAgain checks that a lookup that one caller has cancelled is read again for other callers.
func TestLookupAgain(t *testing.T) {
	s := &server{answers: map[string]string{
		"GET " + base: namespace,
		"GET /apis/extensions.gardener.cloud/v1alpha1/clusters/shoot--a--b": cluster,
		"GET " + base + "/configmaps?limit=250":                             `{"items":[` + configMap("cloud-a", "") + `,` + configMap("exact", "") + `]}`,
		"GET " + base + "/secrets/cloud":                                    `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"cloud"},"data":{"region":"ZXU="}}`,
		"GET /apis/acme.example.com/v1/namespaces/shoot--a--b/clouds/c":     `{"apiVersion":"acme.example.com/v1","kind":"Cloud","metadata":{"name":"c"},"spec":{"region":"-1"}}`,
	}}
	program := compile(t, objects)
	plane, err := connect(t, s).Snapshot(t.Context(), "shoot--a--b", program)
	if err != nil {
		t.Fatal(err)
	}
	admit := func(ctx context.Context) (string, error) {
		change, err := compare.CompiledSide{Program: program}.Admit(ctx, plane.Snapshot, plane.Snapshot.Objects[0])
		if err != nil || change.Denied != nil {
			return "", errors.Join(err, errors.New("it is not admitted"))
		}
		return labelsOf(t, change.Bytes()), nil
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := admit(cancelled); err == nil {
		t.Errorf("with a cancelled context: got %s", got)
	}
	if got, err := admit(t.Context()); err != nil || got != `{"region":"eu-1"}` {
		t.Errorf("got %s and error %v", got, err)
	}
}

// TestInstalled checks the meaning of the answer to a dry run.
func TestInstalled(t *testing.T) {
	const update = "PUT " + base + "/configmaps/exact?dryRun=All&fieldManager=graft&fieldValidation=Ignore"
	status := func(message string) string {
		return fmt.Sprintf(`{"kind":"Status","message":%q}`, message)
	}
	const own = `admission webhook "controlplane.acme.graft.extensions.gardener.cloud" denied the request: LookupMissing: no Secret`
	for _, c := range []struct {
		name   string
		answer string
		codes  []int
		// labels, denied and unknown are the expected result.
		labels, denied, unknown string
	}{
		{name: "the object is changed", answer: stored(`,"labels":{"a":"b"},"annotations":{"graft.provider.extensions.gardener.cloud/mutated-by-controlplane":"p"}`), labels: `{"a":"b"}`},
		{name: "the object is denied", answer: status(own), codes: []int{403}, denied: "LookupMissing: no Secret"},
		{name: "another webhook denies the object", answer: status(strings.Replace(own, ".graft.", ".other.", 1)), codes: []int{403}, unknown: "another webhook refuses the dry run"},
		{name: "a request that is not permitted", answer: status("you may not update"), codes: []int{403}, unknown: "the dry run is not permitted, which needs the verb update"},
		{name: "a webhook that does not answer", answer: status(`Internal error occurred: failed calling webhook "x": refused`), codes: []int{500}, unknown: "the installed webhooks do not answer"},
		{name: "an object that the API server refuses", answer: status("spec: invalid"), codes: []int{422}, unknown: "the API server refuses the object as Gardener writes it: spec: invalid"},
		{name: "changed by another client", codes: []int{409}, labels: `{"a":"c"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{answers: map[string]string{
				update: c.answer, update + " fails": c.answer, "GET " + base: namespace,
				"GET /apis/extensions.gardener.cloud/v1alpha1/clusters/shoot--a--b": cluster,
				"GET " + base + "/configmaps/exact":                                 configMap("exact", ""),
				"GET " + base + "/configmaps?limit=250":                             `{"items":[` + configMap("exact", "") + `]}`,
			}, status: map[string][]int{update: c.codes}}
			if c.answer == "" {
				s.answers[update] = stored(`,"labels":{"a":"c"}`)
			}
			connected, program := connect(t, s), compile(t, objects)
			plane, err := connected.Snapshot(t.Context(), "shoot--a--b", program)
			if err != nil {
				t.Fatal(err)
			}
			change, err := seed.NewInstalled(connected, program).Admit(t.Context(), plane.Snapshot, plane.Snapshot.Objects[0])
			if c.unknown != "" {
				if !errors.Is(err, compare.ErrUnknown) || !strings.Contains(err.Error(), c.unknown) {
					t.Errorf("got error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.denied != "" {
				if change.Denied == nil || change.Denied.Error() != c.denied {
					t.Errorf("denied is %v", change.Denied)
				}
				return
			}
			if got := labelsOf(t, change.Bytes()); got != c.labels || strings.Contains(string(change.Bytes()), "mutated-by") {
				t.Errorf("got %s, want labels %s", change.Bytes(), c.labels)
			}
		})
	}
}

func labelsOf(t *testing.T, object []byte) string {
	t.Helper()
	o, err := manifest.New(object, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Metadata struct{ Labels map[string]string }
	}
	if err := json.Unmarshal(o.JSON, &read); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(read.Metadata.Labels)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

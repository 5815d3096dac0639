// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/tls"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// commandStep is a command line, its standard output and standard error, and its status.
type commandStep struct {
	Run    string
	Out    string `yaml:",omitempty"`
	Err    string `yaml:",omitempty"`
	Status int    `yaml:",omitempty"`
}

func runStep(command string) commandStep {
	var out, problems strings.Builder
	status := Main("test", strings.Fields(command), &Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
	return commandStep{Run: command, Out: out.String(), Err: problems.String(), Status: status}
}

// rewriteSteps writes the output of the commands below the head of the file, with -update.
func rewriteSteps[S any](t *testing.T, path string, content []byte, steps []S) {
	t.Helper()
	if !golden.Updating() {
		return
	}
	head, _, _ := strings.Cut(string(content), "\n- ")
	text, err := yaml.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(head+"\n"+string(text)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestInterpret runs the commands of testdata/interpret.yaml.
func TestInterpret(t *testing.T) {
	path, err := filepath.Abs("testdata/interpret.yaml")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var steps []commandStep
	if err := yaml.Unmarshal(content, &steps); err != nil || len(steps) == 0 {
		t.Fatal(err)
	}
	t.Chdir("testdata/interpret")
	for i := range steps {
		got := runStep(steps[i].Run)
		if diff := cmp.Diff(steps[i], got); diff != "" && !golden.Updating() {
			t.Errorf("%s (-want +got):\n%s", got.Run, diff)
		}
		steps[i] = got
	}
	rewriteSteps(t, path, content, steps)
}

// TestNoInterpreterProfile checks that a folder without a profile is an error.
func TestNoInterpreterProfile(t *testing.T) {
	empty := t.TempDir()
	for _, command := range []string{"interpreter ask testdata/interpret/queue.yaml", "interpreter kinds"} {
		got := runStep(command + " -p " + empty)
		if want := "no InterpreterProfile was found in " + empty; got.Status != 2 || got.Out != "" || !strings.Contains(got.Err, want) {
			t.Errorf("%s: status %d, %q, want %q", command, got.Status, got.Err, want)
		}
	}
}

// TestInterpretWebhook tests that a running webhook answers as the rules do in the process.
func TestInterpretWebhook(t *testing.T) {
	t.Chdir("testdata/interpret")
	profiles, err := (&interpreterFlags{paths: []string{"profile.yaml"}}).load()
	if err != nil {
		t.Fatal(err)
	}
	trusted := env.NewAuthority(t)
	server := httptest.NewUnstartedServer(api.New(api.Options{Interpreter: profiles.program, Log: logr.Discard()}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{trusted.Pair("server", "interpreter.graft.svc")}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	caller, err := dispatch.New(dispatch.Options{Hooks: dispatch.Any(api.KindContext, configuration.Endpoint{URL: server.URL, CABundle: trusted.PEM})})
	if err != nil {
		t.Fatal(err)
	}
	two := int32(2)
	options := interpret.Options{By: caller, Asks: caller.Asks, Replicas: &two, Observed: objectsIn(t, "observed.yaml")}
	members, err := os.ReadFile("members.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if options.Members, err = interpret.ParseMembers(source.File{Data: members}); err != nil {
		t.Fatal(err)
	}
	result, err := interpret.Run(t.Context(), objectsIn(t, "queue.yaml")[0], options)
	if err != nil {
		t.Fatal(err)
	}
	const question = "interpreter ask queue.yaml --replicas 2 --observed observed.yaml --members members.yaml -o json -p profile.yaml"
	var rules interpret.Document
	if step := runStep(question); step.Status != 0 || json.Unmarshal([]byte(step.Out), &rules) != nil {
		t.Fatalf("%s: %s", step.Out, step.Err)
	}
	want, got := answersOf(t, rules), answersOf(t, interpret.DocumentOf([]interpret.Result{result}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-rules +webhook):\n%s", diff)
	}
}

func objectsIn(t *testing.T, path string) []manifest.Object {
	t.Helper()
	objects, err := manifest.Read([]string{path}, strings.NewReader(""))
	if err != nil || len(objects) != 1 {
		t.Fatal(len(objects), err)
	}
	return objects
}

// answersOf are the answers about the one object, without who gave them.
func answersOf(t *testing.T, d interpret.Document) map[string]any {
	t.Helper()
	if len(d.Objects) != 1 {
		t.Fatalf("%v", d)
	}
	all := map[string]any{}
	for _, a := range d.Objects[0].Answers {
		a.Because = nil
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var decoded any
		if err := json.Unmarshal(raw, &decoded); err != nil {
			t.Fatal(err)
		}
		all[string(a.Operation)] = decoded
	}
	return all
}

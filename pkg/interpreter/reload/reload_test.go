// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// document is a profile with a number of replicas for queues.
func document(name, replicas string) []byte {
	return []byte("apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: InterpreterProfile\nmetadata: {name: " + name + "}\n" +
		"kinds:\n- apiVersion: acme.com/v1\n  kind: Queue\n  replicas: [{count: \"${ " + replicas + " }\"}]\n")
}

// files are the sources of the Reloader.
type files struct {
	texts [][]byte
	err   error
}

func (f *files) read() ([]source.File, error) {
	var all []source.File
	for i, text := range f.texts {
		all = append(all, source.File{Name: string(rune('a'+i)) + ".yaml", Data: text})
	}
	return all, f.err
}

var queue = interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}

// replicas is the answer for a queue.
func replicas(t *testing.T, r *Reloader) int32 {
	t.Helper()
	a, err := r.Interpret(t.Context(), interpreter.Request{Operation: interpreter.Replicas, Kind: queue, Object: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	return *a.Replicas
}

func metric(t *testing.T, registry *prometheus.Registry, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

const (
	failedHead   = "# HELP graft_interpreter_profile_reload_failed 1 if the newest profiles are invalid or rejected, and earlier ones stay active.\n# TYPE graft_interpreter_profile_reload_failed gauge\n"
	attemptsHead = "# HELP graft_interpreter_profile_reloads_total Attempts to activate changed profiles, by result: success or failure.\n# TYPE graft_interpreter_profile_reloads_total counter\n"
)

// TestReload checks that all profiles become active together, that invalid ones change nothing and are counted once,
// and that their correction is logged.
func TestReload(t *testing.T) {
	f, registry := &files{texts: [][]byte{document("one", "1")}}, prometheus.NewRegistry()
	behind, findings := profile.LoadInterpreters(source.File{Name: "behind.yaml", Data: document("behind", "9")})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	changed := 0
	r, err := Open(Options{
		Read: f.read, Behind: behind, Metrics: watch.NewMetrics(registry, "interpreter"), Log: logr.Discard(), Changed: func(*Active) { changed++ },
		Ignored: func() []string { return []string{"other.yaml"} },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := replicas(t, r); got != 1 || !r.Knows(queue) || r.Knows(interpreter.Kind{Group: "acme.com", Version: "v2", Kind: "Queue"}) {
		t.Errorf("got %d", got)
	}
	first := r.Active().Hash
	for _, step := range []struct {
		about   string
		texts   [][]byte
		err     error
		want    int32
		wrong   bool
		failure string
	}{
		{"keeps unchanged profiles", [][]byte{document("one", "1")}, nil, 1, false, ""},
		{"a changed profile", [][]byte{document("one", "2")}, nil, 2, false, ""},
		{"one more is broken", [][]byte{document("one", "3"), []byte("kind: InterpreterProfile")}, nil, 2, true, "b.yaml:1:1"},
		{"keeps the previous set while a file is broken", [][]byte{document("one", "3"), []byte("kind: InterpreterProfile")}, nil, 2, true, "b.yaml:1:1"},
		{"it cannot be read", nil, errors.New("gone"), 2, true, "gone"},
		{"the active profiles", [][]byte{document("one", "2")}, nil, 2, false, ""},
		{"an expression is wrong", [][]byte{document("one", "objekt.x")}, nil, 2, true, "objekt"},
		{"activates a profile that was fixed", [][]byte{document("one", "4")}, nil, 4, false, ""},
		{"it cannot be read", nil, errors.New("gone"), 4, true, "gone"},
		{"activates a file that is readable again", [][]byte{document("one", "4")}, nil, 4, false, ""},
		{"all profiles are deleted", nil, nil, 4, true, "no InterpreterProfile is left"},
		{"all profiles are still deleted", nil, nil, 4, true, "no InterpreterProfile is left"},
		{"activates a profile that was created again", [][]byte{document("one", "5")}, nil, 5, false, ""},
	} {
		f.texts, f.err = step.texts, step.err
		err := r.Load(t.Context())
		if (err != nil) != step.wrong || err != nil && !strings.Contains(err.Error(), step.failure) {
			t.Errorf("%s: %v", step.about, err)
		}
		if got := replicas(t, r); got != step.want {
			t.Errorf("%s: got %d", step.about, got)
		}
		value := "0"
		if step.wrong {
			value = "1"
		}
		metric(t, registry, failedHead+"graft_interpreter_profile_reload_failed "+value+"\n", "graft_interpreter_profile_reload_failed")
	}
	metric(t, registry, attemptsHead+"graft_interpreter_profile_reloads_total{result=\"failure\"} 5\ngraft_interpreter_profile_reloads_total{result=\"success\"} 5\n",
		"graft_interpreter_profile_reloads_total")
	if changed != 5 || r.Active().Hash == first {
		t.Errorf("want 5 calls of the callback and a new hash, got %d and %s", changed, r.Active().Hash)
	}
}

// TestOpenRefuses checks that a start with invalid profiles, or without any, fails.
func TestOpenRefuses(t *testing.T) {
	for about, test := range map[string]struct {
		files files
		want  string
	}{
		"reports that there is no profile":     {files{}, "no InterpreterProfile was found"},
		"names the file that is not YAML":      {files{texts: [][]byte{[]byte("a: [")}}, "a.yaml:"},
		"reports a folder that cannot be read": {files{err: errors.New("gone")}, "gone"},
	} {
		o := Options{Read: test.files.read, Log: logr.Discard()}
		_, err := Open(o)
		_, same := Check(o)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || cmp.Diff(err.Error(), same.Error()) != "" {
			t.Errorf("%s: %v, %v", about, err, same)
		}
	}
}

// TestEmpty checks that a path without a profile is only a warning.
func TestEmpty(t *testing.T) {
	behind, findings := profile.LoadInterpreters(source.File{Name: "behind.yaml", Data: document("behind", "9")})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	f := &files{}
	r, err := Open(Options{Read: f.read, Behind: behind, Log: logr.Discard(), Empty: func(from []string) []string {
		if len(from) == 0 {
			return []string{"/profiles"}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := "/profiles: contains no InterpreterProfile, and so no rules"
	if got := r.Active().Warnings; len(got) != 1 || got[0].Error() != want || got[0].Severity != source.Warning || got[0].Rule != source.NoDocument {
		t.Errorf("warnings %v, want %s", got, want)
	}
	f.texts = [][]byte{document("one", "1")}
	if err := r.Load(t.Context()); err != nil || len(r.Active().Warnings) > 0 || replicas(t, r) != 1 {
		t.Errorf("with profiles in the folder: want no error and no warnings, got %v, %v", err, r.Active().Warnings)
	}
}

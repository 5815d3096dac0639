// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// replica is one process: a store with the restored state of another process.
type replica struct {
	*Store
	lastGood *LastGood
	log      *strings.Builder
}

func newReplica(t *testing.T, c client.Client, parameters profile.Parameters) replica {
	t.Helper()
	log := &strings.Builder{}
	logger := funcr.New(func(_, line string) { log.WriteString(line + "\n") }, funcr.Options{})
	store := NewStore(compileTogether, parameters, NewMetrics(prometheus.NewRegistry()), logger)
	lastGood := &LastGood{Client: c, Reader: c, Namespace: "own", Name: "graft", Store: store, Log: logger}
	if err := lastGood.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	return replica{store, lastGood, log}
}

// load loads files and stores valid versions.
func (r replica) load(t *testing.T, files ...source.File) {
	t.Helper()
	_ = r.Load(t.Context(), &reader{files: files}) // its outcome is in the states
	if err := r.lastGood.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func keptVersions(t *testing.T, c client.Client) []corev1.ConfigMap {
	t.Helper()
	list := &corev1.ConfigMapList{}
	if err := c.List(t.Context(), list, client.InNamespace("own"), client.MatchingLabels{LastGoodLabel: "true"}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// inConfigMap returns the file as a key of a ConfigMap.
func inConfigMap(file source.File) source.File {
	return source.File{Name: "configmap/own/" + file.Name + "/profile.yaml", Data: file.Data}
}

func TestLastGood(t *testing.T) {
	a, b := inConfigMap(valued("a", "one", "1")), inConfigMap(valued("b", "two", "1"))
	c := fake.NewClientBuilder().Build()
	first := newReplica(t, c, nil)
	first.load(t, a, b)
	if got := len(keptVersions(t, c)); got != 2 {
		t.Fatalf("%d versions are kept", got)
	}
	first.load(t, typo(a), b)

	restarted := newReplica(t, c, nil)
	restarted.load(t, typo(a), b)
	if diff := cmp.Diff(a.Name+" last-good, "+b.Name+" valid", states(restarted.Store)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a=1", "b=1"}, activeValues(restarted.Store)); diff != "" {
		t.Error(diff)
	}
	restarted.load(t, inConfigMap(valued("a", "one", "2")), b)
	again := newReplica(t, c, nil)
	again.load(t, typo(a), b)
	if diff := cmp.Diff([]string{"a=2", "b=1"}, activeValues(again.Store)); diff != "" {
		t.Errorf("the version that was fixed is not kept: %s", diff)
	}
	again.load(t, b)
	if got := keptVersions(t, c); len(got) != 1 || got[0].Annotations[SourceAnnotation] != b.Name {
		t.Errorf("want only the version of the remaining profile, got %d versions", len(got))
	}
}

// TestLastGoodIsCheckedAgain checks that a stored version that this program rejects, or that was modified, is not used.
func TestLastGoodIsCheckedAgain(t *testing.T) {
	a, b := inConfigMap(valued("a", "one", "1")), inConfigMap(valued("b", "two", "1"))
	for name, spoil := range map[string]func(*corev1.ConfigMap){
		"a digest that does not match": func(kept *corev1.ConfigMap) { kept.Annotations[DigestAnnotation] = "0" },
		"data that is not compressed":  func(kept *corev1.ConfigMap) { kept.BinaryData[versionKey] = []byte("x") },
		"a ConfigMap without data":     func(kept *corev1.ConfigMap) { kept.BinaryData = nil },
		"a version that is rejected now": func(kept *corev1.ConfigMap) {
			v := &version{file: source.File{Name: a.Name, Data: []byte(strings.Replace(string(a.Data), "refuse: false", "refuse: true", 1))}}
			kept.Annotations[DigestAnnotation] = v.digest()
			var err error
			if kept.BinaryData[versionKey], err = pack(v); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().Build()
			newReplica(t, c, nil).load(t, a)
			kept := keptVersions(t, c)[0]
			spoil(&kept)
			if err := c.Update(t.Context(), &kept); err != nil {
				t.Fatal(err)
			}
			restarted := newReplica(t, c, nil)
			restarted.load(t, typo(a), b)
			if diff := cmp.Diff(a.Name+" invalid, "+b.Name+" valid", states(restarted.Store)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLastGoodParameters checks that a version is stored with its parameters: an invalid new value does not deny
// objects.
func TestLastGoodParameters(t *testing.T) {
	parameters := func(value string) profile.Parameters {
		p, err := profile.ParseParameters(source.File{Name: "config.yaml", Data: []byte("a: {value: " + value + "}\n")})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, c := inConfigMap(valued("a", "one", "1")), fake.NewClientBuilder().Build()
	newReplica(t, c, parameters("2")).load(t, a)
	restarted := newReplica(t, c, parameters("[]"))
	restarted.load(t, a)
	if diff := cmp.Diff(a.Name+" last-good", states(restarted.Store)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a=2"}, activeValues(restarted.Store)); diff != "" {
		t.Error(diff)
	}
}

// TestLastGoodTooLarge checks that a version that is too large to store is reported, and that no older version replaces
// it.
func TestLastGoodTooLarge(t *testing.T) {
	noise := make([]byte, maxKeptBytes)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise)
	a, c := valued("a", "one", "1"), fake.NewClientBuilder().Build()
	r := newReplica(t, c, nil)
	r.load(t, a)
	a.Attachments = map[string][]byte{"noise": noise}
	r.load(t, a)
	if got := len(keptVersions(t, c)); got != 0 || !strings.Contains(r.log.String(), "too large to be stored for a restart") {
		t.Errorf("want no stored versions and a log entry, got %d versions and the log %s", got, r.log)
	}
}

func TestReports(t *testing.T) {
	a := inConfigMap(valued("a", "one", "1"))
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "a"}}
	c := fake.NewClientBuilder().WithObjects(object).Build()
	events := record.NewFakeRecorder(10)
	r := newReplica(t, c, nil)
	reports := &Reports{Client: c, Events: events, Namespace: "own", Name: "graft", Store: r.Store}
	file := valued("b", "two", "1")
	for i, step := range []struct {
		files     []source.File
		events    []string
		condition string
	}{
		{[]source.File{a, file}, nil, `"status":"True"`},
		{[]source.File{typo(a), file}, []string{"Warning ProfileLastGood profile a: the newest version is invalid"}, "controlplan"},
		{[]source.File{typo(a), file}, nil, `"reason":"LastGood"`},
		{[]source.File{a, typo(file)}, []string{"Normal ProfileValid profile a", "Warning ProfileLastGood profile b"}, `"status":"True"`},
	} {
		r.load(t, step.files...)
		if err := reports.Report(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for len(events.Events) > 0 {
			got = append(got, <-events.Events)
		}
		for _, want := range step.events {
			if !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("step %d: no event %q in %q", i, want, got)
			}
		}
		if len(got) != len(step.events) {
			t.Errorf("step %d: events %q", i, got)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		if text := object.Annotations[ConditionAnnotation]; !strings.Contains(text, step.condition) {
			t.Errorf("step %d: the condition is %s", i, text)
		}
	}
}

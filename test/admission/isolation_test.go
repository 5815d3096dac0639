// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
)

// isolated are two providers with a ConfigMap each.
type isolated struct {
	*program
	one, two           *corev1.ConfigMap
	shootOne, shootTwo string
}

// TestIsolation breaks the ConfigMap of one of two providers, and restarts the program with it.
func TestIsolation(t *testing.T) {
	options := programOptions{Config: "profiles: {configMaps: {enabled: true}}\n"}
	first := start(t, options)
	p := isolated{
		program: first,
		one:     configMap(first, "one", setFlag("one", "one", "value", `"1"`)), two: configMap(first, "two", setFlag("two", "two", "value", `"2"`)),
		shootOne: newShoot(t, "isolated-one", "one"), shootTwo: newShoot(t, "isolated-two", "two"),
	}
	for _, object := range []client.Object{p.one, p.two} {
		if err := land.Client().Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "both to be registered", func() error { return expectRegistered(t, "controlplane.one", "controlplane.two") })
	p.waitReady()
	syncWebhooks(t)
	eventually(t, "both versions to be kept", func() error { return expectKept(t, p.namespace, 2) })

	t.Run("kubectl apply is refused with the place", p.testApply)
	restart := func(change func()) {
		p.stop()
		change()
		options.Beside = p.program
		p.program = start(t, options)
	}
	wrong := strings.Replace(p.one.Data["profile.yaml"], "flags:", "flagz:", 1)
	t.Run("a restart serves the last good version", func(t *testing.T) {
		restart(func() { p.update(t, p.one, wrong) })
		p.expectState(t, "last-good")
		expectFlags(t, p.admit(t, p.shootOne), map[string]bool{"--value=1": true})
		expectFlags(t, p.admit(t, p.shootTwo), map[string]bool{"--value=2": true})
		eventually(t, "the condition", func() error { return p.expectCondition(t, `"reason":"LastGood"`) })
		eventually(t, "the event", func() error { return p.expectEvent(t, "ProfileLastGood") })
	})
	t.Run("the version goes with its ConfigMap", func(t *testing.T) {
		if err := land.Client().Delete(t.Context(), p.one); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the version to be deleted", func() error { return expectKept(t, p.namespace, 1) })
	})
	t.Run("a fresh start denies with the finding", func(t *testing.T) {
		restart(func() {
			p.one = configMap(p.program, "one", wrong)
			if err := land.Client().Create(t.Context(), p.one); err != nil {
				t.Fatal(err)
			}
		})
		p.expectState(t, "invalid")
		err := land.Client().Create(t.Context(), deployment(p.shootOne, "kube-controller-manager"))
		expectDenied(t, err, 503, "ProfileInvalid", "configmap/"+p.namespace+"/one/profile.yaml:7:5: ", `did you mean "flags"?`)
		expectFlags(t, p.admit(t, p.shootTwo), map[string]bool{"--value=2": true})
	})
	t.Run("what is fixed is served", func(t *testing.T) {
		p.update(t, p.one, strings.Replace(wrong, "flagz:", "flags:", 1))
		p.expectState(t, "valid")
		p.waitReady()
		expectFlags(t, p.admit(t, p.shootOne), map[string]bool{"--value=1": true})
		eventually(t, "the condition", func() error { return p.expectCondition(t, `"status":"True"`) })
	})
}

// testApply applies an invalid ConfigMap with kubectl, and a change of the metadata of a valid one.
func (p *isolated) testApply(t *testing.T) {
	edited := configMap(p.program, "one", strings.Replace(p.one.Data["profile.yaml"], "flags:", "flagz:", 1))
	edited.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	data, err := sigsyaml.Marshal(edited)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "one.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	apply := func() (string, error) {
		command := exec.CommandContext(t.Context(), land.Kubectl(), "--kubeconfig="+land.Kubeconfig(), "apply", "-f", file)
		output, err := command.CombinedOutput()
		return string(output), err
	}
	eventually(t, "the validation to be registered", func() error {
		output, err := apply()
		if err == nil {
			return fmt.Errorf("it is applied: %s", output)
		}
		for _, part := range []string{"denied the request", "one/profile.yaml:7:5: ", `did you mean "flags"?`} {
			if !strings.Contains(output, part) {
				t.Errorf("kubectl does not say %q: %s", part, output)
			}
		}
		return nil
	})
	// An object that was applied before the webhook was called is applied again unchanged.
	p.update(t, p.one, p.one.Data["profile.yaml"])
	p.expectState(t, "valid")
}

// update writes a profile into its ConfigMap.
func (p *isolated) update(t *testing.T, object *corev1.ConfigMap, text string) {
	t.Helper()
	current := &corev1.ConfigMap{}
	if err := land.Client().Get(t.Context(), client.ObjectKeyFromObject(object), current); err != nil {
		t.Fatal(err)
	}
	current.Data["profile.yaml"] = text
	if err := land.Client().Update(t.Context(), current); err != nil {
		t.Fatal(err)
	}
}

// expectState waits until the first profile has a state, and holds that the second one is valid.
func (p *isolated) expectState(t *testing.T, state string) {
	t.Helper()
	eventually(t, "the state "+state, func() error {
		if p.counter("graft_profile_state", labels{"profile": "one", "state": state}) != 1 {
			return errNotYet
		}
		return nil
	})
	if got := p.counter("graft_profile_state", labels{"profile": "two", "state": "valid"}); got != 1 {
		t.Errorf("the other profile is not valid: %v", got)
	}
	syncWebhooks(t)
}

// admit creates an object and deletes it again.
func (p *isolated) admit(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	object := create(t, deployment(namespace, "kube-controller-manager"))
	if err := land.Client().Delete(t.Context(), object.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	return object
}

func (p *isolated) expectCondition(t *testing.T, part string) error {
	t.Helper()
	current := &corev1.ConfigMap{}
	if err := land.Client().Get(t.Context(), client.ObjectKeyFromObject(p.one), current); err != nil {
		t.Fatal(err)
	}
	if text := current.Annotations[webhook.ConditionAnnotation]; !strings.Contains(text, part) {
		return fmt.Errorf("the condition is %s", text)
	}
	return nil
}

func (p *isolated) expectEvent(t *testing.T, reason string) error {
	t.Helper()
	events := &corev1.EventList{}
	if err := land.Client().List(t.Context(), events, client.InNamespace(p.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		if e := &events.Items[i]; e.Reason == reason && e.InvolvedObject.Kind == "ConfigMap" && e.InvolvedObject.Name == "one" && strings.Contains(e.Message, ":7:5: ") {
			return nil
		}
	}
	return errNotYet
}

// expectKept counts the last good versions in a namespace.
func expectKept(t *testing.T, namespace string, want int) error {
	t.Helper()
	list := &corev1.ConfigMapList{}
	if err := land.Client().List(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{webhook.LastGoodLabel: "true"}); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != want {
		return fmt.Errorf("%d versions are kept, want %d", len(list.Items), want)
	}
	return nil
}

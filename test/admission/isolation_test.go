// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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

var _ = Describe("a mistake in the ConfigMap of one of two providers", func() {
	It("leaves the other provider alone, and the last valid version active, until it is corrected", func(ctx SpecContext) {
		options := programOptions{Config: "profiles: {configMaps: {enabled: true}}\n"}
		first := start(ctx, options)
		p := isolated{
			program:  first,
			one:      configMap(first, "one", setFlag("one", "one", "value", `"1"`)),
			two:      configMap(first, "two", setFlag("two", "two", "value", `"2"`)),
			shootOne: newShoot(ctx, "isolated-one", "one"), shootTwo: newShoot(ctx, "isolated-two", "two"),
		}
		for _, object := range []client.Object{p.one, p.two} {
			Expect(land.Client().Create(ctx, object)).To(Succeed())
		}
		Eventually(expectRegistered).WithArguments(ctx, "controlplane.one", "controlplane.two").
			Should(Succeed(), "waiting for both to be registered")
		p.waitReady()
		syncWebhooks(ctx)
		Eventually(expectKept).WithArguments(ctx, p.namespace, 2).Should(Succeed(), "waiting for both versions to be kept")

		wrong := strings.Replace(p.one.Data["profile.yaml"], "flags:", "flagz:", 1)
		restart := func(change func()) {
			p.stop()
			change()
			options.Beside = p.program
			p.program = start(ctx, options)
		}

		By("refusing it in kubectl apply with the place of the mistake")
		p.testApply(ctx)

		By("restarting the program, which serves the last valid version")
		restart(func() { p.update(ctx, p.one, wrong) })
		p.expectState(ctx, "last-good")
		expectFlags(p.admit(ctx, p.shootOne), map[string]bool{"--value=1": true})
		expectFlags(p.admit(ctx, p.shootTwo), map[string]bool{"--value=2": true})
		Eventually(p.expectCondition).WithArguments(ctx, `"reason":"LastGood"`).Should(Succeed(), "the condition")
		Eventually(p.expectEvent).WithArguments(ctx, "ProfileLastGood").Should(Succeed(), "the event")

		By("deleting the ConfigMap, and its last valid version with it")
		Expect(land.Client().Delete(ctx, p.one)).To(Succeed())
		Eventually(expectKept).WithArguments(ctx, p.namespace, 1).Should(Succeed(), "waiting for the version to be deleted")

		By("restarting the program without a good version, which denies objects with the finding")
		restart(func() {
			p.one = configMap(p.program, "one", wrong)
			Expect(land.Client().Create(ctx, p.one)).To(Succeed())
		})
		p.expectState(ctx, "invalid")
		err := land.Client().Create(ctx, deployment(p.shootOne, "kube-controller-manager"))
		expectDenied(err, 503, "ProfileInvalid", "configmap/"+p.namespace+"/one/profile.yaml:7:5: ", `did you mean "flags"?`)
		expectFlags(p.admit(ctx, p.shootTwo), map[string]bool{"--value=2": true})

		By("correcting the mistake")
		p.update(ctx, p.one, strings.Replace(wrong, "flagz:", "flags:", 1))
		p.expectState(ctx, "valid")
		p.waitReady()
		expectFlags(p.admit(ctx, p.shootOne), map[string]bool{"--value=1": true})
		Eventually(p.expectCondition).WithArguments(ctx, `"status":"True"`).Should(Succeed(), "the condition")
	})
})

// testApply applies an invalid ConfigMap with kubectl, and a change of the metadata of a valid one.
func (p *isolated) testApply(ctx context.Context) {
	edited := configMap(p.program, "one", strings.Replace(p.one.Data["profile.yaml"], "flags:", "flagz:", 1))
	edited.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	data, err := sigsyaml.Marshal(edited)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), "one.yaml")
	Expect(os.WriteFile(file, data, 0o600)).To(Succeed())
	apply := func() (string, error) {
		command := exec.CommandContext(ctx, land.Kubectl(), "--kubeconfig="+land.Kubeconfig(), "apply", "-f", file)
		output, err := command.CombinedOutput()
		return string(output), err
	}
	Eventually(func() error {
		output, err := apply()
		if err == nil {
			return fmt.Errorf("it is applied: %s", output)
		}
		for _, part := range []string{"denied the request", "one/profile.yaml:7:5: ", `did you mean "flags"?`} {
			Expect(output).To(ContainSubstring(part), "output of kubectl")
		}
		return nil
	}).Should(Succeed(), "waiting for the validation to be registered")
	// An object that was applied before the webhook was called is applied again unchanged.
	p.update(ctx, p.one, p.one.Data["profile.yaml"])
	p.expectState(ctx, "valid")
}

// update writes a profile into its ConfigMap.
func (p *isolated) update(ctx context.Context, object *corev1.ConfigMap, text string) {
	GinkgoHelper()
	current := &corev1.ConfigMap{}
	Expect(land.Client().Get(ctx, client.ObjectKeyFromObject(object), current)).To(Succeed())
	current.Data["profile.yaml"] = text
	Expect(land.Client().Update(ctx, current)).To(Succeed())
}

// expectState waits until the first profile has a state, and checks that the second one is valid.
func (p *isolated) expectState(ctx context.Context, state string) {
	GinkgoHelper()
	Eventually(func() error {
		if p.counter("graft_profile_state", labels{"profile": "one", "state": state}) != 1 {
			return errNotYet
		}
		return nil
	}).Should(Succeed(), "the state "+state)
	Expect(p.counter("graft_profile_state", labels{"profile": "two", "state": "valid"})).
		To(BeNumerically("==", 1), "the other profile is valid")
	syncWebhooks(ctx)
}

// admit creates an object and deletes it again.
func (p *isolated) admit(ctx context.Context, namespace string) *unstructured.Unstructured {
	GinkgoHelper()
	object := create(ctx, deployment(namespace, "kube-controller-manager"))
	Expect(land.Client().Delete(ctx, object.DeepCopy())).To(Succeed())
	return object
}

func (p *isolated) expectCondition(ctx context.Context, part string) error {
	GinkgoHelper()
	current := &corev1.ConfigMap{}
	Expect(land.Client().Get(ctx, client.ObjectKeyFromObject(p.one), current)).To(Succeed())
	if text := current.Annotations[webhook.ConditionAnnotation]; !strings.Contains(text, part) {
		return fmt.Errorf("the condition is %s", text)
	}
	return nil
}

func (p *isolated) expectEvent(ctx context.Context, reason string) error {
	GinkgoHelper()
	events := &corev1.EventList{}
	Expect(land.Client().List(ctx, events, client.InNamespace(p.namespace))).To(Succeed())
	for i := range events.Items {
		if e := &events.Items[i]; e.Reason == reason && e.InvolvedObject.Kind == "ConfigMap" &&
			e.InvolvedObject.Name == "one" && strings.Contains(e.Message, ":7:5: ") {
			return nil
		}
	}
	return errNotYet
}

// expectKept counts the last valid versions in a namespace.
func expectKept(ctx context.Context, namespace string, want int) error {
	GinkgoHelper()
	list := &corev1.ConfigMapList{}
	Expect(land.Client().List(ctx, list, client.InNamespace(namespace),
		client.MatchingLabels{webhook.LastGoodLabel: "true"})).To(Succeed())
	if len(list.Items) != want {
		return fmt.Errorf("%d versions are kept, want %d", len(list.Items), want)
	}
	return nil
}

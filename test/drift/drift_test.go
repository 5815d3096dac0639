// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/app"
)

const (
	first = "testdata/first.yaml"
	next  = "testdata/next.yaml"
)

// result is the result of a run of graft.
type result struct {
	status   int
	out, err string
}

// graft runs the command in this process.
func graft(profile string, arguments ...string) result {
	var out, problems bytes.Buffer
	s := &app.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}
	arguments = append([]string{"drift", "-p", profile, "--kubeconfig", land.Kubeconfig()}, arguments...)
	status := app.Main("test", arguments, s)
	return result{status, out.String(), problems.String()}
}

// found returns the states of the objects, each with the outcome of its touch.
func (r result) found() map[string]string {
	GinkgoHelper()
	var read struct {
		Findings []struct{ Kind, Name, State, Touched string }
	}
	Expect(json.Unmarshal([]byte(r.out), &read)).To(Succeed(), "reading the output of graft drift:\n%s%s", r.out, r.err)
	states := map[string]string{}
	for _, f := range read.Findings {
		states[f.Kind+" "+f.Name] = strings.TrimSuffix(f.State+" "+f.Touched, " ")
	}
	return states
}

// expect runs graft drift, and compares its exit status and its findings.
func expect(profile string, status int, want map[string]string, arguments ...string) {
	GinkgoHelper()
	got := graft(profile, append(arguments, "-o", "json")...)
	Expect(got.found()).To(BeComparableTo(want), "findings of graft drift; standard error:\n%s", got.err)
	Expect(got.status).To(Equal(status), "exit status of graft drift; standard error:\n%s", got.err)
}

// install copies a profile to the path from which the extension reads it.
func install(profile string) {
	GinkgoHelper()
	text, err := os.ReadFile(profile)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(folder, "profile.yaml"), text, 0o600)).To(Succeed())
}

// all returns the objects that the profiles have rules for, and more, in one state.
func all(state string, more ...string) map[string]string {
	states := map[string]string{}
	more = append(more, "ConfigMap cloud-config", "Deployment kube-apiserver", "Deployment kube-controller-manager")
	for _, name := range more {
		states[name] = state
	}
	return states
}

// nodes returns the names of the OperatingSystemConfigs.
func nodes() []string {
	GinkgoHelper()
	var names []string
	for name := range graft(first, "-o", "json").found() {
		if strings.HasPrefix(name, "OperatingSystemConfig ") {
			names = append(names, name)
		}
	}
	Expect(names).NotTo(BeEmpty(), "OperatingSystemConfigs that no webhook has mutated")
	return names
}

// The steps depend on each other: they are the life of one control plane.
var _ = Describe("graft drift", Ordered, func() {
	var osc []string

	BeforeAll(func() {
		install(first)
		osc = nodes()
	})

	It("reports every object as unmutated while there is no webhook", func() {
		expect(first, 1, all("unmutated", osc...))
	})

	It("reports that touching up to a limit changes nothing while there is no webhook", func() {
		want := all("unmutated stays")
		for _, name := range osc {
			want[name] = "unmutated"
		}
		expect(first, 1, want, "--touch", "--yes", "--rate", "50", "--limit", "3", "-n", shoot)
	})

	It("touches every unmutated object when the webhook is there, and finds nothing afterwards", func(ctx SpecContext) {
		p := start(ctx)
		called(ctx, p)
		expect(first, 0, all("unmutated fixed", osc...), "--touch", "--yes", "--rate", "50")
		expect(first, 0, map[string]string{})
		p.stop()
	})

	It("reports objects that were created or edited while the webhook was away", func(ctx SpecContext) {
		late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: shoot, Name: "cloud-late"}}
		Expect(land.Client().Create(ctx, late)).To(Succeed())
		replaceFlag(ctx, "--v=3", "--v=9")
		expect(first, 1, map[string]string{
			"ConfigMap cloud-late": "unmutated", "Deployment kube-controller-manager": "edited",
		})
	})

	It("reports objects that an older profile has mutated, and touches them only after --yes", func(ctx SpecContext) {
		install(next)
		p := start(ctx)
		called(ctx, p)
		missed := all("marked", osc...)
		missed["ConfigMap cloud-late"] = "unmutated"
		missed["Deployment kube-apiserver"], missed["Deployment kube-controller-manager"] = "outdated", "outdated"
		expect(next, 1, missed, "-n", shoot)

		for _, want := range []string{"acme/cloud", "acme/zone", "the profiles change nothing", "2 outdated"} {
			Expect(graft(next).out).To(ContainSubstring(want), "the report as text")
		}
		asked := graft(next, "--touch")
		Expect(asked.err).To(ContainSubstring("give --yes"), "touching without --yes and without a terminal")
		Expect(asked.status).To(Equal(2), "exit status without --yes; standard error:\n%s", asked.err)

		fixed := graft(next, "--touch", "--yes", "--rate", "50")
		Expect(fixed.out).To(ContainSubstring("Touched, fixed: 3."), "touching with --yes; standard error:\n%s", fixed.err)
		Expect(fixed.status).To(BeZero(), "exit status with --yes; standard error:\n%s", fixed.err)

		deployment := &appsv1.Deployment{}
		Expect(land.Client().Get(ctx, client.ObjectKey{Namespace: shoot, Name: "kube-apiserver"}, deployment)).To(Succeed())
		Expect(deployment.Annotations).To(HaveKeyWithValue("acme.example.com/zone", "a"), "annotation of the new profile")
		Expect(deployment.Annotations["acme.example.com/tier"]).To(BeEmpty(), "annotation of the old profile only")
		p.stop()
	})

	It("writes nothing but patches without content, by the audit log", func() {
		log, err := os.ReadFile(audit)
		Expect(err).NotTo(HaveOccurred())
		patches := 0
		for line := range bytes.Lines(log) {
			var event struct{ UserAgent, Verb, RequestURI string }
			Expect(json.Unmarshal(line, &event)).To(Succeed(), "reading an audit event: %s", line)
			if event.UserAgent == "graft" {
				patches++
				Expect(event.Verb).To(Equal("patch"), "verb of a request of graft: %s", event.RequestURI)
				Expect(event.RequestURI).To(HaveSuffix("?fieldManager=graft-drift"), "URI of a request of graft")
			}
		}
		Expect(patches).To(BeNumerically(">", 0), "requests of graft in the audit log")
	})
})

// called waits until kube-apiserver calls the webhook with the active profile.
func called(ctx SpecContext, p *process) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		if p.HasExited() {
			StopTrying("the extension exited").Now()
		}
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: shoot, Name: "cloud-probe"}}
		g.Expect(land.Client().Create(ctx, probe, client.DryRunAll)).To(Succeed())
		g.Expect(probe.Annotations).To(HaveKey("acme.example.com/shoot"))
	}).Should(Succeed(), "waiting until kube-apiserver calls the webhook")
}

// replaceFlag replaces a flag of kube-controller-manager.
func replaceFlag(ctx SpecContext, old, by string) {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: shoot, Name: "kube-controller-manager"}
	Expect(land.Client().Get(ctx, key, deployment)).To(Succeed())
	changed := false
	for i := range deployment.Spec.Template.Spec.Containers {
		c := &deployment.Spec.Template.Spec.Containers[i]
		for _, list := range [][]string{c.Command, c.Args} {
			if at := slices.Index(list, old); at >= 0 {
				list[at], changed = by, true
			}
		}
	}
	Expect(changed).To(BeTrue(), "kube-controller-manager has the flag %s", old)
	Expect(land.Client().Update(ctx, deployment)).To(Succeed())
}

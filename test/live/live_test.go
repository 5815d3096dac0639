// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/app"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// result is the result of a run of graft.
type result struct {
	status   int
	out, err string
}

// command runs graft in this process. It replaces the address of kube-apiserver, which differs between runs.
func command(kubeconfig string, arguments ...string) result {
	var out, problems bytes.Buffer
	s := &app.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}
	status := app.Main("test", append(arguments, "--kubeconfig", kubeconfig), s)
	host := land.Config().Host
	named := strings.NewReplacer(host, "https://seed", strings.TrimSuffix(host, "/"), "https://seed")
	return result{status, named.Replace(out.String()), named.Replace(problems.String())}
}

// expect compares the exit status, and the standard output with a file.
func (r result) expect(status int, file string) {
	GinkgoHelper()
	Expect(r.status).To(Equal(status), "exit status; standard error:\n%s", r.err)
	golden.Compare(GinkgoTB(), filepath.Join("testdata", file), r.out)
}

const (
	installed = "testdata/installed.yaml"
	next      = "testdata/next.yaml"
)

var _ = Describe("graft diff --live", func() {
	It("finds no difference for the installed profile", func() {
		command(land.Kubeconfig(), "diff", "--live", "-p", installed, "--exit-code").expect(0, "diff-installed.text")
	})

	It("shows the changes of the next profile, with and without dry runs, and changes no object", func(ctx SpecContext) {
		before := versions(ctx)
		command(land.Kubeconfig(), "diff", "--live", "-p", next, "--exit-code").expect(1, "diff-next.text")
		command(land.Kubeconfig(), "diff", "--live", "-p", next, "-n", namespaces[0], "--no-dry-run").
			expect(0, "diff-standing.text")
		Expect(versions(ctx)).To(BeComparableTo(before), "resource versions after the diffs")
	})

	It("names removed rules if a ConfigMap of the seed has the installed profile", func(ctx SpecContext) {
		text, err := os.ReadFile(installed)
		Expect(err).NotTo(HaveOccurred())
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-extension"}}
		profiles := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: "acme", Namespace: namespace.Name,
				Labels: map[string]string{"graft.provider.extensions.gardener.cloud/profile": "true"},
			},
			Data: map[string]string{"profile.yaml": string(text), "notes.txt": "none", "broken.yaml": "{"},
		}
		Expect(land.Client().Create(ctx, namespace)).To(Succeed())
		Expect(land.Client().Create(ctx, profiles)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(land.Client().Delete(ctx, profiles)).To(Succeed()) })
		command(land.Kubeconfig(), "diff", "--live", "-p", next, "-n", namespaces[1]).expect(0, "diff-known.text")
	})

	It("sends dry runs only, by the audit log", func() {
		command(land.Kubeconfig(), "diff", "--live", "-p", next)
		log, err := os.ReadFile(audit)
		Expect(err).NotTo(HaveOccurred())
		seen := 0
		for line := range bytes.Lines(log) {
			var event struct{ UserAgent, Verb, RequestURI string }
			Expect(json.Unmarshal(line, &event)).To(Succeed(), "reading an audit event: %s", line)
			if event.UserAgent == "graft" {
				seen++
				Expect(event.Verb).To(Equal("update"), "verb of a request of graft: %s", event.RequestURI)
				Expect(event.RequestURI).To(ContainSubstring("dryRun=All"), "URI of a request of graft")
			}
		}
		Expect(seen).To(BeNumerically(">", 0), "requests of graft in the audit log")
	})
})

var _ = Describe("graft explain --live", func() {
	arguments := []string{"explain", "deployment/kube-controller-manager", "--live", "-p", next}

	It("explains the rules for an object of the seed", func() {
		command(land.Kubeconfig(), append(slices.Clip(arguments), "-n", namespaces[0])...).expect(0, "explain.text")
	})

	It("asks for the namespace", func() {
		got := command(land.Kubeconfig(), slices.Clip(arguments)...)
		Expect(got.err).To(ContainSubstring("--namespace"), "standard output:\n%s", got.out)
		Expect(got.status).To(Equal(2), "exit status")
	})
})

// versions returns the resource versions of all objects that the profiles have rules for.
func versions(ctx SpecContext) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "ConfigMap"},
		{Group: "druid.gardener.cloud", Version: "v1alpha1", Kind: "Etcd"},
		{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "OperatingSystemConfig"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		for _, namespace := range namespaces {
			Expect(land.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
			for _, o := range list.Items {
				found[kind.Kind+" "+namespace+"/"+o.GetName()] = o.GetResourceVersion()
			}
		}
	}
	return found
}

// reading are the permissions in docs/usage/compare.md.
var reading = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list"}},
	{APIGroups: []string{"extensions.gardener.cloud"}, Resources: []string{"clusters"}, Verbs: []string{"get"}},
	{
		APIGroups: []string{"", "apps", "autoscaling.k8s.io", "druid.gardener.cloud", "extensions.gardener.cloud"},
		Resources: []string{
			"configmaps", "services", "deployments", "statefulsets", "verticalpodautoscalers", "etcds", "operatingsystemconfigs",
		},
		Verbs: []string{"get", "list"},
	},
}

// account returns the kubeconfig of a new account with some permissions.
func account(ctx SpecContext, name string, rules ...rbacv1.PolicyRule) string {
	GinkgoHelper()
	options := landscape.ServiceAccountOptions{Namespace: "people", Name: name, ClusterRules: rules}
	created, err := land.CreateServiceAccount(ctx, options)
	Expect(err).NotTo(HaveOccurred(), "creating the account %s", name)
	return created.Kubeconfig
}

var _ = Describe("the permissions for --live", Ordered, func() {
	// kubeconfigs has the path of a kubeconfig for each account.
	kubeconfigs := map[string]string{"without a kubeconfig": "testdata/none"}

	BeforeAll(func(ctx SpecContext) {
		secrets := rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"cloudprovider"},
			Verbs: []string{"get"},
		}
		updates := *reading[2].DeepCopy()
		updates.Verbs = []string{"update"}
		for name, rules := range map[string][]rbacv1.PolicyRule{
			"reader":          append(slices.Clip(reading), secrets),
			"dry-runner":      append(slices.Clip(reading), secrets, updates),
			"without-secrets": reading,
			"nobody":          nil,
		} {
			kubeconfigs[name] = account(ctx, name, rules...)
		}
	})

	DescribeTable("decide what graft shows", func(account, arguments string, status int, out, problem string) {
		got := command(kubeconfigs[account], strings.Fields(arguments)...)
		Expect(got.status).To(Equal(status), "exit status; standard output:\n%s\nstandard error:\n%s", got.out, got.err)
		Expect(got.out).To(ContainSubstring(out), "standard output")
		Expect(got.err).To(ContainSubstring(problem), "standard error")
		Expect(got.out+got.err).NotTo(ContainSubstring("hunter2"), "the password in the Secret")
	},
		Entry("reading is enough for a diff without dry runs",
			"reader", "diff --live -p "+next+" --no-dry-run", 0, "Deployment kube-controller-manager", ""),
		Entry("dry runs need the verb update",
			"reader", "diff --live -p "+next, 2,
			"the dry run is not permitted, which needs the verb update (--no-dry-run only reads)",
			"some objects could not be compared"),
		Entry("the verb update is enough for dry runs",
			"dry-runner", "diff --live -p "+next, 0, "Deployment kube-controller-manager", ""),
		Entry("a Secret that the profile looks up must be readable",
			"without-secrets", "diff --live -p "+next+" --no-dry-run", 2,
			"reading the Secret cloudprovider", "some objects could not be compared"),
		Entry("a namespace must exist",
			"reader", "diff --live -p "+next+" -n shoot--local--none", 2,
			"", "no control plane: the seed has no namespace shoot--local--none"),
		Entry("a namespace must have a Cluster",
			"reader", "diff --live -p "+next+" -n people", 2, "", "there is no Cluster people"),
		Entry("an account without permissions cannot list namespaces",
			"nobody", "diff --live -p "+next, 2, "", "listing namespaces: "),
		Entry("the kubeconfig must exist",
			"without a kubeconfig", "diff --live -p "+next, 2, "", "reading the kubeconfig"),
		Entry("manifests are refused",
			"reader", "diff --live -p "+next+" testdata/next.yaml", 2, "", "remove the manifests from the command"),
	)
})

var _ = Describe("graft while the installed webhooks do not answer", Ordered, func() {
	BeforeAll(func() {
		Expect(graft.Stop()).To(Succeed(), "stopping the extension")
		DeferCleanup(func(ctx SpecContext) { start(ctx) })
	})

	It("says so in a diff", func() {
		got := command(land.Kubeconfig(), "diff", "--live", "-p", next, "-n", namespaces[0])
		Expect(got.out).To(ContainSubstring("the installed webhooks do not answer: "), "standard error:\n%s", got.err)
		Expect(got.status).To(Equal(2), "exit status; standard error:\n%s", got.err)
	})

	It("compares the stored objects all the same", func() {
		got := command(land.Kubeconfig(), "diff", "--live", "-p", next, "-n", namespaces[0], "--no-dry-run")
		Expect(got.out).To(ContainSubstring("Deployment kube-controller-manager"), "standard error:\n%s", got.err)
		Expect(got.status).To(BeZero(), "exit status; standard error:\n%s", got.err)
	})
})

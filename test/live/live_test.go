// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// result is what a run of graft ends with.
type result struct {
	status   int
	out, err string
}

// command runs graft in this process. What is different at each run is named.
func command(t *testing.T, kubeconfig string, arguments ...string) result {
	t.Helper()
	var out, problems bytes.Buffer
	s := &app.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}
	status := app.Main("test", append(arguments, "--kubeconfig", kubeconfig), s)
	named := strings.NewReplacer(land.Config().Host, "https://seed", strings.TrimSuffix(land.Config().Host, "/"), "https://seed")
	return result{status, named.Replace(out.String()), named.Replace(problems.String())}
}

func (r result) expect(t *testing.T, status int, file string) {
	t.Helper()
	if r.status != status {
		t.Errorf("the exit status is %d, want %d; standard error:\n%s", r.status, status, r.err)
	}
	golden.Compare(t, filepath.Join("testdata", file), r.out)
}

const (
	installed = "testdata/installed.yaml"
	next      = "testdata/next.yaml"
)

func TestDiffOfWhatIsInstalled(t *testing.T) {
	command(t, land.Kubeconfig(), "diff", "--live", "-p", installed, "--exit-code").expect(t, 0, "diff-installed.text")
}

func TestDiffOfNext(t *testing.T) {
	before := versions(t)
	command(t, land.Kubeconfig(), "diff", "--live", "-p", next, "--exit-code").expect(t, 1, "diff-next.text")
	command(t, land.Kubeconfig(), "diff", "--live", "-p", next, "-n", namespaces[0], "--no-dry-run").expect(t, 0, "diff-standing.text")
	if diff := cmp.Diff(before, versions(t)); diff != "" {
		t.Errorf("objects were changed (-before +after):\n%s", diff)
	}
}

// TestDiffKnowsTheInstalledProfile holds that rules which are gone are told where the profile under which objects were written is in a
// ConfigMap of the seed, as the chart installs it.
func TestDiffKnowsTheInstalledProfile(t *testing.T) {
	text, err := os.ReadFile(installed)
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-extension"}}
	profiles := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "acme", Namespace: namespace.Name, Labels: map[string]string{"graft.provider.extensions.gardener.cloud/profile": "true"}},
		Data:       map[string]string{"profile.yaml": string(text), "notes.txt": "none", "broken.yaml": "{"},
	}
	for _, o := range []client.Object{namespace, profiles} {
		if err := land.Client().Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	command(t, land.Kubeconfig(), "diff", "--live", "-p", next, "-n", namespaces[1]).expect(t, 0, "diff-known.text")
	if err := land.Client().Delete(t.Context(), profiles); err != nil {
		t.Fatal(err)
	}
}

func TestCompare(t *testing.T) {
	command(t, land.Kubeconfig(), "compare", "--live", installed, next).expect(t, 0, "compare.text")
	got := command(t, land.Kubeconfig(), "compare", "--live", installed, installed, "--exit-code")
	if got.status != 0 || !strings.Contains(got.out, "nothing changes") {
		t.Errorf("status %d: %s%s", got.status, got.out, got.err)
	}
	if got := command(t, land.Kubeconfig(), "compare", "--live", next, next); !strings.Contains(got.out, "which is not OLD") {
		t.Errorf("nothing is said of another version: %s", got.out)
	}
}

// TestExplain holds what is said of the rules for an object of the seed.
func TestExplain(t *testing.T) {
	arguments := []string{"explain", "deployment/kube-controller-manager", "--live", "-p", next}
	command(t, land.Kubeconfig(), append(arguments, "-n", namespaces[0])...).expect(t, 0, "explain.text")
	if got := command(t, land.Kubeconfig(), arguments...); got.status != 2 || !strings.Contains(got.err, "--namespace") {
		t.Errorf("status %d: %s%s", got.status, got.out, got.err)
	}
}

// TestNothingIsWritten holds by the audit log that every writing request of graft was a dry run.
func TestNothingIsWritten(t *testing.T) {
	command(t, land.Kubeconfig(), "diff", "--live", "-p", next)
	log, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range bytes.Lines(log) {
		var event struct{ UserAgent, Verb, RequestURI string }
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		if event.UserAgent != "graft" {
			continue
		}
		if seen++; event.Verb != "update" || !strings.Contains(event.RequestURI, "dryRun=All") {
			t.Errorf("graft has written: %s %s", event.Verb, event.RequestURI)
		}
	}
	if seen == 0 {
		t.Error("the audit log has no request of graft")
	}
}

// versions are the versions of all objects that the profiles have rules for.
func versions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "ConfigMap"},
		{Group: "druid.gardener.cloud", Version: "v1alpha1", Kind: "Etcd"},
		{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "OperatingSystemConfig"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		for _, namespace := range namespaces {
			if err := land.Client().List(t.Context(), list, client.InNamespace(namespace)); err != nil {
				t.Fatal(err)
			}
			for _, o := range list.Items {
				found[kind.Kind+" "+namespace+"/"+o.GetName()] = o.GetResourceVersion()
			}
		}
	}
	return found
}

// reading are the permissions that docs/usage/compare.md asks for.
var reading = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list"}},
	{APIGroups: []string{"extensions.gardener.cloud"}, Resources: []string{"clusters"}, Verbs: []string{"get"}},
	{
		APIGroups: []string{"", "apps", "autoscaling.k8s.io", "druid.gardener.cloud", "extensions.gardener.cloud"},
		Resources: []string{"configmaps", "services", "deployments", "statefulsets", "verticalpodautoscalers", "etcds", "operatingsystemconfigs"},
		Verbs:     []string{"get", "list"},
	},
}

func account(t *testing.T, name string, more ...rbacv1.PolicyRule) string {
	t.Helper()
	created, err := land.CreateServiceAccount(t.Context(), landscape.ServiceAccountOptions{Namespace: "people", Name: name, ClusterRules: append(more, reading...)})
	if err != nil {
		t.Fatal(err)
	}
	return created.Kubeconfig
}

// TestPermissions holds what can be done with which permissions.
func TestPermissions(t *testing.T) {
	secrets := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"cloudprovider"}, Verbs: []string{"get"}}
	reader := account(t, "reader", secrets)
	updates := reading[2].DeepCopy()
	updates.Verbs = []string{"update"}
	dryRunner := account(t, "dry-runner", secrets, *updates)
	for _, c := range []struct {
		name, kubeconfig string
		arguments        []string
		status           int
		// out and err are in what is written.
		out, err string
	}{
		{"reading is enough without dry runs", reader, []string{"diff", "--live", "-p", next, "--no-dry-run"}, 0, "Deployment kube-controller-manager", ""},
		{"reading is enough to compare", reader, []string{"compare", "--live", installed, next}, 0, "Deployment kube-controller-manager", ""},
		{"dry runs need more", reader, []string{"diff", "--live", "-p", next}, 2, "the dry run is not permitted, which needs the verb update (--no-dry-run only reads)", "some objects could not be compared"},
		{"update is enough for them", dryRunner, []string{"diff", "--live", "-p", next}, 0, "Deployment kube-controller-manager", ""},
		{"what is not looked up is not needed", account(t, "without-secrets"), []string{"compare", "--live", installed, next}, 2, "reading the Secret cloudprovider", "some objects could not be compared"},
		{"no namespace", reader, []string{"diff", "--live", "-p", next, "-n", "shoot--local--none"}, 2, "", "no control plane: the seed has no namespace shoot--local--none"},
		{"a namespace without a Cluster", reader, []string{"diff", "--live", "-p", next, "-n", "people"}, 2, "", "there is no Cluster people"},
		{"no permission at all", nobody(t), []string{"diff", "--live", "-p", next}, 2, "", "listing namespaces: "},
		{"no kubeconfig", "testdata/none", []string{"diff", "--live", "-p", next}, 2, "", "reading the kubeconfig"},
		{"manifests as well", reader, []string{"diff", "--live", "-p", next, "testdata/next.yaml"}, 2, "", "do not give manifests as well"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := command(t, c.kubeconfig, c.arguments...)
			if got.status != c.status || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.err) {
				t.Errorf("status %d, want %d; standard output:\n%s\nstandard error:\n%s", got.status, c.status, got.out, got.err)
			}
			if strings.Contains(got.out+got.err, "hunter2") {
				t.Error("a password is shown")
			}
		})
	}
}

// nobody is the kubeconfig of an account without permissions.
func nobody(t *testing.T) string {
	t.Helper()
	created, err := land.CreateServiceAccount(t.Context(), landscape.ServiceAccountOptions{Namespace: "people", Name: "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	return created.Kubeconfig
}

// TestWithoutWebhooks holds what is said when the installed webhooks do not answer. It stops the extension and comes last.
func TestWithoutWebhooks(t *testing.T) {
	_ = graft.Stop()
	got := command(t, land.Kubeconfig(), "diff", "--live", "-p", next, "-n", namespaces[0])
	if got.status != 2 || !strings.Contains(got.out, "the installed webhooks do not answer: ") {
		t.Errorf("status %d: %s%s", got.status, got.out, got.err)
	}
	if got := command(t, land.Kubeconfig(), "compare", "--live", installed, next, "-n", namespaces[0]); got.status != 0 || !strings.Contains(got.out, "Deployment kube-controller-manager") {
		t.Errorf("status %d: %s%s", got.status, got.out, got.err)
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("the program", func() {
	It("is ready when its registration leads to it, and alive before", func(ctx SpecContext) { testReadiness(ctx) })
	It("registers its webhooks, and undoes foreign changes of the registration",
		func(ctx SpecContext) { testRegistration(ctx) })
	It("logs JSON, counts admissions, and reveals no values", func(ctx SpecContext) { testLogsAndMetrics(ctx) })
	It("serves runtime profiles when it is configured to", func(ctx SpecContext) { testProfiling(ctx) })
	It("answers a review that is half sent when it is stopped", func(ctx SpecContext) { testShutdown(ctx) })
	It("follows a rotation of its CA, and issues certificates when all Secrets are lost", func(ctx SpecContext) {
		testCertificates(ctx)
	})
	It("serves with two replicas, and the second takes over the registration",
		func(ctx SpecContext) { testReplicas(ctx) })
	for _, policy := range []string{"Fail", "Ignore"} {
		It("is replaced by the failure policy "+policy+" when it is killed",
			func(ctx SpecContext) { testNobodyAnswers(ctx, policy) })
	}
	It("runs next to an extension for the virtual garden in the same cluster", func(ctx SpecContext) { testRuntime(ctx) })
})

// testLogsAndMetrics writes the value of a Secret into an object, and looks for it everywhere else.
func testLogsAndMetrics(ctx context.Context) {
	const payload = "a-value-of-the-object"
	p := start(ctx, programOptions{
		Profiles:  map[string]string{"secret": failing["secret"], "key": failing["key"]},
		Arguments: []string{"--log-level=debug"},
		Values:    map[string]any{"lookups": map[string]any{"secrets": []any{"cloudprovider"}}},
	})
	namespace := newShoot(ctx, "logs", "secret")
	writeSecret(ctx, p, namespace)
	object := create(ctx, deployment(namespace, "kube-controller-manager", "--payload="+payload))
	containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	env, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "env")
	Expect(env).To(BeComparableTo([]any{map[string]any{"name": "PASSWORD", "value": secretValue}}), "the environment")
	denied := deployment(newShoot(ctx, "logs-denied", "key"), "kube-controller-manager", "--payload="+payload)
	expectDenied(land.Client().Create(ctx, denied), 500)

	status, metrics, err := get("http://" + p.Metrics + "/metrics")
	Expect(err).NotTo(HaveOccurred(), "reading the metrics")
	Expect(status).To(Equal(http.StatusOK), "status of the metrics")
	for _, line := range []string{
		`graft_admissions_total{provider="secret",result="patched",set="controlplane",target="kube-controller-manager"} 1`,
		`graft_admissions_total{provider="key",result="denied",set="controlplane",target="kube-controller-manager"} 1`,
		`graft_admission_failures_total{provider="key",reason="ExpressionFailed",set="controlplane"} 1`,
		`graft_admission_duration_seconds_count{provider="secret",set="controlplane"} 1`,
		`graft_rules_total{profile="secret",result="changed",rule="kube-controller-manager[0].env",set="controlplane",` +
			`target="kube-controller-manager"} 1`,
		`graft_profile_info{hash="`, `graft_profile_reloads_total{result="success"} 1`, `graft_profile_reload_failed 0`,
		`go_goroutines`, `process_resident_memory_bytes`,
	} {
		Expect(metrics).To(ContainSubstring(line), "metrics of the program")
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
		for _, address := range []string{p.Metrics, p.Health} {
			status, _, _ := get("http://" + address + path)
			Expect(status).To(Equal(http.StatusNotFound), "status of %s at %s, which is off", path, address)
		}
	}

	p.stop()
	log := p.log.String()
	for i, line := range strings.Split(strings.TrimSpace(log), "\n") {
		var entry struct {
			Level, Ts, Msg string
		}
		Expect(json.Unmarshal([]byte(line), &entry)).To(Succeed(), "decoding line %d of the log: %s", i+1, line)
		Expect([]string{entry.Level, entry.Ts, entry.Msg}).
			NotTo(ContainElement(""), "level, ts and msg of line %d: %s", i+1, line)
	}
	for _, value := range []string{secretValue, payload} {
		Expect(log).NotTo(ContainSubstring(value), "the log of the program")
		Expect(metrics).NotTo(ContainSubstring(value), "metrics of the program")
	}
}

// testProfiling checks that the profiling endpoints exist when they are enabled; otherwise their absence would prove
// nothing.
func testProfiling(ctx context.Context) {
	p := start(ctx, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
		Config: "debugging: {profiling: true}\n"})
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
		status, _, err := get("http://" + p.Metrics + path)
		Expect(err).NotTo(HaveOccurred(), "reading %s", path)
		Expect(status).To(Equal(http.StatusOK), "status of %s", path)
	}
}

// testRuntime runs a program for the seed and one that gardener-operator installed in the same cluster: neither changes
// objects of the other.
func testRuntime(ctx context.Context) {
	seed := start(ctx, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "seed", `"1"`)}})
	runtime := start(ctx, programOptions{
		Profiles:  map[string]string{"acme": setFlag("acme", "acme", "runtime", `"1"`)},
		Namespace: "runtime-extension-provider-graft",
		Values:    map[string]any{"gardener": map[string]any{"runtimeCluster": map[string]any{"enabled": true}}},
	})
	object := create(ctx, deployment(newShoot(ctx, "runtime", "acme"), "kube-controller-manager"))
	expectFlags(object, map[string]bool{"--seed=1": true, "--runtime=1": true})
	Expect(*registration(ctx).Webhooks[0].ClientConfig.URL).
		To(ContainSubstring(seed.Webhook), "the URL that the program of the seed has registered")
	// The chart's permissions do not reach further than the program's own registration.
	other, err := client.New(runtime.account.Config, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	Expect(other.Delete(ctx, registration(ctx))).NotTo(Succeed(), "deleting the registration of the other installation")
	Expect(other.Update(ctx, registration(ctx))).NotTo(Succeed(), "changing the registration of the other installation")
}

var _ = Describe("the command line of the program", Ordered, func() {
	var (
		run   []string
		wrong string
	)

	BeforeAll(func(ctx SpecContext) {
		wrong = filepath.Join(GinkgoT().TempDir(), "wrong.yaml")
		Expect(os.WriteFile(wrong, []byte(strings.Replace(setFlag("wrong", "acme", "secure-port", `"1"`), "providers",
			"provider", 1)), 0o600)).To(Succeed())
		account := createAccount(ctx, "extension-command-line", nil, "")
		run = []string{
			"--kubeconfig=" + account.Kubeconfig, "--webhook-config-namespace=extension-command-line",
			"--webhook-config-mode=url",
			"--webhook-config-url=127.0.0.1:1", "--webhook-config-server-host=127.0.0.1", "--metrics-bind-address=0",
			"--health-bind-address=127.0.0.1:0",
		}
	})

	expect := func(ctx context.Context, arguments []string, status int, want ...string) {
		GinkgoHelper()
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		command := exec.CommandContext(ctx, binary, arguments...)
		output, _ := command.CombinedOutput()
		Expect(command.ProcessState.ExitCode()).To(Equal(status), "the exit status")
		for _, part := range want {
			Expect(string(output)).To(ContainSubstring(part), "output of the program")
		}
	}

	It("prints its version with --version", func(ctx SpecContext) {
		version, err := os.ReadFile(filepath.Join(root, "VERSION"))
		Expect(err).NotTo(HaveOccurred())
		expect(ctx, []string{"--version"}, 0, programName+" "+strings.TrimSpace(string(version))+" (")
	})

	It("prints its flags with --help", func(ctx SpecContext) {
		expect(ctx, []string{"--help"}, 0, "Usage:", "--profile", "--gardener-version", "--webhook-config-mode",
			"--leader-election", "--metrics-bind-address")
	})

	It("refuses an unknown flag", func(ctx SpecContext) {
		expect(ctx, []string{"--no-such-flag"}, 1, "unknown flag: --no-such-flag")
	})

	It("refuses to run without profiles", func(ctx SpecContext) { expect(ctx, run, 1, "no profiles: give --profile") })

	It("refuses an invalid configuration with its place", func(ctx SpecContext) {
		expect(ctx, append(run, "--config="+wrong), 1, wrong+":1:13: ")
	})
})

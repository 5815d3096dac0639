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
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestOperations checks the program's promises to operators.
func TestOperations(t *testing.T) {
	t.Run("readiness", testReadiness)
	t.Run("registration", testRegistration)
	t.Run("logs and metrics", testLogsAndMetrics)
	t.Run("profiling when asked for", testProfiling)
	t.Run("shutdown", testShutdown)
	t.Run("certificates", testCertificates)
	t.Run("replicas", testReplicas)
	t.Run("nobody answers", testNobodyAnswers)
	t.Run("beside a virtual garden", testRuntime)
	t.Run("command line", testCommandLine)
}

// testLogsAndMetrics writes the value of a Secret into an object, and looks for it everywhere else.
func testLogsAndMetrics(t *testing.T) {
	const payload = "a-value-of-the-object"
	p := start(t, programOptions{
		Profiles:  map[string]string{"secret": failing["secret"], "key": failing["key"]},
		Arguments: []string{"--log-level=debug"},
		Values:    map[string]any{"lookups": map[string]any{"secrets": []any{"cloudprovider"}}},
	})
	namespace := newShoot(t, "logs", "secret")
	writeSecret(t, p, namespace)
	object := create(t, deployment(namespace, "kube-controller-manager", "--payload="+payload))
	containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	env, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "env")
	if diff := cmp.Diff([]any{map[string]any{"name": "PASSWORD", "value": secretValue}}, env); diff != "" {
		t.Fatalf("the environment (-want +got):\n%s", diff)
	}
	denied := deployment(newShoot(t, "logs-denied", "key"), "kube-controller-manager", "--payload="+payload)
	expectDenied(t, land.Client().Create(t.Context(), denied), 500)

	status, metrics, err := get("http://" + p.Metrics + "/metrics")
	if err != nil || status != http.StatusOK {
		t.Fatalf("HTTP %d, %v", status, err)
	}
	for _, line := range []string{
		`graft_admissions_total{provider="secret",result="patched",set="controlplane",target="kube-controller-manager"} 1`,
		`graft_admissions_total{provider="key",result="denied",set="controlplane",target="kube-controller-manager"} 1`,
		`graft_admission_failures_total{provider="key",reason="ExpressionFailed",set="controlplane"} 1`,
		`graft_admission_duration_seconds_count{provider="secret",set="controlplane"} 1`,
		`graft_rules_total{profile="secret",result="changed",rule="kube-controller-manager[0].env",set="controlplane",target="kube-controller-manager"} 1`,
		`graft_profile_info{hash="`, `graft_profile_reloads_total{result="success"} 1`, `graft_profile_reload_failed 0`,
		`go_goroutines`, `process_resident_memory_bytes`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
		for _, address := range []string{p.Metrics, p.Health} {
			if status, _, _ := get("http://" + address + path); status != http.StatusNotFound {
				t.Errorf("%s at %s: HTTP %d, want that it is off", path, address, status)
			}
		}
	}

	p.stop()
	log := p.log.String()
	for i, line := range strings.Split(strings.TrimSpace(log), "\n") {
		var entry struct {
			Level, Ts, Msg string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level == "" || entry.Ts == "" || entry.Msg == "" {
			t.Errorf("line %d of the log is no JSON with level, ts and msg (%v): %s", i+1, err, line)
		}
	}
	for _, value := range []string{secretValue, payload} {
		if strings.Contains(log, value) || strings.Contains(metrics, value) {
			t.Errorf("%s is in the log or in the metrics", value)
		}
	}
}

// testProfiling holds that the profiles are there when they are asked for, without which their absence would prove nothing.
func testProfiling(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}, Config: "debugging: {profiling: true}\n"})
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
		if status, _, err := get("http://" + p.Metrics + path); status != http.StatusOK {
			t.Errorf("%s: HTTP %d, %v", path, status, err)
		}
	}
}

// testRuntime runs a program for the seed and one that gardener-operator installed in the same cluster: neither changes
// objects of the other.
func testRuntime(t *testing.T) {
	seed := start(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "seed", `"1"`)}})
	runtime := start(t, programOptions{
		Profiles:  map[string]string{"acme": setFlag("acme", "acme", "runtime", `"1"`)},
		Namespace: "runtime-extension-provider-graft",
		Values:    map[string]any{"gardener": map[string]any{"runtimeCluster": map[string]any{"enabled": true}}},
	})
	object := create(t, deployment(newShoot(t, "runtime", "acme"), "kube-controller-manager"))
	expectFlags(t, object, map[string]bool{"--seed=1": true, "--runtime=1": true})
	if got := *registration(t).Webhooks[0].ClientConfig.URL; !strings.Contains(got, seed.Webhook) {
		t.Errorf("the registration of the seed leads to %s", got)
	}
	// The chart's permissions do not reach further than the program's own registration.
	other, err := client.New(runtime.account.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Delete(t.Context(), registration(t)); err == nil {
		t.Error("the one may delete the registration of the other")
	}
	if err := other.Update(t.Context(), registration(t)); err == nil {
		t.Error("the one may change the registration of the other")
	}
}

// testCommandLine runs the program for its output.
func testCommandLine(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(wrong, []byte(strings.Replace(setFlag("wrong", "acme", "secure-port", `"1"`), "providers", "provider", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	account := createAccount(t, "extension-command-line", nil, "")
	run := []string{
		"--kubeconfig=" + account.Kubeconfig, "--webhook-config-namespace=extension-command-line", "--webhook-config-mode=url",
		"--webhook-config-url=127.0.0.1:1", "--webhook-config-server-host=127.0.0.1", "--metrics-bind-address=0", "--health-bind-address=127.0.0.1:0",
	}
	for name, test := range map[string]struct {
		arguments []string
		status    int
		output    []string
	}{
		"version":               {[]string{"--version"}, 0, []string{programName + " " + builtVersion}},
		"help":                  {[]string{"--help"}, 0, []string{"Usage:", "--profile", "--gardener-version", "--webhook-config-mode", "--leader-election", "--metrics-bind-address"}},
		"an unknown flag":       {[]string{"--no-such-flag"}, 1, []string{"unknown flag: --no-such-flag"}},
		"no profiles":           {run, 1, []string{"no profiles: give --profile"}},
		"a wrong configuration": {append(run, "--config="+wrong), 1, []string{wrong + ":1:13: "}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			command := exec.CommandContext(ctx, binary, test.arguments...)
			output, _ := command.CombinedOutput()
			if got := command.ProcessState.ExitCode(); got != test.status {
				t.Errorf("the exit status is %d, want %d", got, test.status)
			}
			for _, part := range test.output {
				if !strings.Contains(string(output), part) {
					t.Errorf("%q is not in the output:\n%s", part, output)
				}
			}
		})
	}
}

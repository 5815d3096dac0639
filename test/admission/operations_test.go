// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const leaseName = programName + "-leader-election"

// TestOperations holds what those who operate the program rely on.
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

// testReadiness starts a replica while another one holds the lease: it lives, and is not ready before it has registered what
// leads to it.
func testReadiness(t *testing.T) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: leaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("somebody else"), LeaseDurationSeconds: ptr.To(int32(3600)),
		AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro()),
	}}
	p := launch(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}, Before: func(namespace string) {
		lease.Namespace = namespace
		if err := land.Client().Create(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}})
	eventually(t, "the program to live", func() error {
		status, body, err := get("http://" + p.health + "/healthz")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("HTTP %d, %v: %s", status, err, body)
		}
		return nil
	})
	p.log.waitFor(t, "attempting to acquire leader lease "+p.namespace+"/"+leaseName)
	eventually(t, "the webhook server to serve", func() error {
		status, body, _ := get("http://" + p.health + "/readyz?verbose")
		if status == http.StatusOK {
			t.Fatalf("the program is ready before it is registered: %s", body)
		}
		if !strings.Contains(body, "[+]webhook-server ok") || !strings.Contains(body, "[+]profiles ok") || !strings.Contains(body, "[-]registration failed") {
			return fmt.Errorf("the checks are %s", body)
		}
		return nil
	})
	if err := land.Client().Delete(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	p.waitReady()
	if status, body, err := get("http://" + p.health + "/healthz"); err != nil || status != http.StatusOK {
		t.Errorf("/healthz: HTTP %d, %v: %s", status, err, body)
	}
}

// testRegistration holds what the API server is told, and that what others do to it is undone.
func testRegistration(t *testing.T) {
	p := start(t, programOptions{
		Profiles:  map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
		Arguments: []string{"--heartbeat-renew-interval-seconds=1"},
	})
	found := registration(t)
	got := found.Webhooks[0].DeepCopy()
	if len(got.ClientConfig.CABundle) == 0 {
		t.Error("there is no CA bundle")
	}
	got.ClientConfig.CABundle = nil
	want := &admissionregistrationv1.MutatingWebhook{
		Name:         "controlplane.acme.graft.extensions.gardener.cloud",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + p.webhook + "/webhooks/controlplane/acme")},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}, Scope: ptr.To(admissionregistrationv1.NamespacedScope),
			},
		}},
		FailurePolicy: ptr.To(admissionregistrationv1.Fail),
		MatchPolicy:   ptr.To(admissionregistrationv1.Equivalent),
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "shoot.gardener.cloud/provider", Operator: metav1.LabelSelectorOpIn, Values: []string{"acme"}},
		}},
		ObjectSelector:          &metav1.LabelSelector{},
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          ptr.To(int32(10)),
		AdmissionReviewVersions: []string{"v1"},
		ReinvocationPolicy:      ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
		MatchConditions:         got.MatchConditions, // TestNamespaces holds what they do
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the webhook (-want +got):\n%s", diff)
	}
	if len(found.OwnerReferences) != 1 || found.OwnerReferences[0].Kind != "Namespace" || found.OwnerReferences[0].Name != p.namespace {
		t.Errorf("the owners are %v", found.OwnerReferences)
	}

	changed := found.DeepCopy()
	changed.Webhooks[0].FailurePolicy = ptr.To(admissionregistrationv1.Ignore)
	changed.Webhooks[0].NamespaceSelector = nil
	if err := land.Client().Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the change to be undone", func() error { return sameWebhooks(t, found) })
	if err := land.Client().Delete(t.Context(), found.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the registration to be made again", func() error { return sameWebhooks(t, found) })

	eventually(t, "the heartbeat", func() error {
		lease := &coordinationv1.Lease{}
		if err := land.Client().Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "gardener-extension-heartbeat"}, lease); err != nil {
			return err
		}
		if lease.Spec.RenewTime == nil || time.Since(lease.Spec.RenewTime.Time) > patience {
			return fmt.Errorf("it was renewed at %v", lease.Spec.RenewTime)
		}
		return nil
	})
}

// sameWebhooks says whether the registration has the webhooks.
func sameWebhooks(t *testing.T, want *admissionregistrationv1.MutatingWebhookConfiguration) error {
	t.Helper()
	got := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := land.Client().Get(t.Context(), client.ObjectKeyFromObject(want), got); err != nil {
		return err
	}
	if diff := cmp.Diff(want.Webhooks, got.Webhooks); diff != "" {
		return errors.New(diff)
	}
	return nil
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

	status, metrics, err := get("http://" + p.metrics + "/metrics")
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
		for _, address := range []string{p.metrics, p.health} {
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
		if status, _, err := get("http://" + p.metrics + path); status != http.StatusOK {
			t.Errorf("%s: HTTP %d, %v", path, status, err)
		}
	}
}

// testShutdown ends the program while a review is half sent: it is answered, and the program ends with 0.
func testShutdown(t *testing.T) {
	p := start(t, programOptions{
		Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
		Config:   "shutdown: {delay: 300ms, timeout: 20s}\n",
	})
	namespace := newNamespace(t, "shutdown", nil)
	half := make(chan struct{})
	register(t, "slow", namespace, p.slowProxy(t, "/webhooks/controlplane/acme", func() {
		if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		p.log.waitFor(t, "Shutting down webhook server")
		if status, body, _ := get("http://" + p.health + "/readyz"); status == http.StatusOK {
			t.Errorf("the program is ready while it shuts down: %s", body)
		}
		close(half)
	}), nil)
	object := create(t, deployment(namespace, "kube-controller-manager"))
	<-half
	expectFlags(t, object, map[string]bool{"--value=x": true})
	if status := p.wait(); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	if !strings.Contains(p.log.String(), `"msg":"Stopped"`) {
		t.Error("the log does not say that the program stopped")
	}
}

// slowProxy sends half of a review to the program, calls between, and sends the rest.
func (p *program) slowProxy(t *testing.T, path string, between func()) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	to := p.client(t)
	config := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		reader, writer := io.Pipe()
		go func() {
			_, _ = writer.Write(body[:len(body)/2])
			between()
			_, _ = writer.Write(body[len(body)/2:])
			_ = writer.Close()
		}()
		response, err := to.Post("https://"+p.webhook+r.URL.RequestURI(), "application/json", reader)
		if err != nil {
			t.Error(err)
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	config.URL = ptr.To(*config.URL + path)
	return config
}

// testCertificates lets the CA change while the program runs, and then all Secrets go while it does not.
func testCertificates(t *testing.T) {
	profiles := map[string]string{"acme": setFlag("acme", "acme", "value", "x")}
	p := start(t, programOptions{Profiles: profiles})
	namespace := newShoot(t, "certificates", "acme")
	before := registration(t).Webhooks[0].ClientConfig.CABundle

	secrets := &corev1.SecretList{}
	if err := land.Client().List(t.Context(), secrets, client.InNamespace(p.namespace), client.HasLabels{"bundle-for"}); err != nil {
		t.Fatal(err)
	}
	if len(secrets.Items) != 1 {
		t.Fatalf("there are %d bundles, want one", len(secrets.Items))
	}
	// As around a rotation: a second bundle is there, which holds the CA of another.
	rotated := secrets.Items[0].DeepCopy()
	rotated.ObjectMeta = metav1.ObjectMeta{Namespace: p.namespace, Name: rotated.Name + "-next", Labels: rotated.Labels}
	other := serveTLS(t, http.NotFoundHandler()).CABundle
	rotated.Data = map[string][]byte{"bundle.crt": append(bytes.Clone(before), other...)}
	rotated.Immutable = nil
	if err := land.Client().Create(t.Context(), rotated); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the registration to trust the new CA too", func() error {
		bundle := registration(t).Webhooks[0].ClientConfig.CABundle
		if !bytes.Contains(bundle, bytes.TrimSpace(before)) || !bytes.Contains(bundle, bytes.TrimSpace(other)) {
			return errNotYet
		}
		return nil
	})
	p.waitReady()
	syncWebhooks(t)
	expectFlags(t, create(t, deployment(namespace, "kube-controller-manager")), map[string]bool{"--value=x": true})

	p.stop()
	if err := land.Client().DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(p.namespace)); err != nil {
		t.Fatal(err)
	}
	// The registration of the one before still stands, with CAs that are gone.
	next := start(t, programOptions{Profiles: profiles, Beside: p})
	if after := registration(t).Webhooks[0].ClientConfig.CABundle; bytes.Equal(after, before) || len(after) == 0 {
		t.Error("the registration did not follow the new CA")
	}
	if got := registration(t).Webhooks[0].ClientConfig.URL; *got != "https://"+next.webhook+"/webhooks/controlplane/acme" {
		t.Errorf("the registration leads to %s", *got)
	}
	object := stored(t, deployment(namespace, "kube-controller-manager"))
	next.expectCount(t, 1, "graft_admissions_total", labels{"result": "unchanged"}, func() {
		if err := land.Client().Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	})
}

// testReplicas runs two: both are ready, one leads, and when it ends the other takes over what the first had registered.
func testReplicas(t *testing.T) {
	profiles := map[string]string{"acme": setFlag("acme", "acme", "value", "x")}
	first := start(t, programOptions{Profiles: profiles})
	second := launch(t, programOptions{Profiles: profiles, Beside: first})
	second.waitReady()
	lease := &coordinationv1.Lease{}
	if err := land.Client().Get(t.Context(), client.ObjectKey{Namespace: first.namespace, Name: leaseName}, lease); err != nil {
		t.Fatal(err)
	}
	if got := *registration(t).Webhooks[0].ClientConfig.URL; !strings.Contains(got, first.webhook) {
		t.Errorf("the second replica wrote the registration: %s", got)
	}
	// Both serve: a replica need not lead for that.
	namespace := newNamespace(t, "replicas", nil)
	register(t, "second", namespace, second.clientConfig(t, "/webhooks/controlplane/acme"), nil)
	expectFlags(t, create(t, deployment(namespace, "kube-controller-manager")), map[string]bool{"--value=x": true})

	if status := first.stop(); status != 0 {
		t.Errorf("the first replica ended with %d", status)
	}
	eventually(t, "the second replica to lead", func() error {
		if got := *registration(t).Webhooks[0].ClientConfig.URL; !strings.Contains(got, second.webhook) {
			return fmt.Errorf("the registration leads to %s", got)
		}
		return nil
	})
}

// testNobodyAnswers kills the program. Its failure policy decides, and the objects of others are not its business.
func testNobodyAnswers(t *testing.T) {
	for policy, denied := range map[string]bool{"Fail": true, "Ignore": false} {
		t.Run(policy, func(t *testing.T) {
			p := start(t, programOptions{
				Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}, Config: "webhook: {failurePolicy: " + policy + "}\n",
			})
			namespace := newShoot(t, "nobody-"+strings.ToLower(policy), "acme")
			if err := p.command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-p.exited
			object := deployment(namespace, "kube-controller-manager")
			err := land.Client().Create(t.Context(), object)
			if denied {
				expectDenied(t, err, 500, "failed calling webhook", "controlplane.acme.graft.extensions.gardener.cloud")
			} else if err != nil {
				t.Error(err)
			}
			create(t, deployment(namespace, "gardener-resource-manager"))
		})
	}
}

// testRuntime runs a program for the seed and one that gardener-operator installed in the same cluster: neither touches what
// is the other's.
func testRuntime(t *testing.T) {
	seed := start(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "seed", `"1"`)}})
	runtime := start(t, programOptions{
		Profiles:  map[string]string{"acme": setFlag("acme", "acme", "runtime", `"1"`)},
		Namespace: "runtime-extension-provider-graft",
		Values:    map[string]any{"gardener": map[string]any{"runtimeCluster": map[string]any{"enabled": true}}},
	})
	object := create(t, deployment(newShoot(t, "runtime", "acme"), "kube-controller-manager"))
	expectFlags(t, object, map[string]bool{"--seed=1": true, "--runtime=1": true})
	if got := *registration(t).Webhooks[0].ClientConfig.URL; !strings.Contains(got, seed.webhook) {
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

// testCommandLine runs the program for what it prints.
func testCommandLine(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(wrong, []byte(strings.Replace(setFlag("wrong", "acme", "secure-port", `"1"`), "providers", "provider", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	account := createAccount(t, "extension-command-line", nil)
	run := []string{
		"--kubeconfig=" + account.Kubeconfig, "--webhook-config-namespace=extension-command-line", "--webhook-config-mode=url",
		"--webhook-config-url=127.0.0.1:1", "--webhook-config-server-host=127.0.0.1", "--metrics-bind-address=0", "--health-bind-address=127.0.0.1:0",
	}
	for name, test := range map[string]struct {
		arguments []string
		status    int
		output    []string
	}{
		"version":                     {[]string{"--version"}, 0, []string{programName + " " + builtVersion}},
		"help":                        {[]string{"--help"}, 0, []string{"Usage:", "--profile", "--gardener-version", "--webhook-config-mode", "--leader-election", "--metrics-bind-address"}},
		"an unknown flag":             {[]string{"--no-such-flag"}, 1, []string{"unknown flag: --no-such-flag"}},
		"no profiles":                 {run, 1, []string{"no profiles: give --profile"}},
		"a profile that is not there": {append(run, "--profile=/no/such/file"), 1, []string{"/no/such/file: no such file or directory"}},
		"a wrong profile": {append(run, "--profile="+wrong), 1, []string{
			wrong + `:4:1: `, `unknown field "provider" (did you mean "providers"?)`,
		}},
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

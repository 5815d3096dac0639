// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// settings lack the folder of profiles, the kubeconfig, and how Karmada reaches the replicas.
const settings = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ResourceInterpreterConfiguration
profiles: {paths: [%s]}
server: {address: "127.0.0.1:0"}
certificate: {secret: {name: interpreter}}
kubernetes: {kubeconfig: %s, namespace: graft-system}
registration: {name: graft, %s, syncPeriod: 1s}
metrics: {address: "127.0.0.1:0"}
shutdown: {delay: 1s, timeout: 10s}
logging: {format: text}
`

// configured is a file with the settings of replicas that are registered as reached says.
func configured(t *testing.T, profiles, reached string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, settings, profiles, account.Kubeconfig, reached), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

// mounted is a folder of profiles as the kubelet mounts a ConfigMap: a symbolic link is swapped.
type mounted struct {
	t      *testing.T
	folder string
	count  int
}

func (m *mounted) put(text string) {
	m.t.Helper()
	m.count++
	version := fmt.Sprint("..version", m.count)
	if err := os.Mkdir(filepath.Join(m.folder, version), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.folder, version, "acme.yaml"), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Symlink(version, filepath.Join(m.folder, "..new")); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(m.folder, "..new"), filepath.Join(m.folder, "..data")); err != nil {
		m.t.Fatal(err)
	}
	if m.count == 1 {
		if err := os.Symlink(filepath.Join("..data", "acme.yaml"), filepath.Join(m.folder, "acme.yaml")); err != nil {
			m.t.Fatal(err)
		}
	}
}

// kinds is a profile by which kinds have so many replicas.
func kinds(count string, names ...string) string {
	text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: InterpreterProfile\nmetadata: {name: acme}\nkinds:\n"
	for _, name := range names {
		text += "- {apiVersion: acme.com/v1, kind: " + name + ", replicas: [{count: " + count + "}]}\n"
	}
	return text
}

// replica is the real program in a process of its own.
type replica struct {
	*env.Process
	t       *testing.T
	b       *balancer
	address string
}

// start runs a replica, of which the balancer follows whether it is ready.
func start(t *testing.T, config string, b *balancer) *replica {
	t.Helper()
	p, err := env.Start(&env.Log{}, nil, binary, "--config="+config)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{Process: p, t: t, b: b}
	t.Cleanup(func() {
		r.Kill()
		if t.Failed() {
			t.Logf("its log:\n%s", r.Log)
		}
	})
	eventually(t, "it listens", func() bool { r.address = r.at("Listening"); return r.address != "" })
	go r.follow()
	return r
}

// at is the address that the log has behind a word.
func (r *replica) at(word string) string {
	found := regexp.MustCompile(word + `[^\n]*?(127\.0\.0\.1:[1-9][0-9]*)`).FindStringSubmatch(r.Log.String())
	if found == nil {
		return ""
	}
	return found[1]
}

// watcher asks those who watch, and does not wait for one that hangs.
var watcher = &http.Client{Timeout: 3 * time.Second}

func (r *replica) watch(path string) (status int, text string) {
	response, err := watcher.Get("http://" + r.at("Serving metrics") + path)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	all, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(all)
}

func (r *replica) follow() {
	for {
		select {
		case <-r.Exited():
			r.b.ready(r.address, false)
			return
		default:
		}
		status, _ := r.watch("/readyz")
		r.b.ready(r.address, status == http.StatusOK)
		time.Sleep(20 * time.Millisecond)
	}
}

func (b *balancer) count() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return len(b.targets)
}

// end ends a replica as the kubelet does.
func (r *replica) end() {
	r.t.Helper()
	if err := r.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	<-r.Exited()
	if code := r.State().ExitCode(); code != 0 {
		r.t.Errorf("it ended with %d", code)
	}
}

// names are the kinds that are registered.
func names() string {
	object, err := registered()
	if err != nil {
		return ""
	}
	return fmt.Sprint(object.Object["webhooks"])
}

// TestReplicas runs through the life of two replicas under steady calls: profiles that change, become invalid and valid
// again, and replicas that end and return. No call fails. Then the leader is killed, and the other replica writes.
func TestReplicas(t *testing.T) {
	alone(t)
	profiles := &mounted{t: t, folder: t.TempDir()}
	profiles.put(kinds("3", "Queue"))
	b := newBalancer(t)
	config := configured(t, profiles.folder, fmt.Sprintf(`url: "https://%s/interpret"`, b.Addr()))
	one, two := start(t, config, b), start(t, config, b)
	eventually(t, "both are ready", func() bool { return b.count() == 2 })
	k := newKarmada(t)
	k.more()

	batch := interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Batch"}
	if strings.Contains(names(), "Batch") {
		t.Error("a kind is registered that nobody knows")
	}
	profiles.put(kinds("4", "Queue", "Batch"))
	eventually(t, "the new kind is registered", func() bool { return strings.Contains(names(), "Batch") })
	eventually(t, "the new kind is answered", func() bool {
		a, err := k.current.Load().dispatcher.Interpret(t.Context(), question(batch, 0))
		return err == nil && *a.Replicas == 4
	})
	k.more()
	before := names()
	profiles.put(kinds("5, no: 1", "Queue"))
	for _, r := range []*replica{one, two} {
		eventually(t, "it is told that the profile is wrong", func() bool {
			_, text := r.watch("/metrics")
			return strings.Contains(text, "graft_interpreter_profile_reload_failed 1")
		})
	}
	if k.more(); names() != before {
		t.Error("what is registered has changed with a profile that is wrong")
	}
	profiles.put(kinds("5", "Queue"))
	eventually(t, "the kind is not registered any more", func() bool { return !strings.Contains(names(), "Batch") })
	if a, err := k.current.Load().dispatcher.Interpret(t.Context(), question(queue, 19<<20)); err != nil || *a.Replicas < 3 {
		t.Errorf("19 MiB: %v", err)
	}

	two.end()
	k.more()
	two = start(t, config, b)
	eventually(t, "it is ready again", func() bool { return b.count() == 2 })
	one.end()
	k.more()
	one = start(t, config, b)
	eventually(t, "it is ready again", func() bool { return b.count() == 2 })
	k.more()
	k.stop()
	if strings.Contains(one.Log.String(), "Issued a certificate") || strings.Contains(two.Log.String(), "Issued a certificate") {
		t.Error("a replica that comes back has issued what is there")
	}

	const leads = `Leadership changed	{"leader": true}`
	eventually(t, "one leads", func() bool { return strings.Contains(one.Log.String()+two.Log.String(), leads) })
	leader, other := one, two
	if strings.Contains(two.Log.String(), leads) {
		leader, other = two, one
	}
	leader.Kill()
	if err := objects.Resource(registration.Resource).Delete(t.Context(), "graft", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other one writes", func() bool { return strings.Contains(names(), "Queue") })
	if !strings.Contains(other.Log.String(), leads) {
		t.Error("it writes and does not lead")
	}
	eventually(t, "the other one answers", func() bool { return k.ask() == nil })
	for _, metric := range []string{
		`graft_interpreter_requests_total{code="200",dialect="ResourceInterpreterContext",kind="Queue.acme.com",operation="replicas"}`,
		`graft_interpreter_certificate_expiry_timestamp_seconds{certificate="authority"}`, "graft_interpreter_registration_current 1",
		"graft_interpreter_registration_failed 0", "go_goroutines", "process_open_fds",
	} {
		if _, text := other.watch("/metrics"); !strings.Contains(text, metric) {
			t.Errorf("there is no %s", metric)
		}
	}
	other.end()
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// patience bounds every wait. It is long, since a wait ends as soon as what it waits for is there.
const patience = 60 * time.Second

// programOptions say how a program is started.
type programOptions struct {
	// Profiles are the files in the folder of profiles; a name without text is that of an example.
	Profiles map[string]string
	// Config is added to the ControllerConfiguration, as YAML.
	Config string
	// Arguments are added to the command line, and Environment to that of the tests.
	Arguments   []string
	Environment []string
	// Values are laid over the default values of the chart, which decide on the permissions.
	Values map[string]any
	// Namespace is that of the program; one of its own by default.
	Namespace string
	// Before is called when the program's namespace is there, and the program not.
	Before func(namespace string)
	// Beside is a program whose namespace and permissions this one shares, as another replica.
	Beside *program
}

// program is a Graft that runs.
type program struct {
	t         *testing.T
	namespace string
	account   *landscape.Account
	values    map[string]any // of the chart
	profiles  string         // folder
	webhook   string         // host:port, and likewise the others
	metrics   string
	health    string
	log       *logBuffer
	command   *exec.Cmd
	exited    chan struct{}
}

// start runs a program and returns when the kube-apiserver calls it. It is stopped, and its registration removed, at the end
// of the test.
func start(t *testing.T, options programOptions) *program {
	t.Helper()
	p := launch(t, options)
	p.waitReady()
	syncWebhooks(t)
	return p
}

var programs int

// launch runs a program and returns at once.
func launch(t *testing.T, options programOptions) *program {
	t.Helper()
	p := &program{t: t, values: options.Values, profiles: t.TempDir(), log: &logBuffer{}, exited: make(chan struct{})}
	if options.Beside != nil {
		p.namespace, p.account = options.Beside.namespace, options.Beside.account
	} else {
		programs++
		p.namespace = cmp.Or(options.Namespace, fmt.Sprintf("extension-%d", programs))
		p.account = createAccount(t, p.namespace, options.Values)
	}
	if options.Before != nil {
		options.Before(p.namespace)
	}
	for name, text := range options.Profiles {
		if text == "" {
			text = example(t, name)
			copyFiles(t, name, p.profiles)
		}
		p.writeProfile(name+".yaml", text)
	}
	ports := freePorts(t, 3)
	p.webhook, p.metrics, p.health = ports[0], ports[1], ports[2]
	p.command = exec.Command(binary, append(p.arguments(p.writeConfig(options.Config)), options.Arguments...)...)
	p.command.Stdout, p.command.Stderr = p.log, p.log
	p.command.Env = append(p.command.Environ(), options.Environment...)
	// A group of its own: Ctrl-C in the terminal reaches the tests, which then stop the program.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.command.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.stop()
		unregister(t)
		if t.Failed() {
			t.Logf("the log of the program ends with:\n%s", p.log.tail(25))
		}
	})
	return p
}

func (p *program) arguments(config string) []string {
	_, port, _ := net.SplitHostPort(p.webhook)
	return []string{
		"--config=" + config, "--kubeconfig=" + p.account.Kubeconfig, "--profile=" + p.profiles,
		"--webhook-config-mode=url", "--webhook-config-url=" + p.webhook, "--webhook-config-namespace=" + p.namespace,
		"--webhook-config-server-host=127.0.0.1", "--webhook-config-server-port=" + port,
		"--metrics-bind-address=" + p.metrics, "--health-bind-address=" + p.health,
		"--heartbeat-namespace=" + p.namespace, // as in the chart
		"--kubernetes-versions=< 1.31",         // of which no flags are known: the profiles of the tests write flags of their own
	}
}

func (p *program) writeConfig(more string) string {
	text := "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\n" + more
	if !strings.Contains(more, "shutdown:") {
		// There is no Service that would have to forget the program.
		text += "\nshutdown: {delay: 0s, timeout: 20s}\n"
	}
	path := filepath.Join(p.t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// writeProfile puts a file into the folder of profiles at once, as the kubelet does with a mounted ConfigMap.
func (p *program) writeProfile(name, text string) {
	p.t.Helper()
	hidden := filepath.Join(p.profiles, "."+name)
	if err := os.WriteFile(hidden, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(hidden, filepath.Join(p.profiles, name)); err != nil {
		p.t.Fatal(err)
	}
}

// removeProfile takes a file out of the folder of profiles.
func (p *program) removeProfile(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.profiles, name)); err != nil {
		p.t.Fatal(err)
	}
}

// reload puts a file into the folder of profiles and returns when the program has it in force and the kube-apiserver follows.
func (p *program) reload(name, text string) {
	p.t.Helper()
	before := p.counter("graft_profile_reloads_total", labels{"result": "success"})
	p.writeProfile(name, text)
	eventually(p.t, "the profiles to be loaded", func() error {
		if got := p.counter("graft_profile_reloads_total", labels{"result": "success"}); got <= before {
			return fmt.Errorf("%v successful attempts, before there were %v", got, before)
		}
		return nil
	})
	p.waitReady()
	syncWebhooks(p.t)
}

// waitReady returns when /readyz says that admissions would be answered. A program that ended instead is fatal.
func (p *program) waitReady() {
	p.t.Helper()
	eventually(p.t, "the program to be ready", func() error {
		select {
		case <-p.exited:
			p.t.Fatalf("the program ended with %s", p.command.ProcessState)
		default:
		}
		status, body, err := get("http://" + p.health + "/readyz?verbose")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("HTTP %d, %v: %s", status, err, body)
		}
		return nil
	})
}

// stop asks the program to end, as a kubelet does, and returns its exit status.
func (p *program) stop() int {
	p.t.Helper()
	_ = p.command.Process.Signal(syscall.SIGTERM)
	return p.wait()
}

// wait returns the exit status of a program that ends.
func (p *program) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Error("the program did not end")
		_ = p.command.Process.Kill()
		<-p.exited
	}
	return p.command.ProcessState.ExitCode()
}

// unregister removes the registrations of programs that have ended: they would turn away what the next test writes.
func unregister(t *testing.T) {
	for _, name := range []string{programName, programName + "-runtime"} {
		configuration := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := client.IgnoreNotFound(land.Client().Delete(context.Background(), configuration)); err != nil {
			t.Error(err)
		}
	}
}

// registration is what the program has registered.
func registration(t *testing.T) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := land.Client().Get(t.Context(), client.ObjectKey{Name: programName}, configuration); err != nil {
		t.Fatal(err)
	}
	return configuration
}

// registered are the names of the webhooks, without their common end.
func registered(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, webhook := range registration(t).Webhooks {
		names = append(names, strings.TrimSuffix(webhook.Name, ".graft.extensions.gardener.cloud"))
	}
	slices.Sort(names)
	return names
}

// labels select series of a metric; series may have more.
type labels map[string]string

// counter is the sum over the series of a metric that have the labels.
func (p *program) counter(name string, selected labels) float64 {
	p.t.Helper()
	status, body, err := get("http://" + p.metrics + "/metrics")
	if err != nil || status != http.StatusOK {
		p.t.Fatalf("reading the metrics: HTTP %d, %v", status, err)
	}
	return sumOf(p.t, body, name, selected)
}

// sumOf adds up series in Prometheus' text format. Label values of Graft's metrics hold no commas or braces.
func sumOf(t *testing.T, text, name string, selected labels) float64 {
	t.Helper()
	var sum float64
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		series, value, _ := strings.Cut(strings.TrimPrefix(rest, "{"), "} ")
		if rest[0] == ' ' {
			series, value = "", strings.TrimSpace(rest)
		}
		if !matches(series, selected) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("the metric %q: %v", line, err)
		}
		sum += number
	}
	return sum
}

func matches(series string, selected labels) bool {
	found := labels{}
	for pair := range strings.SplitSeq(series, ",") {
		key, value, _ := strings.Cut(pair, "=")
		found[key] = strings.Trim(value, `"`)
	}
	for key, value := range maps.All(selected) {
		if found[key] != value {
			return false
		}
	}
	return true
}

// expectCount runs something and holds by how much a metric has grown then.
func (p *program) expectCount(t *testing.T, want float64, name string, selected labels, do func()) {
	t.Helper()
	before := p.counter(name, selected)
	do()
	if got := p.counter(name, selected) - before; got != want {
		t.Errorf("%s%v has grown by %v, want %v", name, selected, got, want)
	}
}

// eventually asks again and again until there is no error; an error that stays is fatal.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func get(url string) (int, string, error) {
	response, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// freePorts are addresses on the loopback interface on which nothing listens.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var (
		addresses []string
		listeners []net.Listener
	)
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		// All stay open until the last one is found, so that none is found twice.
		listeners = append(listeners, listener)
		addresses = append(addresses, listener.Addr().String())
	}
	for _, listener := range listeners {
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return addresses
}

// example is the text of an example profile.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "example", "profiles", name, "profile.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// copyFiles puts the files beside an example where its profile is put.
func copyFiles(t *testing.T, name, folder string) {
	t.Helper()
	beside := filepath.Join(root, "example", "profiles", name)
	if err := os.CopyFS(filepath.Join(folder, "files"), os.DirFS(filepath.Join(beside, "files"))); err != nil {
		t.Fatal(err)
	}
	images, err := os.ReadFile(filepath.Join(beside, "images.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "images.yaml"), images, 0o600); err != nil {
		t.Fatal(err)
	}
}

// logBuffer takes what a program prints while others read it.
type logBuffer struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}

// tail is the last lines.
func (l *logBuffer) tail(n int) string {
	lines := strings.Split(strings.TrimSpace(l.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// waitFor returns when the log holds a text.
func (l *logBuffer) waitFor(t *testing.T, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q in the log", text), func() error {
		if !strings.Contains(l.String(), text) {
			return errors.New("it is not there")
		}
		return nil
	})
}

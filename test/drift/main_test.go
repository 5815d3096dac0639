// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// What all tests share; TestMain sets it.
var (
	land   *landscape.Landscape
	audit  string
	folder string
)

const (
	// shoot is the namespace of the control plane, and extension that of the program.
	shoot     = "shoot--local--one"
	extension = "extension"
	program   = "../../bin/gardener-extension-provider-graft"
	// patience bounds every wait.
	patience = 60 * time.Second
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run is TestMain with defer.
func run(m *testing.M) int {
	logf.SetLogger(logr.Discard()) // of Gardener's components, which the tests link
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := os.Stat(program); err != nil {
		return failed(fmt.Errorf("%w; `make build` builds it", err))
	}
	var err error
	if folder, err = os.MkdirTemp("", "graft-drift-"); err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	audit = filepath.Join(folder, "audit.log")
	if land, err = landscape.Start(ctx, landscape.Options{AuditLog: audit}); err != nil {
		return failed(err)
	}
	defer func() { _ = land.Stop() }()
	if err := deploy(ctx, sample.Options{Kubernetes: "1.34.2", Namespace: shoot, Provider: "acme"}); err != nil {
		return failed(err)
	}
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// deploy writes the control plane of a shoot as gardenlet does, while there is no webhook.
func deploy(ctx context.Context, o sample.Options) error {
	namespace, err := sample.Namespace(o)
	if err != nil {
		return err
	}
	cluster, err := sample.Cluster(o)
	if err != nil {
		return err
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cloud-config", Namespace: o.Namespace}}
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: extension}}
	for _, object := range []client.Object{own, namespace, cluster, config} {
		if err := land.Client().Create(ctx, object); err != nil {
			return err
		}
	}
	objects, err := sample.ControlPlane(ctx, o)
	if err != nil {
		return err
	}
	for _, object := range objects {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(object.JSON, u); err != nil {
			return err
		}
		if err := land.Client().Create(ctx, u); err != nil {
			return fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}

// process is the extension in a process of its own.
type process struct {
	t       *testing.T
	command *exec.Cmd
	log     string
	metrics string
	exited  chan struct{}
}

// start runs the extension with the profile in the folder, as the account of a kubeconfig, until it is ready. What the configuration says beside goes on.
func start(t *testing.T, kubeconfig, configuration string) *process {
	t.Helper()
	config := filepath.Join(folder, "config.yaml")
	const head = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\n" +
		"shutdown: {delay: 0s, timeout: 5s}\nwebhook: {failurePolicy: Ignore}\n"
	if err := os.WriteFile(config, []byte(head+configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	addresses := freePorts(t, 3)
	_, port, _ := net.SplitHostPort(addresses[0])
	p := &process{t: t, log: filepath.Join(folder, "extension.log"), metrics: addresses[2], exited: make(chan struct{})}
	p.command = exec.CommandContext(context.WithoutCancel(t.Context()), program, "--config="+config, "--kubeconfig="+kubeconfig,
		"--profile="+filepath.Join(folder, "profile.yaml"),
		"--webhook-config-mode=url", "--webhook-config-url="+addresses[0], "--webhook-config-namespace="+extension,
		"--webhook-config-server-host=127.0.0.1", "--webhook-config-server-port="+port,
		"--metrics-bind-address="+p.metrics, "--health-bind-address="+addresses[1])
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p.command.Stdout, p.command.Stderr = log, log
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.command.Wait()
	}()
	t.Cleanup(p.stop)
	p.eventually("it is ready", func() bool { return p.get(addresses[1], "/readyz") != "" })
	return p
}

// stop ends the extension; its registration stays.
func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	<-p.exited
}

// get is the body of an answer; empty where it is none of success.
func (p *process) get(address, path string) string {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	return string(raw)
}

// metric is the value of a series; empty: there is none.
func (p *process) metric(series string) string {
	for line := range strings.Lines(p.get(p.metrics, "/metrics")) {
		if value, is := strings.CutPrefix(line, series+" "); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// eventually waits for what happens in the program.
func (p *process) eventually(what string, is func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) {
		select {
		case <-p.exited:
			p.t.Fatalf("the extension ended; it said\n%s", p.said())
		default:
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("it does not come true: %s; the extension said\n%s", what, p.said())
		}
	}
}

func (p *process) said() string {
	raw, _ := os.ReadFile(p.log)
	return string(raw)
}

func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var addresses []string
	var listeners []net.Listener
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners, addresses = append(listeners, listener), append(addresses, listener.Addr().String())
	}
	for _, listener := range listeners { // not before all are known, so that none comes twice
		_ = listener.Close()
	}
	return addresses
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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
	land  *landscape.Landscape
	audit string
	graft *extension
)

// namespaces are those of the two shoots, one of an older version that is highly available.
var namespaces = []string{"shoot--local--one", "shoot--local--two"}

// patience bounds every wait.
const patience = 60 * time.Second

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run is TestMain with defer.
func run(m *testing.M) int {
	logf.SetLogger(logr.Discard()) // of Gardener's components, which the tests link
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := os.MkdirTemp("", "graft-live-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	audit = filepath.Join(folder, "audit.log")
	if land, err = landscape.Start(ctx, landscape.Options{AuditLog: audit}); err != nil {
		return failed(err)
	}
	defer func() { _ = land.Stop() }()
	if graft, err = install(ctx, folder); err != nil {
		return failed(err)
	}
	defer graft.stop()
	for i, options := range []sample.Options{
		{Kubernetes: "1.34.2", Namespace: namespaces[0], Provider: "acme"},
		{Kubernetes: "1.32.10", Namespace: namespaces[1], Provider: "acme", HighAvailability: true},
	} {
		if err := deploy(ctx, options); err != nil {
			return failed(fmt.Errorf("deploying %s: %w", namespaces[i], err))
		}
	}
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// extension is the real program in a process of its own.
type extension struct {
	command *exec.Cmd
	health  string
	exited  chan struct{}
}

// install builds the extension and runs it with the profile in testdata until it would answer admissions.
func install(ctx context.Context, folder string) (*extension, error) {
	const program = "gardener-extension-provider-graft"
	binary := filepath.Join(folder, program)
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/"+program)
	build.Dir = filepath.Join("..", "..")
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the extension: %w\n%s", err, output)
	}
	config := filepath.Join(folder, "config.yaml")
	const configuration = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\nshutdown: {delay: 0s, timeout: 5s}\n"
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(ports[0])
	e := &extension{health: ports[1], exited: make(chan struct{})}
	e.command = exec.Command(binary, "--config="+config, "--kubeconfig="+land.Kubeconfig(), "--profile="+filepath.Join("testdata", "installed.yaml"),
		"--webhook-config-mode=url", "--webhook-config-url="+ports[0], "--webhook-config-namespace=extension",
		"--webhook-config-server-host=127.0.0.1", "--webhook-config-server-port="+port,
		"--leader-election=false", "--metrics-bind-address=0", "--health-bind-address="+e.health)
	log, err := os.Create(filepath.Join(folder, "extension.log"))
	if err != nil {
		return nil, err
	}
	e.command.Stdout, e.command.Stderr = log, log
	e.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	extensionNamespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "extension"}}
	if err := land.Client().Create(ctx, extensionNamespace); err != nil {
		return nil, err
	}
	if err := e.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(e.exited)
		_ = e.command.Wait()
	}()
	if err := e.waitReady(); err != nil {
		e.stop()
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%w; its log:\n%s", err, text)
	}
	return e, nil
}

func (e *extension) waitReady() error {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(50 * time.Millisecond) {
		select {
		case <-e.exited:
			return fmt.Errorf("the extension ended with %s", e.command.ProcessState)
		default:
		}
		response, err := http.Get("http://" + e.health + "/readyz")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("the extension was not ready within %s", patience)
}

// stop ends the extension; its registration stays.
func (e *extension) stop() {
	_ = e.command.Process.Signal(syscall.SIGTERM)
	<-e.exited
}

func freePorts(n int) ([]string, error) {
	var addresses []string
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners {
			_ = listener.Close()
		}
	}()
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, listener)
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

// deploy writes the control plane of a shoot as gardenlet does, with the Secret that the profile looks up. The API server calls the
// webhooks for all of it: it is asked before until it does.
func deploy(ctx context.Context, o sample.Options) error {
	namespace, err := sample.Namespace(o)
	if err != nil {
		return err
	}
	cluster, err := sample.Cluster(o)
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: "cloudprovider", Namespace: o.Namespace}
	secret := &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"region": "eu", "password": "hunter2"}}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cloud-config", Namespace: o.Namespace}}
	for _, object := range []client.Object{namespace, cluster, secret} {
		if err := land.Client().Create(ctx, object); err != nil {
			return err
		}
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		probe := config.DeepCopy()
		if err := land.Client().Create(ctx, probe, client.DryRunAll); err == nil && probe.Annotations["acme.example.com/region"] == "eu" {
			break
		} else if time.Since(began) > patience {
			return fmt.Errorf("the webhooks are not called: %w", err)
		}
	}
	if err := land.Client().Create(ctx, config); err != nil {
		return err
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

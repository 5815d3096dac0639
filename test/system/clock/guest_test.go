//go:build system && linux

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	namespace = "extension-provider-graft"
	shoot     = "shoot--sample--it"
	component = "kube-controller-manager"
	health    = "127.0.0.1:8081"
	flag      = "--cloud-provider=external"
	profile   = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
controlplane:
  kube-controller-manager:
  - flags: {set: {cloud-provider: external}}
`
)

// distance of a jump. It is longer than the validity of the CA, which Gardener's library creates for thirty days.
const distance = 40 * 24 * time.Hour

// scenario is the extension in a cluster, and what the test has observed.
type scenario struct {
	*cluster
	proxy    *proxy
	profile  string
	log      string
	start    time.Time
	restarts int
	calls    int
	// registered means that an admission has succeeded. From then on, no object may be stored without the changes.
	registered bool
}

// jumps lets the clock jump forward and back. It closes all connections to the webhook each time, because certificates
// are only checked for new ones.
func jumps(ctx context.Context) error {
	start := time.Now()
	c, err := startCluster(ctx)
	if err != nil {
		return err
	}
	s := &scenario{cluster: c, start: start, profile: filepath.Join(c.folder, "profile.yaml"), log: "extension.log"}
	s.report("the kube-apiserver is ready")
	if err := s.prepare(ctx); err != nil {
		return err
	}
	kubelet, stop := context.WithCancel(ctx)
	var finished sync.WaitGroup
	finished.Go(func() { s.keep(kubelet) })
	for _, step := range []struct {
		what string
		by   time.Duration
	}{{"the extension was started", 0}, {"the clock has jumped forward", distance},
		{"the clock has jumped back", -distance}} {
		if err = setClock(step.by); err != nil {
			break
		}
		s.proxy.closeConnections()
		if err = s.answered(ctx, step.what); err != nil {
			break
		}
	}
	stop()
	finished.Wait()
	if err != nil {
		log, _ := os.ReadFile(s.log)
		return fmt.Errorf("%w\nthe log of the extension:\n%s", err, tail(log))
	}
	return nil
}

// report prints a message with the elapsed time.
func (s *scenario) report(what string) {
	fmt.Printf("%7.1fs %s\n", time.Since(s.start).Seconds(), what)
}

// setClock moves the clock by a duration.
func setClock(by time.Duration) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return fmt.Errorf("reading the clock: %w", err)
	}
	now.Sec += int64(by / time.Second)
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &now); err != nil {
		return fmt.Errorf("setting the clock: %w", err)
	}
	return nil
}

// prepare creates the namespaces, the profile and the proxy of the webhook.
func (s *scenario) prepare(ctx context.Context) error {
	for name, labels := range map[string]map[string]string{namespace: nil,
		shoot: {"gardener.cloud/role": "shoot", "shoot.gardener.cloud/provider": "acme"}} {
		if err := s.client.Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
			return err
		}
	}
	var err error
	if s.proxy, err = newProxy(); err != nil {
		return err
	}
	return os.WriteFile(s.profile, []byte(profile), 0o600)
}

// keep runs the extension until the context ends. Like a kubelet with the chart's probes, it restarts the extension
// when it has exited or is not healthy.
func (s *scenario) keep(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := start(context.Background(), s.log, "./"+extension, "--kubeconfig="+s.kubeconfig, "--profile="+s.profile,
			"--webhook-config-mode=url", "--webhook-config-url="+s.proxy.address(), "--webhook-config-namespace="+namespace,
			"--webhook-config-server-host=127.0.0.1", "--health-bind-address="+health, "--metrics-bind-address=0",
			"--kubernetes-versions=< 1.31")
		if err != nil {
			s.report(err.Error())
			return
		}
		s.watch(ctx, p)
		p.end()
		s.restarts++
	}
}

// watch returns when the program must be restarted or the context ends. It must be healthy within five minutes, because
// a guest is slow, and may then fail three checks.
func (s *scenario) watch(ctx context.Context, p *process) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for failures, allowed := 0, 30; failures < allowed; {
		select {
		case <-ctx.Done():
			return
		case <-p.ended:
			s.report("the extension has exited: " + p.command.ProcessState.String())
			return
		case <-ticker.C:
		}
		if failures++; healthy(ctx) {
			failures, allowed = 0, 3
		}
	}
	s.report("the extension is not healthy")
}

// healthy returns whether the health endpoint answers with 200.
func healthy(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+health+"/healthz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// answered writes until ten writes in a row succeed. A failed write is repeated. It fails if an object was stored
// without the changes of its provider.
func (s *scenario) answered(ctx context.Context, what string) error {
	start, restarts, failed, succeeded := time.Now(), s.restarts, 0, 0
	err := eventually("admissions succeed after "+what, func() error {
		for succeeded < 10 {
			object := s.manager()
			if err := s.client.Patch(ctx, object, client.Apply, client.FieldOwner("it"), client.ForceOwnership); err != nil {
				succeeded, failed = 0, failed+1
				return err
			}
			if command := object.Spec.Template.Spec.Containers[0].Command; !slices.Contains(command, flag) {
				err := fmt.Errorf("an object was stored with the command %q", command)
				if succeeded = 0; s.registered {
					return fatal{err}
				}
				return err
			}
			succeeded++
		}
		s.registered = true
		return nil
	})
	if err == nil {
		s.report(fmt.Sprintf("%s: answered after %.1fs; %d writes failed, the extension was restarted %d times",
			what, time.Since(start).Seconds(), failed, s.restarts-restarts))
	}
	return err
}

// manager returns a Deployment without the changes, as Gardener writes it.
func (s *scenario) manager() *appsv1.Deployment {
	s.calls++
	selected := map[string]string{"app": component}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: shoot, Name: component,
			Annotations: map[string]string{"example.com/write": strconv.Itoa(s.calls)}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selected},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selected},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: component, Image: "registry.example.com/" + component + ":v1", Command: []string{"/" + component, "--v=2"},
				}}},
			},
		},
	}
}

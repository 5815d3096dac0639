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

// distance is how far the clock jumps: farther than the CA holds, which Gardener's library makes for thirty days.
const distance = 40 * 24 * time.Hour

// snapshot is the extension in a cluster, and how often objects were written there.
type snapshot struct {
	*cluster
	wire     *wire
	profile  string
	log      string
	began    time.Time
	restarts int
	calls    int
	// registered reports that admissions were answered before: from then on, none may pass.
	registered bool
}

// jumps lets the clock jump forward and back. Each time all connections to the webhook are cut, since one that is open
// asks for no certificate.
func jumps(ctx context.Context) error {
	began := time.Now()
	c, err := startCluster(ctx)
	if err != nil {
		return err
	}
	s := &snapshot{cluster: c, began: began, profile: filepath.Join(c.folder, "profile.yaml"), log: "extension.log"}
	s.say("the kube-apiserver serves")
	if err := s.prepare(ctx); err != nil {
		return err
	}
	kubelet, stop := context.WithCancel(ctx)
	var finished sync.WaitGroup
	finished.Go(func() { s.keep(kubelet) })
	for _, step := range []struct {
		what string
		by   time.Duration
	}{{"the extension has begun", 0}, {"the clock has jumped forward", distance},
		{"the clock has jumped back", -distance}} {
		if err = leap(step.by); err != nil {
			break
		}
		s.wire.cut()
		if err = s.answered(ctx, step.what); err != nil {
			break
		}
	}
	stop()
	finished.Wait()
	if err != nil {
		said, _ := os.ReadFile(s.log)
		return fmt.Errorf("%w\nthe extension said\n%s", err, tail(said))
	}
	return nil
}

func (s *snapshot) say(what string) { fmt.Printf("%7.1fs %s\n", time.Since(s.began).Seconds(), what) }

// leap sets the clock.
func leap(by time.Duration) error {
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

// prepare makes the namespaces, the profile and a way to the webhook.
func (s *snapshot) prepare(ctx context.Context) error {
	for name, labels := range map[string]map[string]string{namespace: nil,
		shoot: {"gardener.cloud/role": "shoot", "shoot.gardener.cloud/provider": "acme"}} {
		if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
			return err
		}
	}
	var err error
	if s.wire, err = newWire(); err != nil {
		return err
	}
	return os.WriteFile(s.profile, []byte(profile), 0o600)
}

// keep runs the extension as the kubelet does with the chart's probe: it is started again when it has ended, or was not
// healthy three times.
func (s *snapshot) keep(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := start(context.Background(), s.log, "./"+extension, "--kubeconfig="+s.kubeconfig, "--profile="+s.profile,
			"--webhook-config-mode=url", "--webhook-config-url="+s.wire.address(), "--webhook-config-namespace="+namespace,
			"--webhook-config-server-host=127.0.0.1", "--health-bind-address="+health, "--metrics-bind-address=0",
			"--kubernetes-versions=< 1.31")
		if err != nil {
			s.say(err.Error())
			return
		}
		s.watch(ctx, p)
		p.end()
		s.restarts++
	}
}

// watch returns when the program must be started again, or is not needed any more.
func (s *snapshot) watch(ctx context.Context, p *process) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for failures := 0; failures < 3; {
		select {
		case <-ctx.Done():
			return
		case <-p.ended:
			s.say("the extension has ended: " + p.command.ProcessState.String())
			return
		case <-ticker.C:
		}
		if failures++; healthy(ctx) {
			failures = 0
		}
	}
	s.say("the extension is not healthy")
}

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

// answered writes until ten calls one after the other have been answered. A call that was turned away is one that the
// caller makes again; one that was answered without the provider's changes is the end.
func (s *snapshot) answered(ctx context.Context, what string) error {
	began, restarts, denied, good := time.Now(), s.restarts, 0, 0
	err := eventually("admissions are answered after "+what, func() error {
		for good < 10 {
			object := s.manager()
			if err := s.client.Patch(ctx, object, client.Apply, client.FieldOwner("it"), client.ForceOwnership); err != nil {
				good, denied = 0, denied+1
				return err
			}
			if command := object.Spec.Template.Spec.Containers[0].Command; !slices.Contains(command, flag) {
				err := fmt.Errorf("an object passed with the command %q", command)
				if good = 0; s.registered {
					return fatal{err}
				}
				return err
			}
			good++
		}
		s.registered = true
		return nil
	})
	if err == nil {
		s.say(fmt.Sprintf("%s: answered after %.1fs; %d calls were turned away, the extension was started again %d times",
			what, time.Since(began).Seconds(), denied, s.restarts-restarts))
	}
	return err
}

// manager is a Deployment as Gardener writes it: without the changes.
func (s *snapshot) manager() *appsv1.Deployment {
	s.calls++
	selected := map[string]string{"app": component}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: shoot, Name: component, Annotations: map[string]string{"example.com/write": strconv.Itoa(s.calls)}},
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

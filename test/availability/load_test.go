// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

const (
	clients = 8
	// callTimeout is longer than the webhook's.
	callTimeout = 40 * time.Second
	// pause is the time between the calls of a client, which would otherwise take the CPU that a starting server needs.
	// With it, a call begins every few milliseconds. Steps wait for numbers of answers, not for a time.
	pause = 50 * time.Millisecond
)

// profile returns a profile that writes a number and a fact of its shoot into the kube-controller-manager.
func profile(number int64) string {
	return fmt.Sprintf(`apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
controlplane:
  kube-controller-manager:
  - flags: {set: {number: n%d, region: "${ shoot.region }"}}
`, number)
}

// load is several clients that write steadily.
type load struct {
	b *balancer
	// oldest and newest are the numbers that an object may have.
	oldest, newest atomic.Int64
	calls          [clients]atomic.Int64 // that were answered rightly

	lock     sync.Mutex
	webhook  []error // failures of calls to the webhook
	others   []error // failures of the kube-apiserver itself
	end      context.CancelFunc
	finished sync.WaitGroup
}

// newLoad begins to write in one shoot for each client.
func newLoad(spec SpecContext, b *balancer) *load {
	GinkgoHelper()
	ctx, end := context.WithCancel(context.Background())
	l := &load{b: b, end: end}
	DeferCleanup(l.stop)
	for i := range clients {
		options := landscape.ShootOptions{Shoot: landscape.NewShoot(fmt.Sprint("load-", i), "acme", "1.33.6")}
		shoot, err := land.CreateShoot(spec, options)
		Expect(err).NotTo(HaveOccurred(), "creating a shoot")
		l.finished.Go(func() {
			defer GinkgoRecover()
			for n := 0; ctx.Err() == nil; n++ {
				l.call(ctx, i, n, shoot)
				time.Sleep(pause)
			}
		})
	}
	return l
}

func (l *load) stop() {
	l.end()
	l.finished.Wait()
}

// call writes an object without the changes of the profile, and checks the answer. Every fourth call creates the
// object, and every fourth is a dry run.
func (l *load) call(ctx context.Context, i, n int, shoot string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	object, oldest := manager(shoot, n), l.oldest.Load()
	var err error
	switch n % 4 {
	case 0:
		if err = client.IgnoreNotFound(land.Client().Delete(ctx, object)); err == nil {
			err = land.Client().Create(ctx, object)
		}
	case 1:
		err = land.Client().Update(ctx, object, client.DryRunAll)
	default:
		err = land.Client().Update(ctx, object)
	}
	switch {
	case err == nil:
		l.hold(object, oldest)
		l.calls[i].Add(1)
		return
	case apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err):
		// An earlier call has failed and was counted; its effect is unknown.
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if strings.Contains(err.Error(), "webhook") {
		l.webhook = append(l.webhook, err)
	} else {
		l.others = append(l.others, err)
	}
}

// hold checks that an object was mutated by a profile that was active while it was written. A client that finds
// another number stops calling, and its failure fails the running spec.
func (l *load) hold(object *unstructured.Unstructured, oldest int64) {
	number, err := numberOf(object)
	Expect(err).NotTo(HaveOccurred(), "reading what the profile has written into %s", object.GetNamespace())
	newest := l.newest.Load()
	Expect(number).To(And(BeNumerically(">=", oldest), BeNumerically("<=", newest)), "the number that a profile wrote")
}

// more waits until each client has got some more correct answers.
func (l *load) more() {
	GinkgoHelper()
	var before [clients]int64
	for i := range before {
		before[i] = l.calls[i].Load()
	}
	for i := range before {
		Eventually(l.calls[i].Load).Should(BeNumerically(">=", before[i]+8), "correct answers for client %d", i)
	}
}

// failures are those since the last time.
func (l *load) failures() (webhook, others []error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	webhook, others = l.webhook, l.others
	l.webhook, l.others = nil, nil
	return webhook, others
}

// none checks that no call has failed since the last time.
func (l *load) none() {
	GinkgoHelper()
	webhook, others := l.failures()
	refused := errors.Join(l.b.refusals()...)
	Expect(errors.Join(slices.Concat(webhook, others)...)).NotTo(HaveOccurred(),
		"failures of calls; refused connections: %v", refused)
}

// manager is a kube-controller-manager as gardenlet would write it, without the profile's values.
func manager(shoot string, n int) *unstructured.Unstructured {
	const name = "kube-controller-manager"
	selected := map[string]any{"app": name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": name, "namespace": shoot, "annotations": map[string]any{"example.com/write": fmt.Sprint(n)},
		},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": selected},
			"template": map[string]any{
				"metadata": map[string]any{"labels": selected},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": name, "image": "registry.example.com/" + name + ":v1", "command": []any{"/" + name, "--v=2"},
				}}},
			},
		},
	}}
}

// numberOf returns the number that the profile has written, after it checked all of the profile's values.
func numberOf(object *unstructured.Unstructured) (int64, error) {
	containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if len(containers) != 1 {
		return 0, fmt.Errorf("there are %d containers", len(containers))
	}
	command, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "command")
	if err != nil {
		return 0, err
	}
	var number int64
	if len(command) != 4 || !slices.Contains(command, "--region=region-1") {
		return 0, fmt.Errorf("the command is %q", command)
	}
	_, err = fmt.Sscanf(command[2], "--number=n%d", &number)
	return number, err
}

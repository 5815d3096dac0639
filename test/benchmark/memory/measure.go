// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/apart"
	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/figure"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// row has the measurements of one program with a number of shoots.
type row struct {
	shoots  int
	program string
	// none reports that the program was not run, because the machine has too little memory.
	none bool
	// ready is the time from the start of the process until /readyz succeeds.
	ready time.Duration
	// In bytes: the resident memory after the list of Clusters, after admissions of a hundred shoots and of all shoots,
	// the peak, and the live heap at the end.
	filled, hundred, all, most, live int64
	// first is the median duration of the first admission of a shoot, and again that of the next one soon after.
	first, again time.Duration
	// got is the number of Clusters that were read one by one.
	got int64
}

// callers is the number of concurrent admissions.
const callers = 4

func (o options) measure(ctx context.Context, land *landscape.Landscape, itself string) ([]row, error) {
	objects, err := newObjects(o.size)
	if err != nil {
		return nil, err
	}
	review, err := newReview(filepath.Join(o.testdata, "kube-apiserver.json"))
	if err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: extensionNamespace}}
	if err := land.Client().Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("creating the namespace of the extension: %w", err)
	}
	var rows []row
	for _, shoots := range o.shoots {
		for _, program := range o.starters(land, itself) {
			s, err := newSeed(ctx, shoots, objects, land.Config())
			if err != nil {
				return nil, err
			}
			r := row{shoots: shoots, program: program.name, none: program.budget*int64(shoots) > available()}
			if !r.none {
				err = r.measure(ctx, s, program, review)
			}
			s.close()
			if err != nil {
				return nil, fmt.Errorf("measuring %s with %d shoots: %w", program.name, shoots, err)
			}
			rows = append(rows, r)
			fmt.Fprintf(os.Stderr, "%s, %d shoots\n", program.name, shoots)
		}
	}
	return rows, nil
}

// available returns the free memory of the machine.
func available() int64 {
	content, _ := os.ReadFile("/proc/meminfo")
	return kilobytes(content, "MemAvailable:")
}

func (r *row) measure(ctx context.Context, s *seed, program starter, review func(string) []byte) error {
	p, err := program.start(ctx, s)
	if err != nil {
		return err
	}
	defer p.end()
	if r.ready, err = p.waitReady(ctx); err != nil {
		return err
	}
	if _, err := p.wait(ctx, "Clusters are listed", func() bool { return s.listed.Load() > 0 }); err != nil {
		return err
	}
	time.Sleep(time.Second) // the listed Clusters are decoded
	if r.filled, _, err = p.resident(); err != nil {
		return err
	}
	bundle, err := program.bundle(ctx, s, p)
	if err != nil {
		return err
	}
	if err := p.trust(bundle); err != nil {
		return err
	}
	if err := r.admit(ctx, p, s.shoots, review); err != nil {
		return err
	}
	if r.all, r.most, err = p.resident(); err != nil {
		return err
	}
	r.got = s.got.Load()
	r.live, err = p.live(ctx)
	return err
}

// admit sends an admission for each shoot, and a second one for a hundred shoots, and measures the memory after them.
func (r *row) admit(ctx context.Context, p *process, shoots int, review func(string) []byte) error {
	begin := min(shoots, 100)
	first, err := p.admitAll(ctx, 0, begin, review)
	if err != nil {
		return err
	}
	again, err := p.admitAll(ctx, 0, begin, review)
	if err != nil {
		return err
	}
	if r.hundred, _, err = p.resident(); err != nil {
		return err
	}
	rest, err := p.admitAll(ctx, begin, shoots, review)
	r.first, r.again = figure.Median(append(first, rest...)), figure.Median(again)
	return err
}

// admitAll sends one admission for each shoot of a range.
func (p *process) admitAll(ctx context.Context, from, to int, review func(string) []byte) ([]time.Duration, error) {
	durations, errs := make([]time.Duration, to-from), make(chan error, callers)
	shoots := make(chan int)
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			var failed error
			for shoot := range shoots {
				begun := time.Now()
				if failed == nil {
					failed = p.admit(ctx, review(fmt.Sprintf(nameFormat, shoot)))
				}
				durations[shoot-from] = time.Since(begun)
			}
			errs <- failed
		})
	}
	for shoot := from; shoot < to; shoot++ {
		shoots <- shoot
	}
	close(shoots)
	group.Wait()
	for range callers {
		if err := <-errs; err != nil {
			return nil, err
		}
	}
	return durations, nil
}

// admit sends an admission, which must be allowed.
func (p *process) admit(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"?timeout=10s", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	raw, err := apart.Do(p.client, request)
	if err != nil {
		return err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(raw, &review); err != nil {
		return fmt.Errorf("decoding the answer: %w", err)
	}
	if review.Response == nil || !review.Response.Allowed {
		return fmt.Errorf("an admission is not allowed: %s", raw)
	}
	return nil
}

// newReview returns a function that creates reviews of the creation of an object, for the namespaces of shoots.
func newReview(file string) (func(namespace string) []byte, error) {
	object, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(object, &meta); err != nil {
		return nil, err
	}
	kind := metav1.GroupVersionKind(meta.GroupVersionKind())
	resource := metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: "deployments"}
	raw, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "d36d2d1c-7a3c-4a7e-8a2e-5d7e6c1f0b9a", Kind: kind, RequestKind: &kind, Resource: resource,
			RequestResource: &resource,
			Name:            meta.Name, Namespace: meta.Namespace, Operation: admissionv1.Create,
			Object: runtime.RawExtension{Raw: object},
			DryRun: ptr.To(false),
		},
	})
	return func(namespace string) []byte { return bytes.ReplaceAll(raw, []byte(meta.Namespace), []byte(namespace)) }, err
}

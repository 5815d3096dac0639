// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/apart"
)

// callers is the number of concurrent callers when the rate is measured.
const callers = 8

// server is the server as seen by its caller.
type server struct{ *apart.Servers }

// start runs this program again as the server, and calls it as kube-apiserver does.
func start(ctx context.Context, folder string) (server, error) {
	s, err := apart.Start(ctx, "-testdata", folder)
	if err == nil {
		s.Agent = "kube-apiserver-admission"
	}
	return server{s}, err
}

// call sends a review to a path and returns the response body.
func (s server) call(ctx context.Context, path string, body []byte) ([]byte, error) {
	return s.Post(ctx, s.URLs[0]+path, body)
}

// ask sends a review and returns the decoded response.
func (s server) ask(ctx context.Context, path string, body []byte) (*admissionv1.AdmissionResponse, error) {
	answer, err := s.call(ctx, path, body)
	if err != nil {
		return nil, err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		return nil, fmt.Errorf("decoding the answer: %w", err)
	}
	if review.Response == nil {
		return nil, fmt.Errorf("%s answers without a response", path)
	}
	return review.Response, nil
}

// measure adds a sample: first with one caller, then with all of them.
func (r *row) measure(ctx context.Context, s server, window time.Duration) error {
	before, err := s.Usage(ctx)
	if err != nil {
		return err
	}
	count, took, err := r.repeat(ctx, s, 1, window, func(d time.Duration) { r.latencies = append(r.latencies, d) })
	if err != nil {
		return err
	}
	after, err := s.Usage(ctx)
	if err != nil {
		return err
	}
	n := float64(count)
	one := round{
		perOp: took / time.Duration(count), cpu: (after.CPU - before.CPU) / time.Duration(count),
		allocs: float64(after.Mallocs-before.Mallocs) / n, bytes: float64(after.Bytes-before.Bytes) / n,
	}
	if count, took, err = r.repeat(ctx, s, callers, window, func(time.Duration) {}); err != nil {
		return err
	}
	one.rate = float64(count) / took.Seconds()
	one.ratio, err = r.compare(ctx, s, window)
	r.rounds = append(r.rounds, one)
	return err
}

// compare calls the floor and the row in turn until the window is over, with one caller. It returns the time of the row
// divided by that of the floor. Other load on the machine affects both equally.
func (r *row) compare(ctx context.Context, s server, window time.Duration) (float64, error) {
	const turn = 16 // calls of the same row
	if r.floor == nil {
		return 1, nil
	}
	var (
		buffer []byte
		took   [2]time.Duration
	)
	for begun := time.Now(); time.Since(begun) < window; {
		for i, called := range []*row{r.floor, r} {
			for range turn {
				body, started := called.next(&buffer), time.Now()
				if _, err := s.call(ctx, called.path, body); err != nil {
					return 0, fmt.Errorf("measuring %s: %w", called.name, err)
				}
				took[i] += time.Since(started)
			}
		}
	}
	return float64(took[1]) / float64(took[0]), nil
}

// repeat calls from several goroutines until the window is over, and passes the duration of each call to took. It
// returns the number of answered calls and their total time.
func (r *row) repeat(ctx context.Context, s server, parallel int, window time.Duration,
	took func(time.Duration)) (int64, time.Duration, error) {
	var (
		group  sync.WaitGroup
		count  atomic.Int64
		failed atomic.Pointer[error]
		begun  = time.Now()
	)
	for range parallel {
		group.Go(func() {
			var buffer []byte
			for time.Since(begun) < window {
				body, called := r.next(&buffer), time.Now()
				if _, err := s.call(ctx, r.path, body); err != nil {
					failed.Store(&err)
					return
				}
				took(time.Since(called))
				count.Add(1)
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return 0, 0, fmt.Errorf("measuring %s: %w", r.name, *err)
	}
	return count.Load(), time.Since(begun), nil
}

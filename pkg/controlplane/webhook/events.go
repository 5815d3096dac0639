// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// eventsPerSecond and eventBurst limit the Events of all denials together. A recorder also limits and
	// merges those of one object.
	eventsPerSecond = 2
	eventBurst      = 50
	// maximumEventBytes is the maximum length of a message in Kubernetes (k8s.io/kubernetes:
	// pkg/apis/core/validation/events.go).
	maximumEventBytes = 1024
)

// Events reports denials as Events in the namespaces of the objects. Admissions do not wait for them: excess
// Events are dropped and counted.
type Events struct {
	recorder record.EventRecorder
	limit    flowcontrol.PassiveRateLimiter
	// shoot reports whether a namespace belongs to a shoot. Callers choose the namespace of a review and must
	// not create Events elsewhere.
	shoot   func(ctx context.Context, namespace string) bool
	metrics *Metrics
}

// NewEvents returns Events for the namespaces of shoots. The recorder must have a bounded queue, such as that
// of a manager.
func NewEvents(recorder record.EventRecorder, shoot func(ctx context.Context, namespace string) bool, metrics *Metrics) *Events {
	return &Events{recorder: recorder, shoot: shoot, limit: flowcontrol.NewTokenBucketPassiveRateLimiter(eventsPerSecond, eventBurst), metrics: metrics}
}

// denied reports a denial. It creates no Event for a dry run, which must have no side effects, or in a
// namespace without a Cluster. It accepts a nil receiver.
func (e *Events) denied(ctx context.Context, r *review, d *denial) {
	if e == nil || r.request.Namespace == "" || r.dryRun() {
		return
	}
	if !e.limit.TryAccept() {
		e.metrics.events.WithLabelValues("dropped").Inc()
		return
	}
	if !e.shoot(ctx, r.request.Namespace) {
		return
	}
	e.metrics.events.WithLabelValues("queued").Inc()
	e.recorder.Event(r.reference(), corev1.EventTypeWarning, string(d.reason), shorten(d.message))
}

// reference returns a reference to the object of a review, or to its namespace if the object has no name yet.
// It stays valid after the review.
func (r *review) reference() *corev1.ObjectReference {
	namespace := strings.Clone(r.request.Namespace)
	if r.request.Name == "" {
		return &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: namespace, Name: namespace}
	}
	group := schema.GroupVersion{Group: strings.Clone(r.request.Group), Version: strings.Clone(r.request.Version)}
	return &corev1.ObjectReference{
		APIVersion: group.String(), Kind: strings.Clone(r.request.Kind), Namespace: namespace, Name: strings.Clone(r.request.Name),
		UID: types.UID(strings.Clone(text(r.scanned.Original(), "request", "oldObject", "metadata", "uid"))),
	}
}

// shorten truncates a message at the limit, between characters.
func shorten(message string) string {
	const mark = "…"
	if len(message) <= maximumEventBytes {
		return message
	}
	end := maximumEventBytes - len(mark)
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + mark
}

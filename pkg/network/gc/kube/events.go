// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
)

// Events writes events about leaks, on the node of the holder where it is known, and else on its namespace.
type Events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// NewEvents makes the writer of events; they are written in the background until Stop.
func NewEvents(config *rest.Config, log logr.Logger) (*Events, error) {
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	e := &Events{broadcaster: record.NewBroadcaster(record.WithContext(logr.NewContext(context.Background(), log)))}
	e.broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.Events("")})
	e.recorder = e.broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "graft-network-provider"})
	return e, nil
}

// Stop ends the writing of events.
func (e *Events) Stop() { e.broadcaster.Shutdown() }

// Report writes one event for an allocation without an existing holder.
func (e *Events) Report(s gc.Suspect) {
	about := reference(s)
	if s.Reason != gc.Gone || !s.First || about == nil {
		return
	}
	a, what := s.Allocation, "is still held; it can be freed with graft ledger gc"
	if s.Freed {
		what = "was freed"
	}
	e.recorder.Eventf(about, corev1.EventTypeWarning, "AddressLeaked", "The holder of %v of the pool %s, %s, does not exist any more, and did not release it: it %s.",
		a.Addresses, a.Pool, a.Holder, what)
}

// reference returns the object for an event, or nil.
func reference(s gc.Suspect) *corev1.ObjectReference {
	switch h := s.Allocation.Holder; {
	case h.Node != "":
		// As kubelet writes it: nodes are shown with the events that have their name for a UID.
		return &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: h.Node, UID: types.UID(h.Node)}
	case h.Namespace != "":
		return &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: h.Namespace, Namespace: h.Namespace}
	default:
		return nil
	}
}

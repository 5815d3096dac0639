// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
)

// ConditionAnnotation on the ConfigMap of a profile is a metav1.Condition of type ProfileValid that describes
// the active version.
const ConditionAnnotation = "graft.provider.extensions.gardener.cloud/condition"

// Reports writes the states of profiles to their ConfigMaps: a condition, and an Event for each change. For
// files, it writes Events for the program's Deployment. It runs in the leader.
type Reports struct {
	// Client reads the ConfigMaps from the cache and patches them.
	Client client.Client
	Events record.EventRecorder
	// Namespace and Name identify the Deployment.
	Namespace, Name string
	Store           *Store

	// reported has the last message for each object, to write each Event once.
	reported map[client.ObjectKey]string
}

// Report writes changed states. It fails with the errors of all states that could not be written.
func (r *Reports) Report(ctx context.Context) error {
	if r.reported == nil {
		r.reported = map[client.ObjectKey]string{}
	}
	conditions := map[client.ObjectKey]metav1.Condition{}
	for _, status := range r.Store.Statuses() {
		key, ok := configMapOf(status.Source)
		if !ok {
			key = client.ObjectKey{Namespace: r.Namespace} // one object for all files
		}
		conditions[key] = join(conditions[key], status.condition())
	}
	var problems []error
	for key, condition := range conditions {
		problems = append(problems, r.report(ctx, key, condition))
	}
	return errors.Join(problems...)
}

// configMapOf returns the ConfigMap of a source, or false for a file.
func configMapOf(source string) (client.ObjectKey, bool) {
	parts := strings.Split(source, "/")
	if len(parts) != 4 || parts[0] != folder.ConfigMapPrefix {
		return client.ObjectKey{}, false
	}
	return client.ObjectKey{Namespace: parts[1], Name: parts[2]}, true
}

// condition returns the status as a condition.
func (s *Status) condition() metav1.Condition {
	condition := metav1.Condition{Type: "ProfileValid", Status: metav1.ConditionFalse}
	switch s.State {
	case StateValid:
		condition.Status, condition.Reason = metav1.ConditionTrue, "Valid"
		condition.Message = fmt.Sprintf("profile %s: version %s is active", s.name(), s.served.digest()[:12])
	case StateLastGood:
		condition.Reason = "LastGood"
		condition.Message = fmt.Sprintf("profile %s: the newest version is invalid; fix it or restore the last valid version %s, which stays active: %s",
			s.name(), s.served.digest()[:12], s.findings())
	default:
		condition.Reason, condition.Message = "Invalid", s.reason()
	}
	return condition
}

// join returns the combined condition of an object with several files: the worst of all, with all messages.
func join(a, b metav1.Condition) metav1.Condition {
	if a.Type == "" || a.Status == metav1.ConditionTrue && b.Status == metav1.ConditionFalse {
		return b
	}
	if a.Status == b.Status {
		a.Message += "\n" + b.Message
		if b.Reason == "Invalid" {
			a.Reason = b.Reason
		}
	}
	return a
}

// report writes an Event and the annotation if the condition changed. A profile that stays valid has no Event.
func (r *Reports) report(ctx context.Context, key client.ObjectKey, condition metav1.Condition) error {
	object := &corev1.ConfigMap{}
	reference := &corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: r.Namespace, Name: r.Name}
	before := metav1.Condition{Type: condition.Type}
	if key.Name != "" {
		if err := r.Client.Get(ctx, key, object); apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading the ConfigMap of a profile: %w", err)
		}
		reference = &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: key.Namespace, Name: key.Name, UID: object.UID}
		_ = json.Unmarshal([]byte(object.Annotations[ConditionAnnotation]), &before) // an unreadable condition is overwritten
	}
	stays := r.reported[key] == "" && condition.Status == metav1.ConditionTrue && before.Status != metav1.ConditionFalse
	if !stays && r.reported[key] != condition.Message {
		r.emitEvent(reference, condition)
	}
	r.reported[key] = condition.Message
	conditions := []metav1.Condition{before}
	if !meta.SetStatusCondition(&conditions, condition) || key.Name == "" {
		return nil
	}
	text, err := json.Marshal(meta.FindStatusCondition(conditions, condition.Type))
	if err != nil {
		return err
	}
	patched := object.DeepCopy()
	metav1.SetMetaDataAnnotation(&patched.ObjectMeta, ConditionAnnotation, string(text))
	return client.IgnoreNotFound(r.Client.Patch(ctx, patched, client.MergeFrom(object)))
}

func (r *Reports) emitEvent(reference *corev1.ObjectReference, condition metav1.Condition) {
	kind, reason := corev1.EventTypeNormal, "ProfileValid"
	if condition.Status == metav1.ConditionFalse {
		kind, reason = corev1.EventTypeWarning, "Profile"+condition.Reason
	}
	r.Events.Event(reference, kind, reason, shorten(condition.Message))
}

// maximumEventBytes is the maximum length of a message in Kubernetes (k8s.io/kubernetes:
// pkg/apis/core/validation/events.go).
const maximumEventBytes = 1024

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

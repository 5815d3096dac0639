// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationapi "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

const (
	// replicaPrefix is the prefix of annotations on the Lease in which replicas announce their operations.
	replicaPrefix = "replica.interpreter.graft.provider.extensions.gardener.cloud/"
	// heartbeat is the interval of announcements. An announcement expires after lifetime without an update.
	heartbeat, lifetime = 10 * time.Second, 30 * time.Second
	// readPeriod is the interval at which the writer reads announcements.
	readPeriod = time.Second
)

// Replicas announces the operations that this replica answers, so that only operations that all replicas answer
// are registered. Announcements are annotations of one Lease.
type Replicas struct {
	Leases coordinationv1.LeaseInterface
	// Name is the name of the Lease. ID identifies this replica.
	Name, ID string
	Kinds    func() []interpreter.Known
	Leads    func() bool
	Clock    clock.PassiveClock
	Log      logr.Logger

	// mutex guards the fields that Common reads: written, seen and read. Update alone changes all fields.
	mutex sync.Mutex
	// announced has the kinds in the last announcement, made at time written.
	announced []interpreter.Known
	written   time.Time
	// seen has the announcements of other replicas; read is the time of the last read.
	seen map[string]announcement
	read time.Time
}

// announcement is the text of an annotation, which each update changes, and the local time of its last change.
type announcement struct {
	text  string
	at    time.Time
	kinds []interpreter.Known
}

// Run announces until the context ends. The announcement then expires.
func (r *Replicas) Run(ctx context.Context) {
	problem := ""
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := r.Update(ctx); err != nil && ctx.Err() == nil && err.Error() != problem {
			problem = err.Error()
			r.Log.Error(err, "Announcing this replica failed; retrying")
		}
	}, readPeriod)
}

// Update makes the announcement and reads the others if that is due. Only one goroutine may call it. It fails if the
// Lease cannot be read or written; a conflict is no error.
func (r *Replicas) Update(ctx context.Context) error {
	kinds, now := r.Kinds(), r.Clock.Now()
	announces := r.written.IsZero() || now.Sub(r.written) >= heartbeat || !reflect.DeepEqual(kinds, r.announced)
	if !announces && (!r.Leads() || now.Sub(r.read) < readPeriod) {
		return nil
	}
	lease, err := r.lease(ctx)
	if err != nil {
		return err
	}
	others := r.storeAnnouncements(lease, now)
	if !announces {
		return nil
	}
	text, err := json.Marshal(kinds)
	if err != nil {
		return err
	}
	maps.DeleteFunc(lease.Annotations, func(key, _ string) bool {
		id, ours := strings.CutPrefix(key, replicaPrefix)
		return ours && !r.lives(others[id])
	})
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, replicaPrefix+r.ID, strconv.FormatInt(now.UnixNano(), 10)+" "+string(text))
	if _, err = r.Leases.Update(ctx, lease, metav1.UpdateOptions{}); apierrors.IsConflict(err) {
		return nil // another replica wrote first; retry at the next tick
	} else if err != nil {
		return fmt.Errorf("announcing to other replicas: %w", err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.announced, r.written = kinds, now
	return nil
}

// lease reads the Lease, and creates it if it does not exist.
func (r *Replicas) lease(ctx context.Context) (*coordinationapi.Lease, error) {
	lease, err := r.Leases.Get(ctx, r.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease, err = r.Leases.Create(ctx, &coordinationapi.Lease{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}, metav1.CreateOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("reading the announcements of replicas: %w", err)
	}
	return lease, nil
}

// lives reports whether an announcement changed within lifetime. It does not depend on other replicas' clocks.
func (r *Replicas) lives(a announcement) bool { return r.Clock.Now().Sub(a.at) < lifetime }

// storeAnnouncements stores and returns the announcements of other replicas.
func (r *Replicas) storeAnnouncements(lease *coordinationapi.Lease, now time.Time) map[string]announcement {
	seen := map[string]announcement{}
	for key, text := range lease.Annotations {
		id, ours := strings.CutPrefix(key, replicaPrefix)
		if !ours || id == r.ID {
			continue
		}
		one, known := r.seen[id]
		if !known || one.text != text {
			_, list, _ := strings.Cut(text, " ")
			one = announcement{text: text, at: now}
			if json.Unmarshal([]byte(list), &one.kinds) != nil {
				continue
			}
		}
		seen[id] = one
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.seen, r.read = seen, now
	return seen
}

// Common returns the kinds and operations that all replicas answer. It returns false until the other replicas
// are known.
func (r *Replicas) Common(kinds []interpreter.Known) ([]interpreter.Known, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.written.IsZero() || r.read.IsZero() {
		return nil, false
	}
	for _, other := range r.seen {
		if r.lives(other) {
			kinds = interpreter.Filter(kinds, func(k interpreter.Kind, o interpreter.Operation) bool { return interpreter.Answers(other.kinds, k, o) })
		}
	}
	return kinds, true
}

// suspendedAnnotation marks the Lease of an installation that was unregistered. Replicas that still run do not
// restore the registration.
const suspendedAnnotation = "interpreter.graft.provider.extensions.gardener.cloud/unregistered"

// errSuspended is the error of a replica that must not restore a deleted registration.
var errSuspended = lasting{errors.New("the registration was deleted with --unregister; restart a replica to register again")}

// LeaseOwner returns a function that names an installation by its Lease and the Lease's UID, which
// distinguishes it from Leases of the same name in other clusters.
func LeaseOwner(leases coordinationv1.LeaseInterface, namespace, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		lease, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("reading the Lease: %w", err)
		}
		owner := fmt.Sprintf("%s/%s (%s)", namespace, name, lease.UID)
		if lease.Annotations[suspendedAnnotation] != "" {
			return owner, errSuspended
		}
		return owner, nil
	}
}

// Suspend sets or removes the mark that keeps replicas from writing the registration. Without a Lease it does nothing.
// It fails if the Lease cannot be read or written.
func Suspend(ctx context.Context, leases coordinationv1.LeaseInterface, name string, suspended bool) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		lease, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if (lease.Annotations[suspendedAnnotation] != "") == suspended {
			return nil
		}
		delete(lease.Annotations, suspendedAnnotation)
		if suspended {
			metav1.SetMetaDataAnnotation(&lease.ObjectMeta, suspendedAnnotation, "true")
		}
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the Lease: %w", err)
	}
	return nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationapi "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

const (
	// replicaPrefix starts the names of annotations on the Lease by which replicas announce what they answer.
	replicaPrefix = "replica.interpreter.graft.provider.extensions.gardener.cloud/"
	// heartbeat is the interval of announcements. An announcement expires after lifetime without an update.
	heartbeat, lifetime = 10 * time.Second, 30 * time.Second
	// readPeriod is the interval at which the writer reads announcements.
	readPeriod = time.Second
	// farewell is the time limit for withdrawing an announcement at shutdown.
	farewell = 2 * time.Second
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

	mutex sync.Mutex
	// announced has the kinds in the last announcement, made at time written. count makes each announcement
	// different.
	announced []interpreter.Known
	written   time.Time
	count     int
	// seen has the announcements of other replicas; read is the time of the last read.
	seen map[string]announcement
	read time.Time
}

// announcement is the text of an annotation and the local time of its last change.
type announcement struct {
	text  string
	at    time.Time
	kinds []interpreter.Known
}

// Run announces until the context ends, and then withdraws the announcement.
func (r *Replicas) Run(ctx context.Context, tick <-chan time.Time) {
	problem := ""
	for {
		if err := r.Update(ctx); err != nil && ctx.Err() == nil && err.Error() != problem {
			problem = err.Error()
			r.Log.Error(err, "Announcing this replica failed; retrying")
		}
		select {
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
			_ = r.withdraw(ending) // after a failure, the announcement expires
			cancel()
			return
		case <-tick:
		}
	}
}

// Update makes the announcement and reads the others if that is due.
func (r *Replicas) Update(ctx context.Context) error {
	kinds, leads, now := r.Kinds(), r.Leads(), r.Clock.Now()
	r.mutex.Lock()
	announces := r.written.IsZero() || now.Sub(r.written) >= heartbeat || !reflect.DeepEqual(kinds, r.announced)
	reads := leads && now.Sub(r.read) >= readPeriod
	r.mutex.Unlock()
	if !announces && !reads {
		return nil
	}
	lease, err := r.lease(ctx)
	if err != nil {
		return err
	}
	r.learn(lease, now)
	if !announces {
		return nil
	}
	text, err := json.Marshal(kinds)
	if err != nil {
		return err
	}
	annotations := map[string]string{replicaPrefix + r.ID: strconv.Itoa(r.count+1) + " " + string(text)}
	r.mutex.Lock()
	for key, value := range lease.Annotations {
		id, ours := strings.CutPrefix(key, replicaPrefix)
		if !ours || id != r.ID && r.lives(r.seen[id]) {
			annotations[key] = value
		}
	}
	r.mutex.Unlock()
	lease.Annotations = annotations
	if _, err = r.Leases.Update(ctx, lease, metav1.UpdateOptions{}); apierrors.IsConflict(err) {
		return nil // another replica wrote first; retry at the next tick
	} else if err != nil {
		return fmt.Errorf("announcing to other replicas: %w", err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.announced, r.written = kinds, now
	r.count++
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

// learn stores the announcements of other replicas.
func (r *Replicas) learn(lease *coordinationapi.Lease, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.read = now
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
	r.seen = seen
}

func (r *Replicas) withdraw(ctx context.Context) error {
	lease, err := r.Leases.Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	delete(lease.Annotations, replicaPrefix+r.ID)
	_, err = r.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
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
			kinds = common(kinds, other.kinds)
		}
	}
	return kinds, true
}

// common returns the intersection of two lists of kinds and operations.
func common(kinds, others []interpreter.Known) []interpreter.Known {
	var all []interpreter.Known
	for _, k := range kinds {
		k.Operations = slices.DeleteFunc(slices.Clone(k.Operations), func(o interpreter.Operation) bool { return !answers(others, k.Kind, o) })
		if len(k.Operations) > 0 {
			all = append(all, k)
		}
	}
	return all
}

// answers reports whether kinds include an operation for a kind, directly or for all versions.
func answers(kinds []interpreter.Known, kind interpreter.Kind, o interpreter.Operation) bool {
	of := func(version string) *interpreter.Known {
		i := slices.IndexFunc(kinds, func(k interpreter.Known) bool {
			return k.Group == kind.Group && k.Kind.Kind == kind.Kind && k.Version == version
		})
		if i < 0 {
			return nil
		}
		return &kinds[i]
	}
	known := cmp.Or(of(kind.Version), of("*"))
	return known != nil && slices.Contains(known.Operations, o)
}

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
	// replicaPrefix begins the annotations of a Lease in which replicas announce what they answer.
	replicaPrefix = "replica.interpreter.graft.provider.extensions.gardener.cloud/"
	// heartbeat is how often a replica repeats its announcement, and lifetime how long one holds that is not repeated.
	heartbeat, lifetime = 10 * time.Second, 30 * time.Second
	// readPeriod is how often the replica that leads reads what others announce.
	readPeriod = time.Second
	// farewell is how long a replica that ends tries to withdraw its announcement.
	farewell = 2 * time.Second
)

// Replicas announces to the other replicas which operations this one answers, so that only those are registered which all of them answer. The
// announcements are annotations of one Lease.
type Replicas struct {
	Leases coordinationv1.LeaseInterface
	// Name is that of the Lease, and ID a name for this replica.
	Name, ID string
	Kinds    func() []interpreter.Known
	Leads    func() bool
	Clock    clock.PassiveClock
	Log      logr.Logger

	mutex sync.Mutex
	// announced are the kinds that were announced last, at the time written; count makes announcements differ.
	announced []interpreter.Known
	written   time.Time
	count     int
	// seen are the announcements of other replicas; read is when they were read last.
	seen map[string]announcement
	read time.Time
}

// announcement is the text of an annotation, and when it was seen to change.
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
			r.Log.Error(err, "Announcing to other replicas failed; it is tried again")
		}
		select {
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
			_ = r.withdraw(ending) // otherwise it expires
			cancel()
			return
		case <-tick:
		}
	}
}

// Update announces and reads what is due.
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
		return nil // another replica was faster: it is tried again at the next tick
	} else if err != nil {
		return fmt.Errorf("announcing to other replicas: %w", err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.announced, r.written = kinds, now
	r.count++
	return nil
}

// lease reads the Lease, and creates it where there is none.
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

// lives reports whether an announcement was seen to change lately. The clocks of other replicas do not matter.
func (r *Replicas) lives(a announcement) bool { return r.Clock.Now().Sub(a.at) < lifetime }

// learn remembers what other replicas announce.
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

// Common returns those of the kinds and operations that all replicas answer. It is false until the other replicas are known.
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

// common returns those of the kinds and operations that others have, too.
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

// answers reports whether kinds have an operation for a kind, or for all of its versions.
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

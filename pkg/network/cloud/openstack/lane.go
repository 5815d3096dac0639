// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// maximumBatch limits the jobs of one batch. Neutron gets slower with larger requests.
const maximumBatch = 10

// job is one bind or unbind that waits for its turn.
type job struct {
	ctx    context.Context
	unbind bool
	// refill is set for a change of warm ports, without an allocation. It waits until there is nothing else to do.
	refill     bool
	allocation network.Allocation
	done       chan struct{}
	// port and vlan are what a bind has found or created so far.
	port *ports.Port
	vlan int
	// binding and err are set before done is closed.
	binding network.Binding
	err     error
}

// end finishes a job; a second call is ignored.
func (j *job) end(binding network.Binding, err error) {
	select {
	case <-j.done:
	default:
		j.binding, j.err = binding, err
		close(j.done)
	}
}

// lanes serialize the work for each trunk, because Neutron locks a trunk while it changes. Jobs that wait for the same
// trunk are done together.
type lanes struct {
	mutex   sync.Mutex
	waiting map[string][]*job
	// work does a batch, and ends each of its jobs.
	work func(trunk string, batch []*job)
}

// add queues a job.
func (l *lanes) add(trunk string, j *job) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_, busy := l.waiting[trunk]
	l.waiting[trunk] = append(l.waiting[trunk], j)
	if !busy {
		go l.run(trunk)
	}
}

// do waits until a job is done, or its context.
func (l *lanes) do(trunk string, j *job) (network.Binding, error) {
	l.add(trunk, j)
	select {
	case <-j.done:
		return j.binding, j.err
	case <-j.ctx.Done():
		return network.Binding{}, fmt.Errorf("waiting for Neutron: %w", j.ctx.Err())
	}
}

// busy reports whether jobs wait for a trunk.
func (l *lanes) busy(trunk string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.waiting[trunk]) > 0
}

// run does batches until no job waits.
func (l *lanes) run(trunk string) {
	for {
		batch := l.next(trunk)
		if batch == nil {
			return
		}
		l.work(trunk, batch)
	}
}

// next returns the jobs of the next batch, all of the same kind, or nil. It omits jobs with callers that have given
// up: nothing has been sent for them.
func (l *lanes) next(trunk string) (batch []*job) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	waiting := slices.DeleteFunc(l.waiting[trunk], func(j *job) bool { return j.ctx.Err() != nil })
	rest, first := waiting[:0:0], max(0, slices.IndexFunc(waiting, func(j *job) bool { return !j.refill }))
	for _, j := range waiting {
		if len(batch) < maximumBatch && j.unbind == waiting[first].unbind && j.refill == waiting[first].refill {
			batch = append(batch, j)
		} else {
			rest = append(rest, j)
		}
	}
	if l.waiting[trunk] = rest; batch == nil {
		delete(l.waiting, trunk)
	}
	return batch
}

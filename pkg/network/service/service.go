// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package service allocates and releases: the ledger records an intent, the cloud is called, and the ledger records the
// outcome. The reconciler of this or another server completes interrupted work. The table in transitions.go shows the
// states of an allocation.
//
// The service uses the given clock, knows no contract, and imports neither a store nor a cloud. Start reading at
// AllocateAll.
package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Pool holds the settings of a pool that only the service needs.
type Pool struct {
	// Cloud is the cloud behind the pool; nil if none is called.
	Cloud cloud.Cloud
	// CloudName is stored in rows. Rows without a name belong to the pool's cloud.
	CloudName string
	// Quarantine is how long released addresses are in quarantine.
	Quarantine time.Duration
	// Limiter limits the calls of the cloud; nil does not.
	Limiter *Limiter
	// Settle is the time after the start of a call in which it may still take effect, although its answer was lost.
	Settle time.Duration

	// retired pools exist only for earlier allocations.
	retired bool
}

// LimitedCloud is a cloud with its limiter, as in Pool.
type LimitedCloud struct {
	Cloud   cloud.Cloud
	Limiter *Limiter
	Settle  time.Duration
	name    string
}

// Options configure a service.
type Options struct {
	// Clock is required.
	Clock clock.WithTickerAndDelayedExecution
	// Budget limits the work for one allocation or release, whether or not its caller still waits. Default 2 minutes.
	Budget time.Duration
	// Releasers is how many releases of one cloud are worked on at a time. Default 8.
	Releasers int
	// Random returns numbers from 0 up to 1, which spread repeated attempts; nil does not spread them.
	Random func() float64
	// Disabled returns why a pool allocates nothing to new owners; nil never does.
	Disabled func(ctx context.Context, pool string) error
	// Disconnected reports whether the caller of a request has disconnected; nil never does.
	Disconnected func(ctx context.Context) bool
	// Report receives errors of background work; nil ignores them.
	Report func(network.Owner, error)
}

// Service allocates and releases. It is safe for concurrent use.
type Service struct {
	ledger  *ledger.Ledger
	options Options
	active  atomic.Pointer[configuration]

	// owners serializes the work of this process for each owner, and calls joins equal requests.
	owners ledger.KeyedLocks[string]
	calls  singleflight.Group

	work       workers
	reconciler reconciler
	// started is when this process began to work.
	started time.Time

	// mutex guards exhausted.
	mutex     sync.Mutex
	exhausted map[Exhaustion]uint64
}

// configuration holds the pools and clouds.
type configuration struct {
	pools map[string]Pool
	// clouds has all clouds that were known since the start, by the names in rows.
	clouds map[string]LimitedCloud
}

// New returns a service. The pools have the names of the ledger's pools.
func New(l *ledger.Ledger, pools map[string]Pool, o Options) *Service {
	o.Budget = cmp.Or(o.Budget, 2*time.Minute)
	o.Releasers = cmp.Or(o.Releasers, 8)
	if o.Report == nil {
		o.Report = func(network.Owner, error) {}
	}
	if o.Disconnected == nil {
		o.Disconnected = func(context.Context) bool { return false }
	}
	s := &Service{ledger: l, options: o, started: o.Clock.Now(), exhausted: map[Exhaustion]uint64{}}
	s.work.idle = sync.NewCond(&s.work.mutex)
	s.reconciler.init(s)
	s.Configure(pools, nil)
	return s
}

// Configure replaces the pools; call ledger.Ledger.Configure first. Started work finishes with the active pools. A
// missing pool allocates nothing, but its cloud still gets releases. clouds has the clouds that no pool names. An
// allocation stays with the cloud in its row, so clouds stay known until the process ends; a new declaration of a name
// replaces the old one.
func (s *Service) Configure(pools map[string]Pool, clouds map[string]LimitedCloud) {
	next := configuration{pools: map[string]Pool{}, clouds: map[string]LimitedCloud{}}
	before := cmp.Or(s.active.Load(), &configuration{})
	for name, pool := range before.pools {
		pool.retired = true
		next.pools[name] = pool
	}
	maps.Copy(next.clouds, before.clouds)
	maps.Copy(next.clouds, clouds)
	for name, pool := range pools {
		if next.pools[name] = pool; pool.Cloud != nil && pool.CloudName != "" {
			next.clouds[pool.CloudName] = LimitedCloud{Cloud: pool.Cloud, Limiter: pool.Limiter, Settle: pool.Settle}
		}
	}
	s.active.Store(&next)
	for name := range next.clouds {
		if _, known := before.clouds[name]; !known && before.clouds != nil {
			s.reconciler.scanAgain() // releases may wait for this cloud
		}
	}
}

// pool returns a pool, also a retired one.
func (s *Service) pool(name string) (Pool, error) {
	pool, ok := s.active.Load().pools[name]
	if !ok {
		return Pool{}, fmt.Errorf("%w: the pool %s is not served here", network.ErrUnavailable, name)
	}
	return pool, nil
}

// errUnknownCloud is wrapped by the error for an allocation of an unconfigured cloud.
var errUnknownCloud = errors.New("this server has no such cloud")

// backend returns the cloud that has bound an allocation or will bind it. Its Cloud is nil if none is called.
func (s *Service) backend(a network.Allocation) (LimitedCloud, error) {
	pool, err := s.pool(a.Pool)
	if err != nil {
		return LimitedCloud{}, err
	}
	name := cmp.Or(a.Cloud, pool.CloudName)
	if name == "" {
		return LimitedCloud{pool.Cloud, pool.Limiter, pool.Settle, ""}, nil
	}
	of, known := s.active.Load().clouds[name]
	if !known {
		return LimitedCloud{}, fmt.Errorf("%w: it is of the cloud %s: %w; declare the cloud in a profile again, until its bindings are released",
			network.ErrUnavailable, name, errUnknownCloud)
	}
	of.name = name
	return of, nil
}

// Loads returns the loads of all clouds with a name.
func (s *Service) Loads() map[string]Load {
	loads := map[string]Load{}
	for name, of := range s.active.Load().clouds {
		if of.Limiter != nil {
			loads[name] = of.Limiter.Load()
		}
	}
	return loads
}

// Clouds returns all clouds that were known since the start, by name.
func (s *Service) Clouds() map[string]cloud.Cloud {
	clouds := map[string]cloud.Cloud{}
	for name, of := range s.active.Load().clouds {
		clouds[name] = of.Cloud
	}
	return clouds
}

// DescribeDevice returns the data of clouds about the network interface with a MAC address. It fails with
// network.ErrUnavailable if a cloud is unknown or does not answer.
func (s *Service) DescribeDevice(ctx context.Context, clouds []string, mac string) (cloud.Description, error) {
	all := cloud.Description{Attributes: map[string]device.Attribute{}}
	for _, name := range clouds {
		describer, ok := s.active.Load().clouds[name].Cloud.(cloud.Describer)
		if !ok {
			return all, fmt.Errorf("%w: the cloud %s is not served here", network.ErrUnavailable, name)
		}
		one, err := describer.Describe(ctx, mac)
		if err != nil {
			return all, fmt.Errorf("%w: asking the cloud %s for the device: %w", network.ErrUnavailable, name, err)
		}
		maps.Copy(all.Attributes, one.Attributes)
		all.Config = device.Merge(all.Config, one.Config)
	}
	return all, nil
}

// Request is a request of an owner.
type Request = ledger.Intent

// Get returns the allocation of an owner. The error wraps network.ErrNotHeld.
func (s *Service) Get(ctx context.Context, owner network.Owner) (network.Allocation, error) {
	return s.ledger.Get(ctx, owner)
}

// ByAddress returns the allocation of an address. The error wraps network.ErrNotHeld.
func (s *Service) ByAddress(ctx context.Context, pool string, address netip.Addr) (network.Allocation, error) {
	return s.ledger.ByAddress(ctx, pool, address)
}

// Owned returns the allocations of the owner's contract for all owners with the given owner's key as a prefix. It fails
// if the ledger does.
func (s *Service) Owned(ctx context.Context, beginning network.Owner) ([]network.Allocation, error) {
	return s.ledger.Owned(ctx, beginning)
}

// Next returns a free address for a caller that derives the key of the owner from it; see ledger.Ledger.Next. It fails
// with network.ErrExhausted if none is free.
func (s *Service) Next(ctx context.Context, pool string, within netip.Prefix) (netip.Addr, error) {
	address, err := s.ledger.Next(ctx, pool, within)
	return address, s.noteExhausted(err)
}

// Claim changes the holder of an allocation unless change returns an error or the allocation is being released. It
// returns the error of change, or one that wraps network.ErrNotHeld.
func (s *Service) Claim(ctx context.Context, owner network.Owner, change func(*network.Holder) error) (network.Allocation, error) {
	return s.ledger.Update(ctx, owner, func(a *network.Allocation) error {
		if a.State == network.Releasing {
			return network.ErrNotHeld
		}
		return change(&a.Holder)
	})
}

// MarkAnswered records that another request also got an allocation, so that Retract keeps it. The error wraps
// network.ErrNotHeld if the owner holds another one by now.
func (s *Service) MarkAnswered(ctx context.Context, of network.Allocation) error {
	if of.Answered {
		return nil
	}
	_, err := s.update(ctx, of, func(a *network.Allocation) error {
		if a.State == network.Releasing {
			return network.ErrNotHeld
		}
		a.Answered = true
		return nil
	})
	return err
}

// update changes an allocation. The error wraps network.ErrNotHeld if the owner has none any more, or another one.
func (s *Service) update(ctx context.Context, a network.Allocation, change func(found *network.Allocation) error) (network.Allocation, error) {
	return s.ledger.Update(ctx, a.Owner, func(found *network.Allocation) error {
		if !sameAllocation(*found, a) {
			return network.ErrNotHeld
		}
		return change(found)
	})
}

// markReleasing changes intended or bound to releasing.
func (s *Service) markReleasing(a *network.Allocation) {
	a.State, a.Worker = network.Releasing, s.ledger.Server()
}

// Exhaustion names a pool, and the kind of resource that it had none left of.
type Exhaustion struct {
	Pool     string
	Resource network.ResourceKind
}

// Exhaustions returns the number of requests since the start that found nothing left, by pool and kind.
func (s *Service) Exhaustions() map[Exhaustion]uint64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.exhausted)
}

// noteExhausted counts an error that is a network.Exhausted, and returns it.
func (s *Service) noteExhausted(err error) error {
	if nothing, ok := errors.AsType[*network.Exhausted](err); ok {
		s.countExhausted(Exhaustion{nothing.Pool, nothing.Of})
	}
	return err
}

func (s *Service) countExhausted(what Exhaustion) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.exhausted[what]++
}

// Release releases the allocation of an owner. It returns when the release is recorded; the cloud is called in the
// background, with retries. It succeeds for an owner without an allocation. Requests of the owner that arrived earlier
// are refused from then on. Running work for the owner is completed first; the release continues if its caller
// disconnects, because many callers never repeat it. It fails if the ledger does.
func (s *Service) Release(ctx context.Context, owner network.Owner) error {
	return s.releaseIf(ctx, owner, true, func(network.Allocation) bool { return true })
}

// ReleaseSince releases the allocation that the owner has held since a time; it ignores another allocation. The owner
// may return at once. After an error, the release may still be recorded.
func (s *Service) ReleaseSince(ctx context.Context, owner network.Owner, since time.Time) error {
	return s.releaseIf(ctx, owner, false, func(a network.Allocation) bool { return a.Since.Equal(since) })
}

// Retract releases an allocation if its creator could not send the response, unless another request has received it.
func (s *Service) Retract(ctx context.Context, of network.Allocation) error {
	return s.releaseIf(ctx, of.Owner, false, func(a network.Allocation) bool { return sameAllocation(a, of) && !a.Answered })
}

// errHeld ends an update that changes nothing.
var errHeld = errors.New("it is held by another holder")

// Unclaim changes the holder of an allocation, and releases it in the same commit if change requests it. It does nothing
// if change reports that the allocation belongs to another holder, or if the owner has none. It fails if the ledger
// does.
func (s *Service) Unclaim(ctx context.Context, owner network.Owner, change func(*network.Holder) (own, over bool)) error {
	over := false
	a, err := s.ledger.Update(ctx, owner, func(a *network.Allocation) error {
		if a.State == network.Releasing {
			return network.ErrNotHeld
		}
		var own bool
		if own, over = change(&a.Holder); !own {
			return errHeld
		}
		if over {
			s.markReleasing(a)
		}
		return nil
	})
	switch {
	case errors.Is(err, network.ErrNotHeld), errors.Is(err, errHeld):
		return nil
	case err != nil || !over:
		return err
	}
	return s.releaseIf(ctx, owner, false, func(now network.Allocation) bool {
		return sameAllocation(a, now) && now.State == network.Releasing
	})
}

// releaseIf releases the allocation of an owner if the function returns true. Without tombstone, the owner may return at once.
func (s *Service) releaseIf(ctx context.Context, owner network.Owner, tombstone bool, is func(network.Allocation) bool) error {
	done, err := s.work.begin(true)
	if err != nil {
		return err
	}
	return s.detach(ctx, owner, func(ctx context.Context) error {
		defer done()
		unlock, err := s.owners.Lock(ctx, owner.String())
		if err != nil {
			err = fmt.Errorf("%w: another request for the owner is not finished: %w", network.ErrUnavailable, err)
		} else {
			defer unlock()
			err = s.recordRelease(ctx, owner, tombstone, is)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			s.options.Report(owner, err)
		}
		return err
	})
}

// recordRelease records a release. Without a cloud it is complete then.
func (s *Service) recordRelease(ctx context.Context, owner network.Owner, tombstone bool, is func(network.Allocation) bool) error {
	now := s.options.Clock.Now()
	left, err := s.ledger.ReleaseIf(ctx, owner, now, tombstone, func(a network.Allocation) (time.Time, ledger.Release) {
		if !is(a) {
			return now, ledger.Kept
		}
		pool, err := s.pool(a.Pool)
		of, unknown := s.backend(a)
		if err == nil && unknown == nil && of.Cloud == nil {
			return now.Add(pool.Quarantine), ledger.Deleted
		}
		return now, ledger.Marked
	})
	if err == nil && left != nil && left.State == network.Releasing {
		s.reconciler.add(*left)
	}
	return err
}

// detach runs work for an owner within the budget, independent of the caller: if the caller's context ends, the work
// continues. The request keeps its place in the server until the work ends.
func (s *Service) detach(ctx context.Context, owner network.Owner, work func(context.Context) error) error {
	release, done := serving.Hold(ctx), make(chan error, 1)
	go func() {
		defer release()
		done <- s.withBudget(ctx, owner, s.options.Budget, work)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// withBudget runs work with a time limit of its own. A panic is an error.
func (s *Service) withBudget(ctx context.Context, owner network.Owner, limit time.Duration, work func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	defer s.recoverPanic(owner, &err)
	return work(ctx)
}

// recoverPanic turns a panic into an error; it is deferred.
func (s *Service) recoverPanic(owner network.Owner, err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("%w: a bug in the server: %v", network.ErrUnavailable, panicked)
		s.options.Report(owner, *err)
	}
}

// sleep waits, or returns the error of the context.
func (s *Service) sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause): //nolint:forbidigo // another server's row is polled in real time
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", network.ErrUnavailable, ctx.Err())
	}
}

// Run works in the background until the context ends, and then until running work is complete. From then on the service
// is unavailable. Call Recover at the start as well.
func (s *Service) Run(ctx context.Context) { s.reconciler.run(ctx) }

// Recover rolls back requests that were interrupted before the server started, and continues releases. It calls no
// cloud: Run does. An owner that returns before its intent is unbound gets the same again. Requests may be served
// concurrently. It fails if the ledger cannot be read.
func (s *Service) Recover(ctx context.Context) error { return s.reconciler.scan(ctx, true) }

// Pending returns the number of releases that the clouds have not confirmed.
func (s *Service) Pending() int {
	s.reconciler.mutex.Lock()
	defer s.reconciler.mutex.Unlock()
	return len(s.reconciler.releases)
}

// workers counts running work, so that the service can wait for its end.
type workers struct {
	mutex   sync.Mutex
	idle    *sync.Cond
	running int
	// ending refuses new allocations, and ended also releases.
	ending, ended bool
}

// errShuttingDown is the error of work that does not begin because the service ends.
var errShuttingDown = fmt.Errorf("%w: the server is shutting down", network.ErrUnavailable)

// begin counts work; releases may begin until all other work has ended. The returned function ends it.
func (w *workers) begin(release bool) (done func(), err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ended || w.ending && !release {
		return nil, errShuttingDown
	}
	w.running++
	return func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.running--
		w.idle.Broadcast()
	}, nil
}

// finish waits until all work has ended, and prevents new work.
func (w *workers) finish() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for w.ending = true; w.running > 0; {
		w.idle.Wait()
	}
	w.ended = true
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package registration keeps the configurations by which callers know this program: of one of its replicas, by writing them; of all, by reading which
// authorities and operations callers know.
//
// The wanted configuration and who leads come in. Nothing is written that is there already, and nothing over what belongs to others. Enter at New.
package registration

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// OwnerAnnotation names the installation that writes a configuration, so that two of them do not write in turns.
const OwnerAnnotation = "interpreter.graft.provider.extensions.gardener.cloud/registered-by"

// Resource is that of the configurations of Karmada's dialect.
var Resource = configuration.ResourceOf(api.KindContext)

// Propagation is how long callers may go on with a configuration that was replaced.
const Propagation = 10 * time.Second

// Options are those of a Registrar.
type Options struct {
	Client dynamic.Interface
	// Dialect is that of the configuration: api.KindContext or api.KindReview.
	Dialect string
	// Owner names the installation, and no other one; it is called by the replica that writes. With an error nothing is written.
	Owner func(ctx context.Context) (string, error)
	// Kinds are those that this replica answers.
	Kinds func() []interpreter.Known
	// Common are those of the kinds that all replicas answer, false while that is not known; nil where there is one replica.
	Common func([]interpreter.Known) ([]interpreter.Known, bool)
	// Configuration is the configuration for kinds; nil while it is not known.
	Configuration func([]interpreter.Known) configuration.Object
	// Registered is told which authorities callers know, after each read.
	Registered func(ctx context.Context, bundle []byte)
	// Leads reports whether this replica is to write.
	Leads func() bool
	// Period is how often the configuration is read without a reason, and the longest wait after a failure.
	Period time.Duration
	Clock  clock.PassiveClock
	// Metrics may be nil.
	Metrics *Metrics
	Log     logr.Logger
}

// Registrar reads and writes a configuration.
type Registrar struct {
	Options
	mutex sync.Mutex
	// seen was wanted at the last look, led is whether this replica was to write then, and next the time of the next look without a reason.
	seen configuration.Object
	led  bool
	next time.Time
	// delay is the wait after the last failure; 0: there was none.
	delay time.Duration
	// owned is the name under which this replica wrote last: a Lease that is created again is no other installation.
	owned string
	// altered is the version of an object that the API server stored otherwise than it was written.
	altered string
	problem string

	// answered are the kinds of this replica at the last look. wide says that callers may call operations that are not among them, waited that they
	// were seen to, and narrow since when that is over; the zero time: it never was.
	answered     []interpreter.Known
	wide, waited bool
	narrow       time.Time
}

// New makes a Registrar.
func New(o Options) *Registrar { return &Registrar{Options: o, wide: true} }

// Look reads the configuration, and writes it if needed, where what is wanted or who leads has changed, or it is time. Failures are logged and counted.
func (r *Registrar) Look(ctx context.Context) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	kinds := r.Kinds()
	changed := !reflect.DeepEqual(kinds, r.answered)
	if changed {
		r.answered, r.wide = slices.Clone(kinds), true
	}
	wanted, leads := r.wanted(kinds), r.Leads()
	if wanted == nil || leads == r.led && same(wanted, r.seen) && r.Clock.Now().Before(r.next) && !changed {
		return
	}
	wanted, err := r.sync(ctx, wanted, kinds, leads)
	if ctx.Err() != nil {
		return
	}
	r.seen, r.led = wanted, leads
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		r.seen, err = nil, nil // another writer was faster: its version is read at the next look
	}
	r.wait(err)
	r.Metrics.looked(r.Dialect, err)
	r.log(err)
}

// Settled reports whether callers call no operation that this replica does not answer, and know that since the time that they need to learn it.
func (r *Registrar) Settled() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return !r.wide && (r.narrow.IsZero() || r.Clock.Since(r.narrow) >= Propagation)
}

// wanted is the configuration of what all replicas answer; nil while that is not known. A replica that does not lead compares its own kinds.
func (r *Registrar) wanted(kinds []interpreter.Known) configuration.Object {
	if r.Common != nil && r.Leads() {
		var known bool
		if kinds, known = r.Common(kinds); !known {
			return nil
		}
	}
	return r.Configuration(kinds)
}

// firstDelay is waited after a failure; each further one doubles it.
const firstDelay = time.Second

// lasting is a failure that does not go away by itself: it is not retried soon.
type lasting struct{ error }

// Unwrap is for errors.As.
func (l lasting) Unwrap() error { return l.error }

// wait sets the time of the next look.
func (r *Registrar) wait(err error) {
	var l lasting
	switch {
	case err == nil && r.wide:
		r.delay = 0
		r.next = r.Clock.Now().Add(firstDelay)
	case err == nil || errors.As(err, &l):
		r.delay = 0
		r.next = r.Clock.Now().Add(r.Period)
	default:
		r.delay = min(max(2*r.delay, firstDelay), r.Period)
		r.next = r.Clock.Now().Add(r.delay)
	}
}

// log logs a failure when it is another one than before.
func (r *Registrar) log(err error) {
	switch {
	case err == nil && r.problem != "":
		r.problem = ""
		r.Log.Info("The registration is right again")
	case err != nil && err.Error() != r.problem:
		r.problem = err.Error()
		r.Log.Error(err, "Keeping the registration failed")
	}
}

// same reports whether two configurations ask for the same.
func same(a, b configuration.Object) bool {
	return a != nil && b != nil && equality.Semantic.DeepEqual(a.Content(), b.Content())
}

// sync writes the wanted configuration where that is needed, and returns it: what callers know may change it.
func (r *Registrar) sync(
	ctx context.Context, wanted configuration.Object, kinds []interpreter.Known, leads bool,
) (configuration.Object, error) {
	there, is, err := r.read(ctx, wanted.GetName())
	if err != nil {
		return wanted, err
	}
	r.compare(is, kinds)
	r.Registered(ctx, bundle(is))
	if now := r.wanted(kinds); now != nil {
		wanted = now
	}
	r.Metrics.current(r.Dialect, there != nil && same(wanted, is))
	if !leads || !r.Leads() {
		return wanted, nil
	}
	owner, err := r.Owner(ctx)
	if err != nil {
		return wanted, fmt.Errorf("naming the installation: %w", err)
	}
	if there == nil {
		return wanted, r.write(ctx, nil, wanted, owner)
	}
	return wanted, r.replace(ctx, there, is, wanted, owner)
}

// read returns the configuration that is there; the object is nil where there is none.
func (r *Registrar) read(ctx context.Context, name string) (*unstructured.Unstructured, configuration.Object, error) {
	is := configuration.New(r.Dialect)
	there, err := r.Client.Resource(configuration.ResourceOf(r.Dialect)).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, is, nil
	case err != nil:
		return nil, is, fmt.Errorf("reading the registration: %w", err)
	}
	return there, is, decode(there, is)
}

// compare notes whether callers may call operations that this replica does not answer.
func (r *Registrar) compare(is configuration.Object, kinds []interpreter.Known) {
	own := r.Configuration(kinds)
	if own == nil || !configuration.Covered(is.Calls(), own.Calls()) {
		r.wide, r.waited = true, true
		return
	}
	if r.wide && r.waited {
		r.narrow = r.Clock.Now()
	}
	r.wide, r.waited = false, false
}

// replace writes over what is there, where that is needed and allowed.
func (r *Registrar) replace(ctx context.Context, there *unstructured.Unstructured, is, wanted configuration.Object, owner string) error {
	switch {
	case same(wanted, is) && there.GetAnnotations()[OwnerAnnotation] == owner:
		r.owned = owner
		return nil
	case r.altered != "" && r.altered == there.GetResourceVersion() && same(wanted, r.seen):
		return errAltered
	}
	if err := r.mine(there, is, owner); err != nil {
		return lasting{err}
	}
	return r.write(ctx, there, wanted, owner)
}

var errAltered = lasting{errors.New(
	"what is written in the registration is changed on its way: a webhook or the definition of its kind in Karmada's API server does so",
)}

// mine returns an error if an object belongs to others.
func (r *Registrar) mine(there *unstructured.Unstructured, is configuration.Object, owner string) error {
	other, named := there.GetAnnotations()[OwnerAnnotation]
	if named && other != owner && (r.owned == "" || other != r.owned) {
		return fmt.Errorf("the registration %s belongs to %s, and this is %s: give this one another name, or delete that one", there.GetName(), other, owner)
	}
	for name := range is.Clients() {
		if !named && name != configuration.WebhookName {
			return fmt.Errorf("the registration %s is none of this program: give this one another name, or delete that one", there.GetName())
		}
	}
	return nil
}

// write creates the configuration, or replaces the one that is there. What the API server stores otherwise is not written again and again.
func (r *Registrar) write(ctx context.Context, there *unstructured.Unstructured, wanted configuration.Object, owner string) error {
	object, err := encode(there, wanted, owner)
	if err != nil {
		return err
	}
	client := r.Client.Resource(configuration.ResourceOf(r.Dialect))
	if there == nil {
		object, err = client.Create(ctx, object, metav1.CreateOptions{})
	} else {
		object, err = client.Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing the registration: %w", err)
	}
	r.owned = owner
	is := configuration.New(r.Dialect)
	if err := decode(object, is); err != nil {
		return err
	}
	r.compare(is, r.answered)
	r.Metrics.wrote()
	r.Metrics.current(r.Dialect, same(wanted, is))
	r.Log.Info("Registered", "name", wanted.GetName(), "calls", len(wanted.Calls()), "version", object.GetResourceVersion())
	r.Registered(ctx, bundle(is))
	if r.altered = ""; !same(wanted, is) {
		r.altered = object.GetResourceVersion()
		return errAltered
	}
	return nil
}

// Remove deletes the configuration if it belongs to the owner, and reports whether it did.
func (r *Registrar) Remove(ctx context.Context, name, owner string) (bool, error) {
	there, is, err := r.read(ctx, name)
	if err != nil || there == nil {
		return false, err
	}
	if err := r.mine(there, is, owner); err != nil {
		return false, err
	}
	uid, version := there.GetUID(), there.GetResourceVersion()
	err = r.Client.Resource(configuration.ResourceOf(r.Dialect)).Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("deleting the registration: %w", err)
	}
	return err == nil, nil
}

// bundle returns the authorities by which callers know this program.
func bundle(c configuration.Object) []byte { return c.Clients()[configuration.WebhookName].CABundle }

// decode reads an object of the API server, with its defaults.
func decode(object *unstructured.Unstructured, into configuration.Object) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return lasting{fmt.Errorf("reading the registration %s: it is not of its kind", object.GetName())}
	}
	into.Default()
	return nil
}

// encode writes a configuration into a copy of an object, and leaves what else is there.
func encode(there *unstructured.Unstructured, c configuration.Object, owner string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
	if err != nil {
		return nil, fmt.Errorf("writing the registration: %w", err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if there != nil {
		object = there.DeepCopy()
	}
	for _, field := range []string{"apiVersion", "kind", "webhooks"} {
		object.Object[field] = content[field]
	}
	object.SetName(c.GetName())
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[OwnerAnnotation] = owner
	object.SetAnnotations(annotations)
	return object, nil
}

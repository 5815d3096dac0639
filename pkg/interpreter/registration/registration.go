// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package registration keeps the ResourceInterpreterWebhookConfiguration of this program in Karmada's API server as it should be: of one replica, by
// writing it; of all, by seeing which authorities callers know.
//
// What should be there comes in, as does who leads. Nothing is written that is there already, and nothing over what belongs to somebody else. Enter at New.
package registration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// OwnerAnnotation names the installation that writes a configuration, so that two of them do not write in turns.
const OwnerAnnotation = "interpreter.graft.provider.extensions.gardener.cloud/registered-by"

// Resource is that of configurations.
var Resource = schema.GroupVersionResource{Group: "config.karmada.io", Version: "v1alpha1", Resource: "resourceinterpreterwebhookconfigurations"}

// Options are those of a Registrar.
type Options struct {
	Client dynamic.Interface
	// Owner names the installation, and no other one; who does not write is not asked. With an error nothing is written.
	Owner func(ctx context.Context) (string, error)
	// Wanted is what should be there; nil: that is not known yet.
	Wanted func() *configuration.ResourceInterpreterWebhookConfiguration
	// Registered is told which authorities are there, whenever it was looked.
	Registered func(ctx context.Context, bundle []byte)
	// Leads says whether this replica is to write.
	Leads func() bool
	// Period is how often it is looked without a reason, and the longest until what failed is tried again.
	Period time.Duration
	Clock  clock.PassiveClock
	// Metrics may be nil.
	Metrics *Metrics
	Log     logr.Logger
}

// Registrar looks and writes.
type Registrar struct {
	Options
	mutex sync.Mutex
	// seen is what was wanted when it was looked last, led whether this replica was to write then, and next when it is looked again without a reason.
	seen *configuration.ResourceInterpreterWebhookConfiguration
	led  bool
	next time.Time
	// delay is what was waited after the last failure; 0: it went well.
	delay time.Duration
	// owned is the name under which this replica wrote last: a Lease that is made anew is no other installation.
	owned string
	// bent is the version of an object that is there in place of what was written, by whatever changes it on its way.
	bent    string
	problem string
}

// New makes a Registrar.
func New(o Options) *Registrar { return &Registrar{Options: o} }

// Run looks and writes until the context ends.
func (r *Registrar) Run(ctx context.Context, tick <-chan time.Time) {
	for {
		r.Look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// Look looks, and writes if that is needed, if what is wanted or who leads has changed, or it is time again. Failures are logged and counted.
func (r *Registrar) Look(ctx context.Context) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	wanted, leads := r.Wanted(), r.Leads()
	if wanted == nil || leads == r.led && same(wanted, r.seen) && r.Clock.Now().Before(r.next) {
		return
	}
	wanted, err := r.sync(ctx, wanted, leads)
	if ctx.Err() != nil {
		return
	}
	r.seen, r.led = wanted, leads
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		r.seen, err = nil, nil // somebody else was faster: what is there now is seen at the next look
	}
	r.wait(err)
	r.Metrics.looked(err)
	r.told(err)
}

// firstDelay is waited after a failure; each further one doubles it.
const firstDelay = time.Second

// lasting is a failure that does not go away by itself, so that nothing is won by trying again soon.
type lasting struct{ error }

// Unwrap is for errors.As.
func (l lasting) Unwrap() error { return l.error }

// wait says when it is looked again.
func (r *Registrar) wait(err error) {
	var l lasting
	if err == nil || errors.As(err, &l) {
		r.delay = 0
		r.next = r.Clock.Now().Add(r.Period)
		return
	}
	r.delay = min(max(2*r.delay, firstDelay), r.Period)
	r.next = r.Clock.Now().Add(r.delay)
}

// told logs a failure when it is another one than before.
func (r *Registrar) told(err error) {
	switch {
	case err == nil && r.problem != "":
		r.problem = ""
		r.Log.Info("The registration is right again")
	case err != nil && err.Error() != r.problem:
		r.problem = err.Error()
		r.Log.Error(err, "Keeping the registration failed")
	}
}

// same says whether two configurations ask for the same.
func same(a, b *configuration.ResourceInterpreterWebhookConfiguration) bool {
	return a != nil && b != nil && equality.Semantic.DeepEqual(a.Webhooks, b.Webhooks)
}

// sync makes what is there what is wanted, which it gives: what callers know may change that.
func (r *Registrar) sync(
	ctx context.Context, wanted *configuration.ResourceInterpreterWebhookConfiguration, leads bool,
) (*configuration.ResourceInterpreterWebhookConfiguration, error) {
	there, err := r.Client.Resource(Resource).Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return wanted, fmt.Errorf("reading the registration: %w", err)
	}
	is := &configuration.ResourceInterpreterWebhookConfiguration{}
	if err != nil {
		there = nil
	} else if is, err = read(there); err != nil {
		return wanted, err
	}
	r.Registered(ctx, bundle(is))
	if now := r.Wanted(); now != nil {
		wanted = now
	}
	r.Metrics.current(there != nil && same(wanted, is))
	if !leads || !r.Leads() {
		return wanted, nil
	}
	owner, err := r.Owner(ctx)
	if err != nil {
		return wanted, fmt.Errorf("naming the installation: %w", err)
	}
	if there == nil {
		return wanted, r.create(ctx, wanted, owner)
	}
	return wanted, r.replace(ctx, there, is, wanted, owner)
}

// replace writes over what is there, where that is needed and allowed.
func (r *Registrar) replace(
	ctx context.Context, there *unstructured.Unstructured, is, wanted *configuration.ResourceInterpreterWebhookConfiguration, owner string,
) error {
	switch {
	case same(wanted, is) && there.GetAnnotations()[OwnerAnnotation] == owner:
		r.owned = owner
		return nil
	case r.bent != "" && r.bent == there.GetResourceVersion() && same(wanted, r.seen):
		return errBent
	}
	if err := r.mine(there, is, owner); err != nil {
		return lasting{err}
	}
	return r.update(ctx, there, wanted, owner)
}

var errBent = lasting{errors.New(
	"what is written in the registration is changed on its way: a webhook or the definition of its kind in Karmada's API server does so",
)}

// mine says whether an object may be written over.
func (r *Registrar) mine(there *unstructured.Unstructured, is *configuration.ResourceInterpreterWebhookConfiguration, owner string) error {
	other, named := there.GetAnnotations()[OwnerAnnotation]
	if named && other != owner && (r.owned == "" || other != r.owned) {
		return fmt.Errorf("the registration %s belongs to %s, and this is %s: give this one another name, or delete that one", is.Name, other, owner)
	}
	for _, w := range is.Webhooks {
		if !named && w.Name != configuration.WebhookName {
			return fmt.Errorf("the registration %s is none of this program: give this one another name, or delete that one", is.Name)
		}
	}
	return nil
}

func (r *Registrar) create(ctx context.Context, wanted *configuration.ResourceInterpreterWebhookConfiguration, owner string) error {
	object, err := write(&unstructured.Unstructured{}, wanted, owner)
	if err != nil {
		return err
	}
	written, err := r.Client.Resource(Resource).Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("writing the registration: %w", err)
	}
	r.owned = owner
	return r.written(ctx, written, wanted)
}

func (r *Registrar) update(
	ctx context.Context, there *unstructured.Unstructured, wanted *configuration.ResourceInterpreterWebhookConfiguration, owner string,
) error {
	object, err := write(there.DeepCopy(), wanted, owner)
	if err != nil {
		return err
	}
	written, err := r.Client.Resource(Resource).Update(ctx, object, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("writing the registration: %w", err)
	}
	r.owned = owner
	return r.written(ctx, written, wanted)
}

// written holds that what is there now is what was written, and else remembers it, so that it is not written again and again.
func (r *Registrar) written(ctx context.Context, there *unstructured.Unstructured, wanted *configuration.ResourceInterpreterWebhookConfiguration) error {
	is, err := read(there)
	if err != nil {
		return err
	}
	r.Metrics.wrote()
	r.Metrics.current(same(wanted, is))
	r.Log.Info("Registered", "name", wanted.Name, "rules", len(wanted.Webhooks[0].Rules), "version", there.GetResourceVersion())
	r.Registered(ctx, bundle(is))
	if r.bent = ""; !same(wanted, is) {
		r.bent = there.GetResourceVersion()
		return errBent
	}
	return nil
}

// bundle are the authorities by which callers know this program.
func bundle(c *configuration.ResourceInterpreterWebhookConfiguration) []byte {
	for _, w := range c.Webhooks {
		if w.Name == configuration.WebhookName {
			return w.ClientConfig.CABundle
		}
	}
	return nil
}

// read is an object of the API server as a configuration, with what is meant where nothing is said.
func read(object *unstructured.Unstructured) (*configuration.ResourceInterpreterWebhookConfiguration, error) {
	c := &configuration.ResourceInterpreterWebhookConfiguration{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, c); err != nil {
		return nil, lasting{fmt.Errorf("reading the registration %s: it is not of its kind", object.GetName())}
	}
	c.Default()
	return c, nil
}

// write puts what is wanted into an object, and leaves what else is there.
func write(object *unstructured.Unstructured, c *configuration.ResourceInterpreterWebhookConfiguration, owner string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
	if err != nil {
		return nil, fmt.Errorf("writing the registration: %w", err)
	}
	if object.Object == nil {
		object.Object = map[string]any{}
	}
	for _, field := range []string{"apiVersion", "kind", "webhooks"} {
		object.Object[field] = content[field]
	}
	object.SetName(c.Name)
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[OwnerAnnotation] = owner
	object.SetAnnotations(annotations)
	return object, nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package registration maintains the webhook configurations in Karmada. One replica writes them; all replicas
// read them to learn which authorities and operations callers know.
//
// The desired configuration and the leader election are options. The package writes only differences, and never
// overwrites foreign configurations. Start reading at New.
package registration

import (
	"bytes"
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// OwnerAnnotation names the installation that owns a configuration, so that two installations do not overwrite
// each other in turns.
const OwnerAnnotation = "interpreter.graft.provider.extensions.gardener.cloud/registered-by"

// Propagation is the time for which callers may still use a replaced configuration: Karmada's components read it from
// watches, which are updated within seconds.
const Propagation = 10 * time.Second

// Options configure a Registrar.
type Options struct {
	Client dynamic.Interface
	// Dialect is api.KindContext or api.KindReview.
	Dialect string
	// Owner returns a unique name of the installation. The writing replica calls it. After an error, nothing is
	// written.
	Owner func(ctx context.Context) (string, error)
	// Kinds returns the kinds and operations that this replica answers.
	Kinds func() []interpreter.Known
	// Common returns the subset that all replicas answer, or false if that is not known yet. Nil means that
	// there is one replica.
	Common func([]interpreter.Known) ([]interpreter.Known, bool)
	// Configuration returns the configuration for kinds, or nil if it is not known yet.
	Configuration func([]interpreter.Known) *configuration.Configuration
	// Registered receives the authorities that callers trust, after each read.
	Registered func(ctx context.Context, bundle []byte)
	// Leads reports whether this replica is the writer.
	Leads func() bool
	// Period is the interval between regular checks, and the longest wait after a failure.
	Period time.Duration
	Clock  clock.PassiveClock
	// Metrics is optional.
	Metrics *Metrics
	Log     logr.Logger
}

// Registrar reads and writes a configuration. It is not safe for concurrent use.
type Registrar struct {
	Options
	// seen is the desired configuration at the last check, led whether this replica was the writer then, and
	// next the time of the next regular check.
	seen *configuration.Configuration
	led  bool
	next time.Time
	// delay is the wait after the last failure; 0 if it succeeded.
	delay time.Duration
	// owned is the owner under which this replica wrote last. It keeps the configuration when its Lease is
	// created again.
	owned string
	// altered is the resourceVersion of an object that the API server stored with changes.
	altered string
	problem string

	// answered has this replica's kinds at the last check. wide is true if callers may call further operations.
	// waited is true if that was observed. narrow is the time since when it is no longer so; zero if it never
	// was.
	answered     []interpreter.Known
	wide, waited bool
	narrow       time.Time
}

// New returns a Registrar.
func New(o Options) *Registrar {
	o.Metrics = cmp.Or(o.Metrics, NewMetrics(prometheus.NewRegistry()))
	return &Registrar{Options: o, wide: true}
}

// Look checks the configuration and writes it if needed, if the desired state or the writer changed or the
// period has passed. It logs and counts failures.
func (r *Registrar) Look(ctx context.Context) {
	kinds := r.Kinds()
	changed := !reflect.DeepEqual(kinds, r.answered)
	if changed {
		r.answered, r.wide = slices.Clone(kinds), true
	}
	wanted, leads := r.wanted(kinds), r.Leads()
	if wanted == nil || leads == r.led && haveSameWebhooks(wanted, r.seen) && r.Clock.Now().Before(r.next) && !changed {
		return
	}
	wanted, err := r.sync(ctx, wanted, kinds, leads)
	if ctx.Err() != nil {
		return
	}
	r.seen, r.led = wanted, leads
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		r.seen, err = nil, nil // another replica wrote first; read its version at the next check
	}
	r.wait(err)
	r.Metrics.failing.Set(r.Metrics.set(r.Metrics.failed, r.Dialect, err != nil))
	if err != nil {
		r.Metrics.failures.Inc()
	}
	r.log(err)
}

// Settled reports whether callers call only operations that this replica answers, and have had the time
// Propagation to learn that.
func (r *Registrar) Settled() bool {
	return !r.wide && (r.narrow.IsZero() || r.Clock.Since(r.narrow) >= Propagation)
}

// wanted returns the configuration of the operations that all replicas answer, or nil if that is not known yet.
// A replica that is not the writer uses its own kinds.
func (r *Registrar) wanted(kinds []interpreter.Known) *configuration.Configuration {
	if r.Common != nil && r.Leads() {
		var known bool
		if kinds, known = r.Common(kinds); !known {
			return nil
		}
	}
	return r.Configuration(kinds)
}

// firstDelay is the wait after a failure. It doubles after each further one.
const firstDelay = time.Second

// lasting is a failure that needs an intervention. It is retried after a full period only.
type lasting struct{ error }

// Unwrap supports errors.As.
func (l lasting) Unwrap() error { return l.error }

// wait sets the time of the next check.
func (r *Registrar) wait(err error) {
	var l lasting
	after := r.Period
	switch {
	case err == nil && r.wide:
		r.delay, after = 0, firstDelay
	case err == nil || errors.As(err, &l):
		r.delay = 0
	default:
		r.delay = min(max(2*r.delay, firstDelay), r.Period)
		after = r.delay
	}
	r.next = r.Clock.Now().Add(after)
}

// log logs a failure if its text differs from the one before.
func (r *Registrar) log(err error) {
	switch {
	case err == nil && r.problem != "":
		r.problem = ""
		r.Log.Info("The registration is correct again")
	case err != nil && err.Error() != r.problem:
		r.problem = err.Error()
		r.Log.Error(err, "Updating the registration failed; retrying")
	}
}

// haveSameWebhooks reports whether two configurations have the same webhooks.
func haveSameWebhooks(a, b *configuration.Configuration) bool {
	return a != nil && b != nil && equality.Semantic.DeepEqual(a.Webhooks, b.Webhooks)
}

// sync writes the desired configuration if needed, and returns it. Reading the current one can change it.
func (r *Registrar) sync(
	ctx context.Context, wanted *configuration.Configuration, kinds []interpreter.Known, leads bool,
) (*configuration.Configuration, error) {
	there, is, err := r.read(ctx, wanted.GetName())
	if err != nil {
		return wanted, err
	}
	r.compare(is, kinds)
	r.Registered(ctx, is.Client().CABundle)
	if now := r.wanted(kinds); now != nil {
		wanted = now
	}
	r.Metrics.current(r.Dialect, there != nil && haveSameWebhooks(wanted, is))
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

// read returns the current configuration; the object is nil if it does not exist.
func (r *Registrar) read(ctx context.Context, name string) (*unstructured.Unstructured, *configuration.Configuration, error) {
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

// compare records whether callers may call operations that this replica does not answer.
func (r *Registrar) compare(is *configuration.Configuration, kinds []interpreter.Known) {
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

// replace updates the current configuration if that is needed and allowed.
func (r *Registrar) replace(ctx context.Context, there *unstructured.Unstructured, is, wanted *configuration.Configuration, owner string) error {
	switch {
	case haveSameWebhooks(wanted, is) && there.GetAnnotations()[OwnerAnnotation] == owner:
		r.owned = owner
		return nil
	case r.altered != "" && r.altered == there.GetResourceVersion() && haveSameWebhooks(wanted, r.seen):
		return errAltered
	}
	if err := r.checkOwner(there, is, owner); err != nil {
		return lasting{err}
	}
	return r.write(ctx, there, wanted, owner)
}

var errAltered = lasting{errors.New(
	"the API server changes the registration on write: check the webhooks and the CustomResourceDefinition in Karmada's API server",
)}

// checkOwner returns an error if an object belongs to another installation.
func (r *Registrar) checkOwner(there *unstructured.Unstructured, is *configuration.Configuration, owner string) error {
	other, named := there.GetAnnotations()[OwnerAnnotation]
	if named && other != owner && (r.owned == "" || other != r.owned) {
		return fmt.Errorf("the registration %s belongs to %s, not to %s: choose another name, or delete that registration", there.GetName(), other, owner)
	}
	for _, w := range is.Webhooks {
		if !named && w.Name != configuration.WebhookName {
			return fmt.Errorf("the registration %s was not written by this program: choose another name, or delete that registration", there.GetName())
		}
	}
	return nil
}

// write creates or replaces the configuration. If the API server stores it with changes, write returns an error
// that is not retried soon.
func (r *Registrar) write(ctx context.Context, there *unstructured.Unstructured, wanted *configuration.Configuration, owner string) error {
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
	r.Metrics.writes.Inc()
	r.Metrics.current(r.Dialect, haveSameWebhooks(wanted, is))
	r.Log.Info("Registered", "name", wanted.GetName(), "calls", len(wanted.Calls()), "version", object.GetResourceVersion())
	r.Registered(ctx, is.Client().CABundle)
	if r.altered = ""; !haveSameWebhooks(wanted, is) {
		r.altered = object.GetResourceVersion()
		return errAltered
	}
	return nil
}

// Remove deletes the configuration if it belongs to owner, and reports whether it did. It fails if the configuration
// belongs to another owner, or cannot be read or deleted.
func (r *Registrar) Remove(ctx context.Context, name, owner string) (bool, error) {
	there, is, err := r.read(ctx, name)
	if err != nil || there == nil {
		return false, err
	}
	if err := r.checkOwner(there, is, owner); err != nil {
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

// decode converts an object of the API server and sets defaults.
func decode(object *unstructured.Unstructured, into *configuration.Configuration) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return lasting{fmt.Errorf("reading the registration %s: the object does not match its kind", object.GetName())}
	}
	into.Default()
	return nil
}

// encode writes a configuration into a copy of an object and keeps its other fields.
func encode(there *unstructured.Unstructured, c *configuration.Configuration, owner string) (*unstructured.Unstructured, error) {
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
	annotations := map[string]string{}
	maps.Copy(annotations, object.GetAnnotations())
	annotations[OwnerAnnotation] = owner
	object.SetAnnotations(annotations)
	return object, nil
}

// Agreed returns a function for each of count registrations that receives the authorities which its callers trust.
// Once all are known, tell receives the authorities that the callers of all registrations trust. The functions must
// not be called concurrently.
func Agreed(count int, tell func(ctx context.Context, bundle []byte)) []func(ctx context.Context, bundle []byte) {
	known := map[int][]byte{}
	all := make([]func(context.Context, []byte), count)
	for i := range all {
		all[i] = func(ctx context.Context, bundle []byte) {
			known[i] = bundle
			if len(known) < count {
				return
			}
			for _, other := range known {
				bundle = intersect(bundle, other)
			}
			tell(ctx, bundle)
		}
	}
	return all
}

// intersect returns the certificates that both bundles contain.
func intersect(bundle, other []byte) []byte {
	var both []byte
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if text := pem.EncodeToMemory(block); bytes.Contains(other, bytes.TrimSpace(text)) {
			both = append(both, text...)
		}
	}
	return both
}

// Metrics report the state of the registrations of all dialects together. They are not safe for concurrent use.
type Metrics struct {
	// stale and failed list the dialects with an outdated registration, or with a failed read or write.
	stale, failed map[string]bool

	right, failing   prometheus.Gauge
	writes, failures prometheus.Counter
}

// NewMetrics creates and registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	return &Metrics{
		stale: map[string]bool{}, failed: map[string]bool{},
		right: serving.NewGauge(registry, "graft_interpreter_registration_current",
			"1 if the registration in Karmada's API server was correct at the last check."),
		failing: serving.NewGauge(registry, "graft_interpreter_registration_failed",
			"1 if the last attempt to read or write the registration failed."),
		writes: serving.NewCounter(registry, "graft_interpreter_registration_writes_total",
			"Writes of the registration by this replica."),
		failures: serving.NewCounter(registry, "graft_interpreter_registration_failures_total",
			"Failed attempts to read or write the registration."),
	}
}

// set sets the state of a dialect and returns 1 if any dialect has that state.
func (m *Metrics) set(states map[string]bool, dialect string, is bool) float64 {
	states[dialect] = is
	if slices.Contains(slices.Collect(maps.Values(states)), true) {
		return 1
	}
	return 0
}

func (m *Metrics) current(dialect string, is bool) { m.right.Set(1 - m.set(m.stale, dialect, !is)) }

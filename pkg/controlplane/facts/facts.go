// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package facts provides the data that an expression of a ProviderProfile can use: the shoot, its seed and cloud
// profile, the namespace, the object being admitted, the garden, and the results of lookups.
//
// Facts are decoded once from the raw resources of a Cluster (extensions.gardener.cloud/v1alpha1), into small structs
// for frequently used fields; the rest of a resource (spec, status) is decoded when an expression first uses it. Facts
// are immutable and shared between requests, and so are their CEL values.
//
// The package itself reads nothing: a Source does, such as that of facts/cluster. It uses no clients, files or clocks,
// and its errors contain no values of Secrets. Start reading at FromCluster, Variables and Facts.Activation.
package facts

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

var (
	// ErrNotFound means that a namespace has no facts, or that a lookup's object or key does not exist.
	ErrNotFound = errors.New("not found")
	// ErrUndecodable means that a resource has an unexpected form.
	ErrUndecodable = errors.New("cannot be decoded")
	// ErrUnavailable means that the facts could not be read now; a later attempt may succeed.
	ErrUnavailable = errors.New("unavailable")
)

// Source reads facts. It is safe for concurrent use; its errors wrap ErrNotFound, ErrUndecodable or ErrUnavailable.
type Source interface {
	// Read returns the facts of a control-plane namespace, or the garden's for the namespace "garden".
	Read(ctx context.Context, namespace string) (*Facts, error)
	// Lookup reads an object for a control plane in the namespace and returns the requested parts. For an optional
	// lookup, it returns nil if the object does not exist, and omits missing keys or paths.
	Lookup(ctx context.Context, namespace string, l LookupRequest) (*LookupResult, error)
}

// Refresher is a Source with a Read that may return outdated facts, for example from a cache.
type Refresher interface {
	// Refresh works like Read, but returns the stored state.
	Refresh(ctx context.Context, namespace string) (*Facts, error)
}

// Facts holds the known data about a control plane; unknown parts are nil. It is immutable and safe for concurrent use.
type Facts struct {
	Namespace Namespace

	shoot, garden      *resource
	seed, cloudProfile *LazyResource
}

// WithNamespace returns the same facts for a namespace with these labels and annotations.
func (f *Facts) WithNamespace(n Namespace) *Facts {
	with := *f
	with.Namespace = n
	return &with
}

// Kubernetes returns the version of the control plane, such as 1.34.2, or an empty string if it is unknown.
func (f *Facts) Kubernetes() string {
	switch {
	case f.shoot != nil:
		return f.shoot.version
	case f.garden != nil:
		return f.garden.version
	default:
		return ""
	}
}

// SeedKubernetes returns the version of the seed, or an empty string if it is unknown.
func (f *Facts) SeedKubernetes() string {
	if seed, err := f.seed.get(); err == nil && seed != nil {
		return seed.version
	}
	return ""
}

// Pool returns the shoot's worker pool with this name, or nil.
func (f *Facts) Pool(name string) *WorkerPool {
	if f.shoot == nil {
		return nil
	}
	return f.shoot.pools[name]
}

// Decode decodes the Seed and the CloudProfile, as requested. It fails with ErrUndecodable.
func (f *Facts) Decode(seed, cloudProfile bool) error {
	if seed {
		if _, err := f.seed.get(); err != nil {
			return err
		}
	}
	if cloudProfile {
		if _, err := f.cloudProfile.get(); err != nil {
			return err
		}
	}
	return nil
}

// Namespace is the metadata of the control plane's namespace in the seed.
type Namespace struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// The kinds that lookups name by their own key.
var (
	Secret         = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	ConfigMap      = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	Infrastructure = schema.GroupVersionKind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "Infrastructure"}
	BackupBucket   = schema.GroupVersionKind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "BackupBucket"}
)

// LookupScope reports whether the objects of a kind live in namespaces.
type LookupScope string

// The scopes. The scope of a kind from a profile is unknown until the API server has reported it.
const (
	ScopeUnknown    LookupScope = ""
	ScopeNamespaced LookupScope = "Namespaced"
	ScopeCluster    LookupScope = "Cluster"
)

// LookupRequest names an object and the parts of it to read.
type LookupRequest struct {
	// Name is the name of the lookup in expressions: lookups.<name>.
	Name string
	schema.GroupVersionKind
	// Resource is the plural name of the kind in the API.
	Resource string
	Scope    LookupScope
	// Namespace is the namespace of the object; empty for the control plane's.
	Namespace string
	// ObjectName is the name of the object; Computed reports that an expression computed it for this admission.
	ObjectName string
	Computed   bool
	// Keys are keys of the data of a Secret or ConfigMap.
	Keys []string
	// Fields are paths to fields, by the name under which expressions see them.
	Fields map[string]fieldpath.Path
	// Labels and Annotations are the keys of the labels and annotations to read.
	Labels, Annotations []string
	// Checksum is the checksum of the data of a Secret or ConfigMap.
	Checksum bool
	// Optional reports that the object and each of its keys and paths may be missing.
	Optional bool
}

// IsSecret reports that the result must never be displayed.
func (l LookupRequest) IsSecret() bool { return l.GroupVersionKind == Secret }

// In returns the namespace of the object for a control plane in the given one. It is empty for a cluster-scoped kind.
func (l LookupRequest) In(namespace string) string {
	switch {
	case l.Scope == ScopeCluster:
		return ""
	case l.Namespace != "":
		return l.Namespace
	default:
		return namespace
	}
}

// LookupResult holds the requested and existing parts of an object.
type LookupResult struct {
	Keys map[string]string
	// Fields are by their name in the request.
	Fields              map[string]any
	Labels, Annotations map[string]string
	Checksum            string
}

// Missing returns the error for an object that does not exist, or nil if the lookup is optional.
func (l LookupRequest) Missing() error {
	if l.Optional {
		return nil
	}
	return fmt.Errorf("reading the %s %s: %w", l.Kind, l.ObjectName, ErrNotFound)
}

// Read returns the requested parts of an object in decoded JSON, with integers as int64. It decodes the values of a
// Secret's keys, and fails with ErrUndecodable if it cannot; the error contains no values. It fails with ErrNotFound if
// a key or path is missing, unless the request is optional.
func (l LookupRequest) Read(object map[string]any) (*LookupResult, error) {
	metadata, _ := object["metadata"].(map[string]any)
	data := stringsOf(object["data"])
	found := &LookupResult{
		Keys: keep(data, l.Keys), Labels: keep(stringsOf(metadata["labels"]), l.Labels),
		Annotations: keep(stringsOf(metadata["annotations"]), l.Annotations), Fields: make(map[string]any, len(l.Fields)),
	}
	for name, path := range l.Fields {
		if value := path.In(object); value != nil {
			found.Fields[name] = value
		}
	}
	if l.Checksum {
		found.Checksum = checksum(data)
	}
	if l.IsSecret() {
		for key, value := range found.Keys {
			decoded, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return nil, fmt.Errorf("reading the %s %s: the key %s is not base64: %w", l.Kind, l.ObjectName, key, ErrUndecodable)
			}
			found.Keys[key] = string(decoded)
		}
	}
	return found, l.check(found)
}

// check returns ErrNotFound for a missing key or path, unless the request is optional.
func (l LookupRequest) check(f *LookupResult) error {
	if l.Optional {
		return nil
	}
	for _, key := range l.Keys {
		if _, ok := f.Keys[key]; !ok {
			return fmt.Errorf("the %s %s has no key %s: %w", l.Kind, l.ObjectName, key, ErrNotFound)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Fields)) {
		if _, ok := f.Fields[name]; !ok {
			return fmt.Errorf("the %s %s has no %s: %w", l.Kind, l.ObjectName, l.Fields[name], ErrNotFound)
		}
	}
	return nil
}

// Lookups is the variable with the results of lookups. It has a field for each lookup, which has a string for each key
// and a value of any type for each path: lookups.cloudprovider.region, or lookups.tls.`ca.crt` for a key that is no
// identifier. Labels and annotations are maps, lookups.x.labels[?"a"], and the checksum is a string. Missing objects of
// optional lookups, and missing keys and paths, are unset: lookups.?cloudprovider.?region.orValue("").
type Lookups struct {
	object  *expression.ObjectType
	lookups map[string]*expression.ObjectType
}

// NewLookups declares the variable for these requests, and fields of any type for other lookups with unknown content.
// The names must be identifiers, each used once.
func NewLookups(requests []LookupRequest, unknown ...string) *Lookups {
	l := &Lookups{lookups: map[string]*expression.ObjectType{}}
	fields := map[string]*cel.Type{}
	var nested []*expression.ObjectType
	for _, r := range requests {
		o := expression.NewObjectType("graft.Lookups."+r.Name, r.members())
		l.lookups[r.Name], fields[r.Name] = o, o.Type()
		nested = append(nested, o)
	}
	for _, name := range unknown {
		fields[name] = cel.DynType
	}
	l.object = expression.NewObjectType("graft.Lookups", fields, nested...)
	return l
}

// members returns the types of a lookup's fields in expressions.
func (l LookupRequest) members() map[string]*cel.Type {
	members := map[string]*cel.Type{}
	for _, key := range l.Keys {
		members[key] = cel.StringType
	}
	for name := range l.Fields {
		members[name] = cel.DynType
	}
	if len(l.Labels) > 0 {
		members["labels"] = stringMap
	}
	if len(l.Annotations) > 0 {
		members["annotations"] = stringMap
	}
	if l.Checksum {
		members["checksum"] = cel.StringType
	}
	return members
}

// Variable declares the variable "lookups".
func (l *Lookups) Variable() expression.Variable {
	return expression.Variable{Name: "lookups", Object: l.object}
}

// Value returns the variable's value for the results of lookups, by name; nil for a missing object.
func (l *Lookups) Value(results map[string]*LookupResult) ref.Val {
	fields := expression.Values{}
	for name, result := range results {
		if object, ok := l.lookups[name]; ok && result != nil {
			fields[name] = object.Value(result.values())
		}
	}
	return l.object.Value(fields)
}

func (f *LookupResult) values() expression.Values {
	values := expression.Values{
		"labels":      types.NewStringStringMap(types.DefaultTypeAdapter, f.Labels),
		"annotations": types.NewStringStringMap(types.DefaultTypeAdapter, f.Annotations),
	}
	if f.Checksum != "" {
		values["checksum"] = types.String(f.Checksum)
	}
	for name, value := range f.Fields {
		values[name] = value
	}
	for key, value := range f.Keys {
		values[key] = types.String(value)
	}
	return values
}

// Static is a Source with fixed data, for previews from files and for tests.
type Static struct {
	// Facts are the facts of every namespace; nil means none.
	Facts *Facts
	// Objects are whole decoded objects of any kind. Namespaced objects must be in the requested namespace.
	Objects []map[string]any
}

var _ Source = (*Static)(nil)

// Read implements Source.
func (s *Static) Read(_ context.Context, namespace string) (*Facts, error) {
	if s.Facts == nil {
		return nil, fmt.Errorf("reading facts of the namespace %s: %w", namespace, ErrNotFound)
	}
	return s.Facts, nil
}

// Lookup implements Source.
func (s *Static) Lookup(_ context.Context, namespace string, l LookupRequest) (*LookupResult, error) {
	for _, object := range s.Objects {
		if l.names(object, namespace) {
			return l.Read(object)
		}
	}
	return nil, l.Missing()
}

// names reports whether the request for a control plane in the namespace selects this object.
func (l LookupRequest) names(object map[string]any, namespace string) bool {
	metadata, _ := object["metadata"].(map[string]any)
	in, _ := metadata["namespace"].(string)
	return object["apiVersion"] == l.GroupVersion().String() && object["kind"] == l.Kind && metadata["name"] == l.ObjectName &&
		(in == "" || in == l.In(namespace))
}

// checksum computes the same value as Gardener's utils.ComputeChecksum for the data of a ConfigMap, or of a Secret in
// base64.
func checksum(data map[string]string) string {
	raw, _ := json.Marshal(data) // strings can always be encoded
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// keep returns the existing entries with these names, or nil.
func keep[V any](all map[string]V, names []string) map[string]V {
	var kept map[string]V
	for _, name := range names {
		value, ok := all[name]
		if !ok {
			continue
		}
		if kept == nil {
			kept = map[string]V{}
		}
		kept[name] = value
	}
	return kept
}

// stringsOf returns the strings in a JSON object, or nil for another value.
func stringsOf(value any) map[string]string {
	members, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	result := make(map[string]string, len(members))
	for key, member := range members {
		if text, ok := member.(string); ok {
			result[key] = text
		}
	}
	return result
}

// value returns the value of a part, or nil if it is unknown. The engine decodes parts before it evaluates expressions, so
// that expressions need not handle decoding errors.
func (p *LazyResource) value() ref.Val {
	r, err := p.get()
	if err != nil {
		return types.WrapErr(expression.Failure("the resource cannot be decoded"))
	}
	return r.variable()
}

func (r *resource) variable() ref.Val {
	if r == nil {
		return nil
	}
	return r.value
}

// AdmittedObject is the object that is being admitted.
type AdmittedObject struct {
	APIVersion, Kind, Name, Namespace string
	Labels, Annotations               map[string]string
	// Raw decodes the whole object, with whole numbers as int64 (see expression.ParseJSON). It is called at most once for each activation, and only if an
	// expression names metadata, spec, status or data. It may be nil.
	Raw func() any
}

// Activation binds the variables to the facts for one object. The operation is CREATE or UPDATE. Unknown facts are not
// bound: an expression that uses them fails. An activation with this one as its parent can add variables.
func (f *Facts) Activation(object AdmittedObject, operation string) interpreter.Activation {
	return &activation{facts: f, operation: types.String(operation), object: object}
}

// LabelWorkerPool is the label of an OperatingSystemConfig with the name of its worker pool (gardener:
// pkg/apis/core/v1beta1/constants).
const LabelWorkerPool = "worker.gardener.cloud/pool"

type activation struct {
	facts     *Facts
	operation ref.Val
	object    AdmittedObject
	// fields are the fields of the object, from their first use on.
	fields expression.Values
}

// Parent implements interpreter.Activation.
func (a *activation) Parent() interpreter.Activation { return nil }

// values returns the fields of the object in expressions.
func (o AdmittedObject) values() expression.Values {
	values := expression.Values{
		"apiVersion": expression.Optional(o.APIVersion), "kind": expression.Optional(o.Kind), "name": expression.Optional(o.Name),
		"namespace": expression.Optional(o.Namespace), "labels": o.Labels, "annotations": o.Annotations,
	}
	tree := sync.OnceValue(o.decode)
	for _, name := range []string{"metadata", "spec", "status", "data"} {
		values[name] = expression.Lazy(func() any { return tree()[name] })
	}
	return values
}

// decode returns the whole object, or an error in each of its parts.
func (o AdmittedObject) decode() map[string]any {
	if o.Raw == nil {
		return nil
	}
	switch tree := o.Raw().(type) {
	case map[string]any:
		return tree
	case error:
		failed := expression.Failure("the object cannot be decoded")
		if expression.ExceedsLimit(tree) {
			failed = tree
		}
		return map[string]any{"metadata": failed, "spec": failed, "status": failed, "data": failed}
	default:
		return nil
	}
}

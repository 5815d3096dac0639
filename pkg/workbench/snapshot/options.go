// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options describes a control plane to generate; graft-controlplane reads it as one JSON object per line. The zero
// value is a complete control plane of the latest supported version.
type Options struct {
	// Kubernetes is the version of the shoot, such as 1.34.2.
	Kubernetes string `json:"kubernetes,omitempty"`
	// HighAvailability asks for failure tolerance of type zone; IPv6 for IPv6-only networks; Hibernated and Workerless
	// speak for themselves.
	HighAvailability bool `json:"highAvailability,omitempty"`
	IPv6             bool `json:"ipv6,omitempty"`
	Hibernated       bool `json:"hibernated,omitempty"`
	Workerless       bool `json:"workerless,omitempty"`
	// Garden asks for the virtual garden that gardener-operator writes, and Legacy for a control plane of the older
	// generation, as the text of the contract describes it; SNI is its feature gate APIServerSNI.
	Garden bool `json:"garden,omitempty"`
	Legacy bool `json:"legacy,omitempty"`
	SNI    bool `json:"sni,omitempty"`
	// Namespace is the shoot's technical ID, shoot--<project>--<name>.
	Namespace string `json:"namespace,omitempty"`
	// Provider is the type of the shoot's infrastructure, SeedProvider that of the seed's and BackupProvider that of the
	// backups'; each is the one before where it is empty.
	Provider       string `json:"provider,omitempty"`
	SeedProvider   string `json:"seedProvider,omitempty"`
	BackupProvider string `json:"backupProvider,omitempty"`
	// Annotations are those of the Shoot.
	Annotations map[string]string `json:"annotations,omitempty"`
	// The provider configurations: of the Shoot, of its first worker pool, of the CloudProfile and of the Seed.
	InfrastructureConfig json.RawMessage `json:"infrastructureConfig,omitempty"`
	ControlPlaneConfig   json.RawMessage `json:"controlPlaneConfig,omitempty"`
	WorkerConfig         json.RawMessage `json:"workerConfig,omitempty"`
	CloudProfileConfig   json.RawMessage `json:"cloudProfileConfig,omitempty"`
	SeedConfig           json.RawMessage `json:"seedConfig,omitempty"`
	// Shoot, CloudProfile and Seed are merged into the objects that are generated (RFC 7386), before anything is computed
	// from them.
	Shoot        json.RawMessage `json:"shoot,omitempty"`
	CloudProfile json.RawMessage `json:"cloudProfile,omitempty"`
	Seed         json.RawMessage `json:"seed,omitempty"`
	// Written has the fields of these three that are written in a flag or a test: an object with their names. Unknown
	// fields in it are an error, but not in resources of a cluster, which may have a newer Gardener.
	Written json.RawMessage `json:"written,omitempty"`
}

// MarkWritten sets Written to the fields that are set so far.
func (o *Options) MarkWritten() {
	if o.Shoot != nil || o.CloudProfile != nil || o.Seed != nil {
		o.Written, _ = json.Marshal(Options{Shoot: o.Shoot, CloudProfile: o.CloudProfile, Seed: o.Seed}) // all are JSON
	}
}

// Title returns a readable name of the snapshot: the version and special properties.
func (o Options) Title() string {
	words := []string{o.Kubernetes}
	for _, flag := range []struct {
		set  bool
		word string
	}{
		{o.Garden, "garden"}, {o.Legacy, "legacy"}, {o.SNI, "sni"}, {o.HighAvailability, "ha"}, {o.IPv6, "ipv6"},
		{o.Hibernated, "hibernated"}, {o.Workerless, "workerless"},
	} {
		if flag.set {
			words = append(words, flag.word)
		}
	}
	if o.Kubernetes == "" {
		words = words[1:]
	}
	return strings.Join(words, ", ")
}

// shootPart holds the fields of a Shoot that determine its components.
type shootPart struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		ControlPlane struct{ HighAvailability *struct{} }
		Hibernation  struct{ Enabled bool }
		Kubernetes   struct{ Version string }
		Networking   struct{ IPFamilies []string }
		Provider     struct {
			Type    string
			Workers []json.RawMessage
		}
	}
	Status struct{ TechnicalID string }
}

// Adopt adds the values of a whole Shoot manifest. Values that are already set have precedence. It fails if the
// manifest is not a Shoot.
func (o Options) Adopt(shoot []byte) (Options, error) {
	merged, err := Merge(shoot, o.Shoot)
	if err != nil {
		return o, err
	}
	var m shootPart
	if err := json.Unmarshal(shoot, &m); err != nil {
		return o, fmt.Errorf("reading the Shoot: %w", err)
	}
	if id := technicalID(m.Status.TechnicalID, m.Metadata.Namespace, m.Metadata.Name); id != "" {
		o.Namespace = id
	}
	o.Workerless = o.Workerless || len(m.Spec.Provider.Workers) == 0
	o.Shoot = merged
	return o, o.follow()
}

// follow sets options from the components of the merged Shoot.
func (o *Options) follow() error {
	var m shootPart
	if err := json.Unmarshal(o.Shoot, &m); err != nil {
		return fmt.Errorf("reading the Shoot: %w", err)
	}
	o.Kubernetes = cmp.Or(m.Spec.Kubernetes.Version, o.Kubernetes)
	o.Provider = cmp.Or(m.Spec.Provider.Type, o.Provider)
	o.HighAvailability = o.HighAvailability || m.Spec.ControlPlane.HighAvailability != nil
	o.Hibernated = o.Hibernated || m.Spec.Hibernation.Enabled
	o.IPv6 = o.IPv6 || slices.Equal(m.Spec.Networking.IPFamilies, []string{"IPv6"})
	return nil
}

// technicalID returns the namespace of a Shoot in a seed: from its status, or else as computed by Gardener (gardener:
// pkg/utils/gardener/shoot.go, ComputeTechnicalID). The project is derived from its namespace by convention.
func technicalID(status, namespace, name string) string {
	if status != "" || name == "" {
		return status
	}
	project, ok := strings.CutPrefix(namespace, "garden-")
	if !ok {
		project = "local"
	}
	return "shoot--" + project + "--" + name
}

// ErrSet is wrapped by the errors of Options.Set.
var ErrSet = errors.New("setting a field of the shoot")

// shortcuts are the fields of a Shoot that expressions call by a name of their own, as expressions call them.
var shortcuts = map[string]string{
	"annotations": "metadata.annotations", "labels": "metadata.labels", "name": "metadata.name",
	"cloudProfile": "spec.cloudProfile.name", "hibernated": "spec.hibernation.enabled",
	"highAvailability": "spec.controlPlane.highAvailability.failureTolerance.type", "kubernetes": "spec.kubernetes.version",
	"networking": "spec.networking", "provider": "spec.provider.type", "purpose": "spec.purpose", "region": "spec.region",
}

// Set sets fields: path=value, where the path begins as expressions name fields of the shoot (region,
// networking.nodes), or with spec, metadata or status, or with seed. or cloudProfile. for those resources. The value is
// YAML. It fails with ErrSet for an invalid path or value.
func (o *Options) Set(fields ...string) error {
	for _, field := range fields {
		path, text, ok := strings.Cut(field, "=")
		if !ok || path == "" {
			return fmt.Errorf("%w: %q must be path=value, such as region=eu", ErrSet, field)
		}
		into, path, err := o.resource(path)
		if err != nil {
			return err
		}
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return fmt.Errorf("%w: %q: %w", ErrSet, field, err)
		}
		if text == "" {
			raw = []byte(`""`)
		}
		value := json.RawMessage(raw)
		for _, step := range slices.Backward(steps(path)) {
			value, _ = json.Marshal(map[string]json.RawMessage{step: value}) // cannot fail: the value is JSON
		}
		if *into, err = Merge(*into, value); err != nil {
			return fmt.Errorf("%w: %q: %w", ErrSet, field, err)
		}
	}
	if o.MarkWritten(); len(o.Shoot) == 0 {
		return nil
	}
	return o.follow()
}

// resource returns the resource that contains a path, and the path inside of it.
func (o *Options) resource(path string) (*json.RawMessage, string, error) {
	for prefix, into := range map[string]*json.RawMessage{"seed.": &o.Seed, "cloudProfile.": &o.CloudProfile} {
		if inner, ok := strings.CutPrefix(path, prefix); ok {
			return into, inner, nil
		}
	}
	path = strings.TrimPrefix(path, "shoot.")
	first, rest := path, ""
	if end := strings.IndexAny(path, ".["); end >= 0 {
		first, rest = path[:end], path[end:]
	}
	switch first {
	case "spec", "metadata", "status":
		return &o.Shoot, path, nil
	}
	full, ok := shortcuts[first]
	if !ok {
		return nil, "", fmt.Errorf("%w: unknown field %q%s; name it by its path, such as spec.%s", ErrSet, first,
			source.Suggest(first, slices.Collect(maps.Keys(shortcuts))), first)
	}
	return &o.Shoot, full + rest, nil
}

// steps returns the members of a path: a.b.c, with brackets around a key with dots, a[example.org/key].
func steps(path string) []string {
	var found []string
	for path != "" {
		if inner, ok := strings.CutPrefix(path, "["); ok {
			key, rest, _ := strings.Cut(inner, "]")
			found, path = append(found, key), strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			return append(found, path)
		}
		found = append(found, path[:end])
		path = strings.TrimPrefix(path[end:], ".")
	}
	return found
}

// Merge applies a merge patch (RFC 7386) to an object; both may be missing. It fails if one of them is not valid JSON.
func Merge(object, patch []byte) ([]byte, error) {
	switch {
	case len(patch) == 0:
		return object, nil
	case len(object) == 0:
		return patch, nil
	}
	merged, err := jsonpatch.MergePatch(object, patch)
	if err != nil {
		return nil, fmt.Errorf("merging: %w", err)
	}
	return merged, nil
}

// ErrVersion is wrapped by the error for an unsupported version.
var ErrVersion = errors.New("no such version of Kubernetes")

// Versions returns the default versions of generated control planes: one patch version of each supported minor version.
func Versions() []string { return []string{"1.31.14", "1.32.10", "1.33.6", "1.34.2"} }

// Known completes a minor version, such as 1.33, by the patch that Versions has. It refuses another incomplete version. The
// generator validates complete versions, because it supports older ones than these. The error wraps ErrVersion.
func Known(version string) (string, error) {
	all := Versions()
	if at := slices.IndexFunc(all, func(known string) bool { return Minor(known) == version }); at >= 0 {
		return all[at], nil
	}
	if _, err := semver.StrictNewVersion(version); err == nil || version == "" {
		return version, nil
	}
	first, last := all[0], all[len(all)-1]
	return "", fmt.Errorf("%w: %s; control planes are generated of %s to %s, such as %s", ErrVersion, version, Minor(first), Minor(last), last)
}

// Minor returns a version without its patch, or the text itself if it is not a version.
func Minor(version string) string {
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return version
	}
	return fmt.Sprintf("%d.%d", parsed.Major(), parsed.Minor())
}

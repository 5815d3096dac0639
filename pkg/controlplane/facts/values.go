// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// celValues are what CEL sees of Facts; nil for what is not known.
type celValues struct {
	namespace, shoot, garden ref.Val
	// seed and cloudProfile are decoded when they are first called for.
	seed, cloudProfile func() ref.Val
	// workers are those of the shoot, by name.
	workers map[string]ref.Val
}

// cel makes the values at the first call.
func (f *Facts) cel() *celValues {
	f.once.Do(func() {
		f.values.namespace = namespaceType.Value(metadata(f.Namespace.Name, f.Namespace.Labels, f.Namespace.Annotations))
		if f.Shoot != nil {
			f.values.shoot, f.values.workers = f.Shoot.value()
		}
		f.values.seed = sync.OnceValue(func() ref.Val { return partValue(f.Seed, (*Seed).value) })
		f.values.cloudProfile = sync.OnceValue(func() ref.Val { return partValue(f.CloudProfile, (*CloudProfile).value) })
		if g := f.Garden; g != nil {
			fields := metadata(g.Name, g.Labels, g.Annotations)
			fields["kubernetes"] = version(g.Kubernetes)
			fields["spec"] = expression.Lazy(g.Manifest.Spec)
			f.values.garden = gardenType.Value(fields)
		}
	})
	return &f.values
}

// partValue is the value of a part, nil when it is not known. The engine asks for parts before it evaluates, so that one that cannot
// be decoded is no matter of an expression.
func partValue[T any](p *Part[T], value func(*T) ref.Val) ref.Val {
	switch resource, err := p.Get(); {
	case err != nil:
		return types.WrapErr(expression.Failure("the resource cannot be decoded"))
	case resource == nil:
		return nil
	default:
		return value(resource)
	}
}

func (s *Seed) value() ref.Val {
	fields := metadata(s.Name, s.Labels, s.Annotations)
	fields["region"], fields["provider"] = text(s.Region), text(s.Provider)
	fields["spec"] = expression.Lazy(s.Manifest.Spec)
	fields["providerConfig"] = within(s.Manifest, "provider", "providerConfig")
	return seedType.Value(fields)
}

func (c *CloudProfile) value() ref.Val {
	fields := metadata(c.Name, c.Labels, c.Annotations)
	fields["type"] = text(c.Type)
	fields["spec"] = expression.Lazy(c.Manifest.Spec)
	fields["providerConfig"] = within(c.Manifest, "providerConfig")
	return cloudProfileType.Value(fields)
}

func (s *Shoot) value() (ref.Val, map[string]ref.Val) {
	workers, named := make([]ref.Val, len(s.Workers)), make(map[string]ref.Val, len(s.Workers))
	for i := range s.Workers {
		workers[i] = s.Workers[i].value(func(path []string) expression.Lazy {
			return func() any { return s.inWorker(i, path) }
		})
		named[s.Workers[i].Name] = workers[i]
	}
	fields := metadata(s.Name, s.Labels, s.Annotations)
	fields["namespace"] = text(s.Namespace)
	fields["uid"] = text(s.UID)
	fields["kubernetes"] = version(s.Kubernetes)
	fields["region"] = text(s.Region)
	fields["provider"] = text(s.Provider)
	fields["cloudProfile"] = text(s.CloudProfile)
	fields["networking"] = networkingType.Value(expression.Values{
		"type":       text(s.Networking.Type),
		"ipFamilies": list(s.Networking.IPFamilies),
		"nodes":      text(s.Networking.Nodes),
		"pods":       text(s.Networking.Pods),
		"services":   text(s.Networking.Services),
	})
	fields["hibernated"] = types.Bool(s.Hibernated)
	fields["workerless"] = types.Bool(s.Workerless)
	fields["highAvailability"] = text(s.HighAvailability)
	fields["purpose"] = text(s.Purpose)
	fields["technicalID"] = text(s.TechnicalID)
	fields["workers"] = types.NewRefValList(types.DefaultTypeAdapter, workers)
	fields["spec"] = expression.Lazy(s.Manifest.Spec)
	fields["status"] = expression.Lazy(s.Manifest.Status)
	fields["infrastructureConfig"] = within(s.Manifest, "provider", "infrastructureConfig")
	fields["controlPlaneConfig"] = within(s.Manifest, "provider", "controlPlaneConfig")
	return shootType.Value(fields), named
}

// within is what stands at a path below the spec of a resource.
func within(m *Manifest, path ...string) expression.Lazy {
	return func() any { return m.In(path...) }
}

// wholeOfWorker are the members of workers that are read from the whole Shoot, with their paths below the worker.
var wholeOfWorker = map[string][]string{
	"caBundle":                 {"caBundle"},
	"clusterAutoscaler":        {"clusterAutoscaler"},
	"controlPlane":             {"controlPlane"},
	"kubelet":                  {"kubernetes", "kubelet"},
	"machineControllerManager": {"machineControllerManager"},
	"maxSurge":                 {"maxSurge"},
	"maxUnavailable":           {"maxUnavailable"},
	"providerConfig":           {"providerConfig"},
}

// inWorker returns what stands at a path below a worker, by the worker's index: nil when there is nothing, or an error.
func (s *Shoot) inWorker(i int, path []string) any {
	workers := s.Manifest.In("provider", "workers")
	if _, failed := workers.(error); failed {
		return workers
	}
	all, _ := workers.([]any)
	if i >= len(all) {
		return nil
	}
	value := all[i]
	for _, key := range path {
		members, _ := value.(map[string]any)
		value = members[key]
	}
	return value
}

func (w *Worker) value(whole func(path []string) expression.Lazy) ref.Val {
	fields := metadata(w.Name, w.Labels, w.Annotations)
	for name, path := range wholeOfWorker {
		fields[name] = whole(path)
	}
	fields["kubernetes"] = version(w.Kubernetes)
	fields["machineType"] = text(w.MachineType)
	fields["machineImage"] = text(w.MachineImage)
	fields["machineImageVersion"] = text(w.MachineImageVersion)
	fields["architecture"] = text(w.Architecture)
	fields["cri"] = text(w.CRI)
	fields["containerRuntimes"] = list(w.ContainerRuntimes)
	fields["minimum"] = types.Int(w.Minimum)
	fields["maximum"] = types.Int(w.Maximum)
	fields["zones"] = list(w.Zones)
	fields["kubeletDataVolume"] = text(w.KubeletDataVolume)
	fields["sysctls"] = types.NewStringStringMap(types.DefaultTypeAdapter, w.Sysctls)
	fields["systemComponents"] = types.Bool(w.SystemComponents)
	fields["updateStrategy"] = text(w.UpdateStrategy)
	fields["priority"] = expression.Unset{Default: types.Int(0)}
	if w.Priority != nil {
		fields["priority"] = types.Int(*w.Priority)
	}
	if w.Volume != nil {
		fields["volume"] = w.Volume.value()
	}
	fields["dataVolumes"] = values(w.DataVolumes, Volume.value)
	fields["taints"] = values(w.Taints, Taint.value)
	return workerType.Value(fields)
}

func (v Volume) value() ref.Val {
	fields := expression.Values{
		"name": text(v.Name), "type": text(v.Type), "size": text(v.Size), "encrypted": expression.Unset{Default: types.False},
	}
	if v.Encrypted != nil {
		fields["encrypted"] = types.Bool(*v.Encrypted)
	}
	return volumeType.Value(fields)
}

func (t Taint) value() ref.Val {
	return taintType.Value(expression.Values{"key": text(t.Key), "value": text(t.Value), "effect": text(t.Effect)})
}

// values makes a list of what value returns for each item.
func values[T any](items []T, value func(T) ref.Val) ref.Val {
	all := make([]ref.Val, len(items))
	for i, item := range items {
		all[i] = value(item)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all)
}

func metadata(name string, labels, annotations map[string]string) expression.Values {
	return expression.Values{
		"name":        text(name),
		"labels":      types.NewStringStringMap(types.DefaultTypeAdapter, labels),
		"annotations": types.NewStringStringMap(types.DefaultTypeAdapter, annotations),
	}
}

// text is a string that counts as not set when it is empty.
func text(s string) any {
	if s == "" {
		return expression.Unset{Default: types.String("")}
	}
	return types.String(s)
}

func list(items []string) ref.Val { return types.NewStringList(types.DefaultTypeAdapter, items) }

// version is a parsed version. Decoded facts have good ones; others may not.
func version(s string) any {
	v, err := expression.ParseVersion(s)
	if err != nil {
		return expression.Failure("the Kubernetes version is not a version")
	}
	return v
}

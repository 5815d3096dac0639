// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

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

// partValue returns the value of a part, or nil if it is unknown. The engine decodes parts before it evaluates
// expressions, so that expressions need not handle decoding errors.
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

// within returns the value at a path below the spec of a resource.
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

// inWorker returns the value at a path below a worker, by the worker's index. It returns nil if there is none, or an
// error.
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

// values returns a list with the result of value for each item.
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

// text returns a string, or nil for an empty one.
func text(s string) any {
	if s == "" {
		return expression.Unset{Default: types.String("")}
	}
	return types.String(s)
}

func list(items []string) ref.Val { return types.NewStringList(types.DefaultTypeAdapter, items) }

// version returns a parsed version. Decoded facts always contain valid ones; others may not.
func version(s string) any {
	v, err := expression.ParseVersion(s)
	if err != nil {
		return expression.Failure("the Kubernetes version is not a version")
	}
	return v
}

var stringMap, stringList = cel.MapType(cel.StringType, cel.StringType), cel.ListType(cel.StringType)

// The types of the variables. Text that is not set reads as "", and has() tells.
var (
	networkingType = expression.NewObject("graft.Networking", map[string]*cel.Type{
		"type":       cel.StringType,
		"ipFamilies": stringList,
		"nodes":      cel.StringType,
		"pods":       cel.StringType,
		"services":   cel.StringType,
	})
	volumeType = expression.NewObject("graft.Volume", map[string]*cel.Type{
		"name":      cel.StringType,
		"type":      cel.StringType,
		"size":      cel.StringType,
		"encrypted": cel.BoolType,
	})
	taintType = expression.NewObject("graft.Taint", map[string]*cel.Type{
		"key":    cel.StringType,
		"value":  cel.StringType,
		"effect": cel.StringType,
	})
	workerType = expression.NewObject("graft.Worker", map[string]*cel.Type{
		"name":                cel.StringType,
		"kubernetes":          apiservercel.SemverType,
		"machineType":         cel.StringType,
		"machineImage":        cel.StringType,
		"machineImageVersion": cel.StringType,
		"architecture":        cel.StringType,
		"cri":                 cel.StringType,
		"minimum":             cel.IntType,
		"maximum":             cel.IntType,
		"zones":               stringList,
		"labels":              stringMap,
		"annotations":         stringMap,
		"providerConfig":      cel.DynType,
		"volume":              volumeType.Type(),
		"dataVolumes":         cel.ListType(volumeType.Type()),
		"kubeletDataVolume":   cel.StringType,
		"taints":              cel.ListType(taintType.Type()),
		"sysctls":             stringMap,
		"containerRuntimes":   stringList,
		"systemComponents":    cel.BoolType,
		"priority":            cel.IntType,
		"updateStrategy":      cel.StringType,
		// A number or a percentage.
		"maxSurge":       cel.DynType,
		"maxUnavailable": cel.DynType,
		"caBundle":       cel.DynType,
		// Gardener's settings of the pool's components.
		"kubelet":                  cel.DynType,
		"machineControllerManager": cel.DynType,
		"clusterAutoscaler":        cel.DynType,
		"controlPlane":             cel.DynType,
	}, volumeType, taintType)
	shootType = expression.NewObject("graft.Shoot", map[string]*cel.Type{
		"name":             cel.StringType,
		"namespace":        cel.StringType,
		"uid":              cel.StringType,
		"labels":           stringMap,
		"annotations":      stringMap,
		"kubernetes":       apiservercel.SemverType,
		"region":           cel.StringType,
		"provider":         cel.StringType,
		"cloudProfile":     cel.StringType,
		"networking":       networkingType.Type(),
		"hibernated":       cel.BoolType,
		"workerless":       cel.BoolType,
		"highAvailability": cel.StringType,
		"purpose":          cel.StringType,
		"technicalID":      cel.StringType,
		"workers":          cel.ListType(workerType.Type()),
		"spec":             cel.DynType,
		"status":           cel.DynType,
		// The cloud-specific parts of the shoot, from spec.provider.
		"infrastructureConfig": cel.DynType,
		"controlPlaneConfig":   cel.DynType,
	}, networkingType, workerType)
	seedType = expression.NewObject("graft.Seed", map[string]*cel.Type{
		"name":        cel.StringType,
		"labels":      stringMap,
		"annotations": stringMap,
		"region":      cel.StringType,
		"provider":    cel.StringType,
		"spec":        cel.DynType,
		// From spec.provider.
		"providerConfig": cel.DynType,
	})
	cloudProfileType = expression.NewObject("graft.CloudProfile", map[string]*cel.Type{
		"name":        cel.StringType,
		"labels":      stringMap,
		"annotations": stringMap,
		"type":        cel.StringType,
		"spec":        cel.DynType,
		// From spec.
		"providerConfig": cel.DynType,
	})
	namespaceType = expression.NewObject("graft.Namespace", map[string]*cel.Type{
		"name":        cel.StringType,
		"labels":      stringMap,
		"annotations": stringMap,
	})
	gardenType = expression.NewObject("graft.Garden", map[string]*cel.Type{
		"name":        cel.StringType,
		"labels":      stringMap,
		"annotations": stringMap,
		"kubernetes":  apiservercel.SemverType,
		"spec":        cel.DynType,
	})
	objectType = expression.NewObject("graft.Object", map[string]*cel.Type{
		"apiVersion":  cel.StringType,
		"kind":        cel.StringType,
		"name":        cel.StringType,
		"namespace":   cel.StringType,
		"labels":      stringMap,
		"annotations": stringMap,
		"metadata":    cel.DynType,
		"spec":        cel.DynType,
		"status":      cel.DynType,
		"data":        cel.DynType,
	})
)

// Variables returns the variables that facts provide to expressions. The namespace is namespaceObject, as in
// Kubernetes' admission policies, because CEL reserves the word namespace.
func Variables() []expression.Variable {
	return []expression.Variable{
		{Name: "shoot", Object: shootType},
		{Name: "seed", Object: seedType},
		{Name: "cloudProfile", Object: cloudProfileType},
		{Name: "namespaceObject", Object: namespaceType},
		{Name: "garden", Object: gardenType},
		// The worker pool of an OperatingSystemConfig; kubernetes is the version of its kubelets.
		{Name: "pool", Object: workerType},
		{Name: "object", Object: objectType},
		{Name: "operation", Type: cel.StringType},
	}
}

// Summary describes a variable in one line, or a field, given as its type's name followed by its own:
// graft.Shoot.purpose.
func Summary(name string) string { return summaries[name] }

// summaries are for the reference. Each variable and each field has one.
var summaries = map[string]string{
	"shoot":           "the shoot whose control plane it is",
	"seed":            "the seed on which the control plane runs",
	"cloudProfile":    "the cloud profile of the shoot, merged where it is a NamespacedCloudProfile",
	"namespaceObject": "the namespace of the control plane",
	"garden":          "the Garden; in the namespace of a virtual garden, where shoot, seed and cloudProfile are not",
	"pool":            "the worker pool, in rules for the targets kubelet and node",
	"object":          "the object that is admitted, as it came",
	"operation":       "CREATE or UPDATE",

	"graft.Shoot.name":                 "its name in the garden",
	"graft.Shoot.namespace":            "its namespace in the garden",
	"graft.Shoot.uid":                  "its UID in the garden",
	"graft.Shoot.labels":               "its labels",
	"graft.Shoot.annotations":          "its annotations",
	"graft.Shoot.kubernetes":           "the version of the control plane",
	"graft.Shoot.region":               "spec.region",
	"graft.Shoot.provider":             "the type of the cloud, spec.provider.type",
	"graft.Shoot.cloudProfile":         "the name of the cloud profile of any kind",
	"graft.Shoot.infrastructureConfig": "spec.provider.infrastructureConfig",
	"graft.Shoot.controlPlaneConfig":   "spec.provider.controlPlaneConfig",
	"graft.Shoot.networking":           "spec.networking",
	"graft.Shoot.hibernated":           "spec.hibernation.enabled",
	"graft.Shoot.workerless":           "whether it has no worker pools",
	"graft.Shoot.highAvailability":     "the failure tolerance of the control plane: \"\", node or zone",
	"graft.Shoot.purpose":              "spec.purpose, such as production",
	"graft.Shoot.technicalID":          "the name of the control plane's namespace, status.technicalID",
	"graft.Shoot.workers":              "the worker pools",
	"graft.Shoot.spec":                 "the whole spec",
	"graft.Shoot.status":               "the whole status",

	"graft.Networking.type":       "the network extension, such as calico",
	"graft.Networking.ipFamilies": "IPv4, IPv6 or both; IPv4 by default",
	"graft.Networking.nodes":      "the CIDR of the nodes",
	"graft.Networking.pods":       "the CIDR of the pods",
	"graft.Networking.services":   "the CIDR of the Services",

	"graft.Worker.name":                     "its name",
	"graft.Worker.kubernetes":               "the version of its kubelets; that of the shoot by default",
	"graft.Worker.machineType":              "the type of its machines",
	"graft.Worker.machineImage":             "the name of the machine image; \"\" until Gardener has chosen one",
	"graft.Worker.machineImageVersion":      "the version of the machine image; \"\" until Gardener has chosen one",
	"graft.Worker.architecture":             "amd64 (the default) or arm64",
	"graft.Worker.cri":                      "the container runtime, such as containerd",
	"graft.Worker.minimum":                  "the least machines",
	"graft.Worker.maximum":                  "the most machines",
	"graft.Worker.zones":                    "its zones",
	"graft.Worker.labels":                   "the labels of its nodes",
	"graft.Worker.annotations":              "the annotations of its nodes",
	"graft.Worker.providerConfig":           "providerConfig of the pool",
	"graft.Worker.volume":                   "the volume of the operating system; not set where the pool names none",
	"graft.Worker.dataVolumes":              "the data volumes, without the volume of the operating system",
	"graft.Worker.kubeletDataVolume":        "the name of the data volume for the kubelet's files; \"\" without one",
	"graft.Worker.taints":                   "the taints of its nodes",
	"graft.Worker.sysctls":                  "the kernel settings of its nodes",
	"graft.Worker.containerRuntimes":        "the types of further container runtimes, such as gvisor",
	"graft.Worker.systemComponents":         "whether system components may run on its nodes, which is the default",
	"graft.Worker.priority":                 "its priority for the cluster-autoscaler; 0 by default",
	"graft.Worker.updateStrategy":           "how its machines are updated, such as AutoRollingUpdate; \"\" by default",
	"graft.Worker.maxSurge":                 "how many more machines an update may have: a number or a percentage",
	"graft.Worker.maxUnavailable":           "how many machines an update may lack: a number or a percentage",
	"graft.Worker.caBundle":                 "the certificate authorities of its nodes, as PEM",
	"graft.Worker.kubelet":                  "kubernetes.kubelet of the pool",
	"graft.Worker.machineControllerManager": "machineControllerManager of the pool",
	"graft.Worker.clusterAutoscaler":        "clusterAutoscaler of the pool",
	"graft.Worker.controlPlane":             "controlPlane of the pool, in self-hosted shoots",

	"graft.Volume.name":      "its name",
	"graft.Volume.type":      "its type; \"\" until the cloud's default is chosen",
	"graft.Volume.size":      "its size, such as 50Gi",
	"graft.Volume.encrypted": "whether it is encrypted; false by default",

	"graft.Taint.key":    "its key",
	"graft.Taint.value":  "its value",
	"graft.Taint.effect": "NoSchedule, PreferNoSchedule or NoExecute",

	"graft.Seed.name":           "its name",
	"graft.Seed.labels":         "its labels",
	"graft.Seed.annotations":    "its annotations",
	"graft.Seed.region":         "spec.provider.region",
	"graft.Seed.provider":       "the type of the cloud, spec.provider.type",
	"graft.Seed.providerConfig": "spec.provider.providerConfig",
	"graft.Seed.spec":           "the whole spec",

	"graft.CloudProfile.name":           "its name",
	"graft.CloudProfile.labels":         "its labels",
	"graft.CloudProfile.annotations":    "its annotations",
	"graft.CloudProfile.type":           "the type of the cloud",
	"graft.CloudProfile.providerConfig": "spec.providerConfig",
	"graft.CloudProfile.spec":           "the whole spec",

	"graft.Namespace.name":        "its name",
	"graft.Namespace.labels":      "its labels",
	"graft.Namespace.annotations": "its annotations",

	"graft.Garden.name":        "its name",
	"graft.Garden.labels":      "its labels",
	"graft.Garden.annotations": "its annotations",
	"graft.Garden.kubernetes":  "the version of the virtual garden",
	"graft.Garden.spec":        "the whole spec",

	"graft.Object.apiVersion":  "its apiVersion",
	"graft.Object.kind":        "its kind",
	"graft.Object.name":        "its name",
	"graft.Object.namespace":   "its namespace",
	"graft.Object.labels":      "its labels",
	"graft.Object.annotations": "its annotations",
	"graft.Object.metadata":    "the whole metadata",
	"graft.Object.spec":        "the whole spec",
	"graft.Object.status":      "the whole status",
	"graft.Object.data":        "the whole data, of a ConfigMap for instance",
}

// Object is the object that is being admitted.
type Object struct {
	APIVersion, Kind, Name, Namespace string
	Labels, Annotations               map[string]string
	// Raw decodes the whole object, with whole numbers as int64 (see expression.ParseJSON). It is called at most once for each activation, and only if an
	// expression names metadata, spec, status or data. It may be nil.
	Raw func() any
}

// Activation binds the variables to the facts for one object. The operation is CREATE or UPDATE. Unknown facts are not
// bound: an expression that uses them fails. An activation with this one as its parent can add variables.
func (f *Facts) Activation(object Object, operation string) interpreter.Activation {
	a := &activation{values: f.cel(), operation: types.String(operation)}
	a.fields.Object = object
	return a
}

// LabelWorkerPool is the label of an OperatingSystemConfig with the name of its worker pool (gardener:
// pkg/apis/core/v1beta1/constants).
const LabelWorkerPool = "worker.gardener.cloud/pool"

type activation struct {
	values    *celValues
	operation ref.Val
	fields    objectFields
}

// ResolveName implements interpreter.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	var value ref.Val
	switch name {
	case "shoot":
		value = a.values.shoot
	case "seed":
		value = a.values.seed()
	case "cloudProfile":
		value = a.values.cloudProfile()
	case "namespaceObject":
		value = a.values.namespace
	case "garden":
		value = a.values.garden
	case "pool":
		value = a.values.workers[a.fields.Labels[LabelWorkerPool]]
	case "operation":
		value = a.operation
	case "object":
		value = objectType.Value(&a.fields)
	}
	return value, value != nil
}

// Parent implements interpreter.Activation.
func (a *activation) Parent() interpreter.Activation { return nil }

// objectFields are the fields of an Object.
type objectFields struct {
	Object
	once sync.Once
	tree map[string]any
}

// Field implements expression.Fields.
func (o *objectFields) Field(name string) (any, bool) {
	switch name {
	case "apiVersion":
		return o.APIVersion, o.APIVersion != ""
	case "kind":
		return o.Kind, o.Kind != ""
	case "name":
		return o.Name, o.Name != ""
	case "namespace":
		return o.Namespace, o.Namespace != ""
	case "labels":
		return o.Labels, true
	case "annotations":
		return o.Annotations, true
	}
	o.once.Do(o.decode)
	value := o.tree[name]
	return value, value != nil
}

func (o *objectFields) decode() {
	if o.Raw == nil {
		return
	}
	switch tree := o.Raw().(type) {
	case map[string]any:
		o.tree = tree
	case error:
		failed := expression.Failure("the object cannot be decoded")
		if expression.ExceedsLimit(tree) {
			failed = tree
		}
		o.tree = map[string]any{"metadata": failed, "spec": failed, "status": failed, "data": failed}
	}
}

// shootManifest is the part of a Shoot that is decoded at once.
type shootManifest struct {
	typeMeta
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Region           string `json:"region"`
		Purpose          string `json:"purpose"`
		CloudProfileName string `json:"cloudProfileName"`
		CloudProfile     struct {
			Name string `json:"name"`
		} `json:"cloudProfile"`
		Kubernetes   versioned `json:"kubernetes"`
		ControlPlane struct {
			HighAvailability struct {
				FailureTolerance struct {
					Type string `json:"type"`
				} `json:"failureTolerance"`
			} `json:"highAvailability"`
		} `json:"controlPlane"`
		Hibernation struct {
			Enabled bool `json:"enabled"`
		} `json:"hibernation"`
		Networking struct {
			Type       string   `json:"type"`
			IPFamilies []string `json:"ipFamilies"`
			Nodes      string   `json:"nodes"`
			Pods       string   `json:"pods"`
			Services   string   `json:"services"`
		} `json:"networking"`
		Provider struct {
			Type    string           `json:"type"`
			Workers []workerManifest `json:"workers"`
		} `json:"provider"`
	} `json:"spec"`
	Status struct {
		TechnicalID string `json:"technicalID"`
	} `json:"status"`
}

type versioned struct {
	Version string `json:"version"`
}

type workerManifest struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Minimum     int64             `json:"minimum"`
	Maximum     int64             `json:"maximum"`
	Zones       []string          `json:"zones"`
	Kubernetes  versioned         `json:"kubernetes"`
	CRI         struct {
		Name              string `json:"name"`
		ContainerRuntimes []struct {
			Type string `json:"type"`
		} `json:"containerRuntimes"`
	} `json:"cri"`
	Volume                *Volume           `json:"volume"`
	DataVolumes           []Volume          `json:"dataVolumes"`
	KubeletDataVolumeName string            `json:"kubeletDataVolumeName"`
	Taints                []Taint           `json:"taints"`
	Sysctls               map[string]string `json:"sysctls"`
	SystemComponents      *struct {
		Allow bool `json:"allow"`
	} `json:"systemComponents"`
	Priority       *int64 `json:"priority"`
	UpdateStrategy string `json:"updateStrategy"`
	Machine        struct {
		Type         string `json:"type"`
		Architecture string `json:"architecture"`
		Image        struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"image"`
	} `json:"machine"`
}

// DecodeShoot decodes a Shoot; nil for empty bytes or null. The bytes are kept and must not change any more.
func DecodeShoot(raw []byte) (*Shoot, error) {
	if absent(raw) {
		return nil, nil
	}
	var m shootManifest
	if err := decodeAs(raw, &m, &m.typeMeta, coreVersion, "Shoot"); err != nil {
		return nil, err
	}
	s := m.shoot()
	s.Manifest = NewManifest(raw)
	if err := checkVersion(s.Kubernetes); err != nil {
		return nil, fmt.Errorf("decoding the Shoot: spec.kubernetes.version: %w", err)
	}
	for i, w := range s.Workers {
		if err := checkVersion(w.Kubernetes); err != nil {
			return nil, fmt.Errorf("decoding the Shoot: spec.provider.workers[%d].kubernetes.version: %w", i, err)
		}
	}
	return s, nil
}

func (m *shootManifest) shoot() *Shoot {
	s := &Shoot{
		Name:             m.Metadata.Name,
		Namespace:        m.Metadata.Namespace,
		UID:              m.Metadata.UID,
		Labels:           m.Metadata.Labels,
		Annotations:      m.Metadata.Annotations,
		Kubernetes:       m.Spec.Kubernetes.Version,
		Region:           m.Spec.Region,
		Provider:         m.Spec.Provider.Type,
		CloudProfile:     cmp.Or(m.Spec.CloudProfile.Name, m.Spec.CloudProfileName),
		Hibernated:       m.Spec.Hibernation.Enabled,
		Workerless:       len(m.Spec.Provider.Workers) == 0,
		HighAvailability: m.Spec.ControlPlane.HighAvailability.FailureTolerance.Type,
		Purpose:          m.Spec.Purpose,
		TechnicalID:      m.Status.TechnicalID,
		Networking: Networking{
			Type:       m.Spec.Networking.Type,
			IPFamilies: m.Spec.Networking.IPFamilies,
			Nodes:      m.Spec.Networking.Nodes,
			Pods:       m.Spec.Networking.Pods,
			Services:   m.Spec.Networking.Services,
		},
	}
	if len(s.Networking.IPFamilies) == 0 {
		s.Networking.IPFamilies = []string{"IPv4"}
	}
	for _, w := range m.Spec.Provider.Workers {
		s.Workers = append(s.Workers, w.worker(s.Kubernetes))
	}
	return s
}

func (m *workerManifest) worker(version string) Worker {
	var runtimes []string
	for _, runtime := range m.CRI.ContainerRuntimes {
		runtimes = append(runtimes, runtime.Type)
	}
	return Worker{
		Name:                m.Name,
		Kubernetes:          cmp.Or(m.Kubernetes.Version, version),
		MachineType:         m.Machine.Type,
		MachineImage:        m.Machine.Image.Name,
		MachineImageVersion: m.Machine.Image.Version,
		Architecture:        cmp.Or(m.Machine.Architecture, "amd64"),
		CRI:                 m.CRI.Name,
		Minimum:             m.Minimum,
		Maximum:             m.Maximum,
		Zones:               m.Zones,
		Labels:              m.Labels,
		Annotations:         m.Annotations,
		Volume:              m.Volume,
		DataVolumes:         m.DataVolumes,
		KubeletDataVolume:   m.KubeletDataVolumeName,
		Taints:              m.Taints,
		Sysctls:             m.Sysctls,
		ContainerRuntimes:   runtimes,
		SystemComponents:    m.SystemComponents == nil || m.SystemComponents.Allow,
		Priority:            m.Priority,
		UpdateStrategy:      m.UpdateStrategy,
	}
}

// FromClusterObjects decodes the raw resources of the Cluster with this name: the Shoot immediately, the rest on first
// use. Empty and null resources are unknown. It keeps the bytes, which must not change afterwards.
func FromClusterObjects(name string, cloudProfile, seed, shoot []byte) (*Facts, error) {
	f := &Facts{Namespace: Namespace{Name: name}}
	var err error
	if !absent(cloudProfile) {
		f.CloudProfile = Lazy(func() (*CloudProfile, error) { return DecodeCloudProfile(cloudProfile) })
	}
	if !absent(seed) {
		f.Seed = Lazy(func() (*Seed, error) { return DecodeSeed(seed) })
	}
	if f.Shoot, err = DecodeShoot(shoot); err != nil {
		return nil, fmt.Errorf("decoding the Cluster %s: %w", name, err)
	}
	return f, nil
}

// InManifest reports whether a member of a variable needs the whole Shoot. An empty name means all members.
func InManifest(variable, member string) bool {
	switch variable {
	case "pool":
		_, whole := wholeOfWorker[member]
		return member == "" || whole
	case "shoot":
	default:
		return false
	}
	switch member {
	case "name", "namespace", "uid", "labels", "annotations", "kubernetes", "region", "provider", "cloudProfile", "networking",
		"hibernated", "workerless", "highAvailability", "purpose", "technicalID":
		return false
	default: // workers have members of wholeOfWorker
		return true
	}
}

// Spec returns the decoded spec, nil if there is none, or an error.
func (m *Manifest) Spec() any {
	if m == nil {
		return nil
	}
	if err := m.decode(); err != nil {
		return err
	}
	return m.tree.Spec
}

// In returns the value at a path below spec, nil if there is none, or an error.
func (m *Manifest) In(path ...string) any {
	value := m.Spec()
	if _, failed := value.(error); failed {
		return value
	}
	for _, key := range path {
		members, _ := value.(map[string]any)
		value = members[key]
	}
	return value
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"slices"
	"strings"
	"testing"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
)

const mutatedBy = "provider.extensions.gardener.cloud/mutated-by-controlplane-webhook"

// contractPlane is one control plane that the clauses are held against.
type contractPlane struct {
	name    string
	older   bool
	sni     bool
	objects []Object
}

// planes are control planes of both generations, of every version of today's and of the variants that change objects.
func planes(t *testing.T) []contractPlane {
	t.Helper()
	var out []contractPlane
	for _, version := range versions {
		for _, highly := range []bool{false, true} {
			o := Options{Kubernetes: version, HighAvailability: highly, IPv6: highly}
			out = append(out, contractPlane{name: "today " + label(o), objects: mustControlPlane(t, o)})
		}
	}
	for name, o := range map[string]LegacyOptions{"older": {}, "older with SNI": {SNI: true}} {
		objects, err := Legacy(o)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, contractPlane{name: name, older: true, sni: o.SNI, objects: objects})
	}
	return out
}

// TestContract checks every "shall" of the control-plane webhook contract about objects that Gardener creates. Each
// subtest is a clause, with one test for each control plane.
func TestContract(t *testing.T) {
	all := planes(t)
	for _, clause := range slices.Concat(
		deploymentClauses("kube-apiserver"), deploymentClauses("kube-controller-manager"), deploymentClauses("kube-scheduler"),
		apiServerClauses, serviceClauses, etcdClauses, absenceClauses, kubeletClauses, todayClauses,
	) {
		t.Run(clause.name, func(t *testing.T) {
			for _, p := range all {
				t.Run(p.name, func(t *testing.T) { clause.check(t, p) })
			}
		})
	}
}

type clause struct {
	name  string
	check func(*testing.T, contractPlane)
}

// provider lists the flags that are for webhooks to add, by component.
var provider = map[string][]string{
	"kube-apiserver":          {"cloud-provider", "cloud-config"},
	"kube-controller-manager": {"cloud-provider", "cloud-config", "configure-cloud-routes", "external-cloud-volume-plugin"},
	"kube-scheduler":          {"cloud-provider", "cloud-config"},
	"kubelet":                 {"cloud-provider", "cloud-config", "provider-id"},
}

// both lists the flags that the contract wants in both generations, olderOnly those that only the older one still has:
// Kubernetes or Gardener dropped them since.
var both = map[string][]string{
	"kube-apiserver": {"enable-admission-plugins", "etcd-cafile", "etcd-certfile", "etcd-keyfile", "audit-policy-file", "secure-port"},
	"kube-controller-manager": {
		"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig", "leader-elect", "tls-cert-file", "tls-private-key-file",
		"cluster-cidr", "cluster-name", "concurrent-deployment-syncs", "concurrent-replicaset-syncs",
		"horizontal-pod-autoscaler-downscale-stabilization", "horizontal-pod-autoscaler-sync-period",
		"horizontal-pod-autoscaler-tolerance", "secure-port",
	},
	"kube-scheduler": {
		"config", "authentication-kubeconfig", "authorization-kubeconfig", "tls-cert-file", "tls-private-key-file", "secure-port",
	},
	"kubelet": {"config", "bootstrap-kubeconfig", "kubeconfig", "node-labels"},
}

var olderOnly = map[string][]string{
	"kube-apiserver": {
		"disable-admission-plugins", "audit-log-path", "audit-log-maxsize", "audit-log-maxbackup", "insecure-port",
		"endpoint-reconciler-type",
	},
	"kube-controller-manager": {"port"},
	"kube-scheduler":          {"port"},
	"kubelet":                 {"network-plugin", "cni-bin-dir", "cni-conf-dir"},
}

func deploymentClauses(name string) []clause {
	return []clause{
		{name + "/container", func(t *testing.T, p contractPlane) { container(t, p, name) }},
		{name + "/flags", func(t *testing.T, p contractPlane) {
			checkFlags(t, p, name, flagsOf(t, p.objects, name, name))
		}},
		{name + "/flags-in-one-field", func(t *testing.T, p contractPlane) {
			c := container(t, p, name)
			inArgs := name == "kube-apiserver" && !p.older
			if inArgs && (len(c.Command) != 1 || len(c.Args) == 0) || !inArgs && len(c.Args) != 0 {
				t.Errorf("command has %d elements, args %d", len(c.Command), len(c.Args))
			}
		}},
		{name + "/no-provider-flags", func(t *testing.T, p contractPlane) {
			checkNoProviderFlags(t, name, flagsOf(t, p.objects, name, name))
		}},
		{name + "/no-env", func(t *testing.T, p contractPlane) {
			if c := container(t, p, name); len(c.Env)+len(c.EnvFrom) != 0 {
				t.Errorf("env %v, envFrom %v", c.Env, c.EnvFrom)
			}
		}},
		{name + "/no-provider-volumes", func(t *testing.T, p contractPlane) {
			for _, v := range deployment(t, p, name).Spec.Template.Spec.Volumes {
				for _, source := range sources(v) {
					if strings.Contains(source, "cloud") {
						t.Errorf("volume %s reads %s", v.Name, source)
					}
				}
				if v.HostPath != nil && v.Name != "dev-net-tun" {
					t.Errorf("volume %s is host path %s", v.Name, v.HostPath.Path)
				}
			}
		}},
	}
}

var apiServerClauses = []clause{
	{"kube-apiserver/sni-label", func(t *testing.T, p contractPlane) {
		_, labelled := deployment(t, p, "kube-apiserver").Labels[contract.LabelExposure]
		if labelled != p.sni {
			t.Errorf("%s is there: %t", contract.LabelExposure, labelled)
		}
	}},
	{"kube-apiserver/advertise-address", func(t *testing.T, p contractPlane) {
		if got := flagsOf(t, p.objects, "kube-apiserver", "kube-apiserver")["advertise-address"]; len(got) != 1 {
			t.Errorf("--advertise-address=%v", got)
		}
	}},
	{"kube-apiserver/persistent-volume-label", func(t *testing.T, p contractPlane) {
		plugins := flagsOf(t, p.objects, "kube-apiserver", "kube-apiserver")["enable-admission-plugins"]
		if got := slices.Contains(strings.Split(plugins[0], ","), "PersistentVolumeLabel"); got != p.older {
			t.Errorf("--enable-admission-plugins=%v", plugins)
		}
	}},
}

var serviceClauses = []clause{
	{"kube-apiserver-service/name", func(t *testing.T, p contractPlane) { service(t, p) }},
	{"kube-apiserver-service/type", func(t *testing.T, p contractPlane) {
		want := corev1.ServiceTypeClusterIP
		if p.older && !p.sni {
			want = corev1.ServiceTypeLoadBalancer
		}
		if got := service(t, p).Spec.Type; got != want {
			t.Errorf("type %s, want %s", got, want)
		}
	}},
	{"kube-apiserver-service/sni-label", func(t *testing.T, p contractPlane) {
		if got := service(t, p).Labels[contract.LabelExposure]; (got == contract.ExposureManaged) != p.sni {
			t.Errorf("%s=%q", contract.LabelExposure, got)
		}
	}},
	{"kube-apiserver-service/no-provider-annotations", func(t *testing.T, p contractPlane) {
		for key := range service(t, p).Annotations {
			if !strings.HasPrefix(key, "networking.istio.io/") && !strings.HasPrefix(key, "networking.resources.gardener.cloud/") {
				t.Errorf("annotation %s", key)
			}
		}
	}},
}

// etcdClauses: today's generation has no StatefulSets of its own making, so that its clauses are about the Etcd resource.
var etcdClauses = []clause{
	{"etcd/objects", func(t *testing.T, p contractPlane) {
		eachEtcd(t, p, func(*appsv1.StatefulSet) {}, func(*druidcorev1alpha1.Etcd) {})
	}},
	{"etcd/container", func(t *testing.T, p contractPlane) {
		eachEtcd(t, p, func(s *appsv1.StatefulSet) {
			if c := s.Spec.Template.Spec.Containers; len(c) != 1 || c[0].Name != "etcd" {
				t.Errorf("%s has containers %v", s.Name, c)
			}
		}, nil)
	}},
	{"etcd/command", func(t *testing.T, p contractPlane) {
		eachEtcd(t, p, func(s *appsv1.StatefulSet) {
			c := s.Spec.Template.Spec.Containers[0]
			if len(c.Command) < 2 || !strings.HasSuffix(c.Command[0], "/etcd") || len(c.Args)+len(c.Env) != 0 {
				t.Errorf("%s: command %v, args %v, env %v", s.Name, c.Command, c.Args, c.Env)
			}
		}, nil)
	}},
	{"etcd/volume-claim", func(t *testing.T, p contractPlane) {
		eachEtcd(t, p, func(s *appsv1.StatefulSet) {
			mount := corev1.VolumeMount{Name: s.Name, MountPath: "/var/etcd/data"}
			if c := s.Spec.VolumeClaimTemplates; len(c) != 1 || c[0].Name != s.Name {
				t.Errorf("%s has claims %v", s.Name, c)
			}
			if !slices.Contains(s.Spec.Template.Spec.Containers[0].VolumeMounts, mount) {
				t.Errorf("%s does not mount %v", s.Name, mount)
			}
		}, func(e *druidcorev1alpha1.Etcd) {
			if e.Spec.VolumeClaimTemplate == nil || e.Spec.StorageCapacity == nil {
				t.Errorf("%s: claim %v, capacity %v", e.Name, e.Spec.VolumeClaimTemplate, e.Spec.StorageCapacity)
			}
		})
	}},
	{"etcd/default-storage-class", func(t *testing.T, p contractPlane) {
		eachEtcd(t, p, func(s *appsv1.StatefulSet) {
			if class := s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName; class != nil {
				t.Errorf("%s: storage class %q", s.Name, *class)
			}
		}, func(e *druidcorev1alpha1.Etcd) {
			if e.Spec.StorageClass != nil {
				t.Errorf("%s: storage class %q", e.Name, *e.Spec.StorageClass)
			}
		})
	}},
}

var absenceClauses = []clause{
	{"cloud-controller-manager/absent", func(t *testing.T, p contractPlane) { absent(t, p, "cloud-controller-manager") }},
	{"csi-controllers/absent", func(t *testing.T, p contractPlane) { absent(t, p, "csi") }},
}

var kubeletClauses = []clause{
	{"kubelet/operating-system-config", func(t *testing.T, p contractPlane) { reconciled(t, p) }},
	{"kubelet/one-exec-start", func(t *testing.T, p contractPlane) {
		for _, osc := range reconciled(t, p) {
			if got := execStarts(kubeletUnit(t, osc)); len(got) != 1 || !strings.HasPrefix(got[0], "/opt/bin/kubelet ") {
				t.Errorf("%s: %d ExecStart: %v", osc.Name, len(got), got)
			}
		}
	}},
	{"kubelet/flags", func(t *testing.T, p contractPlane) {
		for _, osc := range reconciled(t, p) {
			checkFlags(t, p, "kubelet", flagMap(strings.Fields(execStarts(kubeletUnit(t, osc))[0])))
		}
	}},
	{"kubelet/no-provider-flags", func(t *testing.T, p contractPlane) {
		for _, osc := range reconciled(t, p) {
			checkNoProviderFlags(t, "kubelet", flagMap(strings.Fields(execStarts(kubeletUnit(t, osc))[0])))
		}
	}},
	{"kubelet/configuration-file", func(t *testing.T, p contractPlane) {
		for _, osc := range reconciled(t, p) {
			var got struct{ APIVersion, Kind, ProviderID string }
			if err := yaml.Unmarshal(fileOf(t, osc, "/var/lib/kubelet/config/kubelet"), &got); err != nil {
				t.Fatal(err)
			}
			if got.Kind != "KubeletConfiguration" || got.APIVersion != "kubelet.config.k8s.io/v1beta1" || got.ProviderID != "" {
				t.Errorf("%s: %+v", osc.Name, got)
			}
		}
	}},
}

// todayClauses are facts of today's generation that the text of the contract does not have; the engine relies on them.
var todayClauses = []clause{
	{"mutated-by-label", func(t *testing.T, p contractPlane) {
		var got []string
		for _, o := range p.objects {
			if o.Object.GetLabels()[mutatedBy] == "true" && !slices.Contains(got, o.Target) {
				got = append(got, o.Target)
			}
		}
		slices.Sort(got)
		var want []string
		if !p.older {
			want = []string{
				"cluster-autoscaler", "kube-apiserver", "kube-controller-manager", "kube-scheduler",
				"machine-controller-manager", "machine-controller-manager-vpa", "operatingsystemconfig",
			}
			if _, ok := find(p.objects, "Deployment", "vpn-seed-server"); ok {
				want = append(want, "vpn-seed-server")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("labelled targets (-want +got):\n%s", diff)
		}
	}},
	{"machine-controller-manager/no-sidecar", func(t *testing.T, p contractPlane) {
		if !p.older {
			if c := deployment(t, p, "machine-controller-manager").Spec.Template.Spec.Containers; len(c) != 1 {
				t.Errorf("%d containers", len(c))
			}
		}
	}},
	{"kube-scheduler/blank-flag", func(t *testing.T, p contractPlane) {
		if got := slices.Contains(container(t, p, "kube-scheduler").Command, ""); got == p.older {
			t.Errorf("an empty element in the command: %t", got)
		}
	}},
}

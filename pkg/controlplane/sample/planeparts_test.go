// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
)

func checkFlags(t *testing.T, p contractPlane, component string, flags map[string][]string) {
	t.Helper()
	for _, flag := range both[component] {
		if len(flags[flag]) == 0 {
			t.Errorf("no --%s", flag)
		}
	}
	for _, flag := range olderOnly[component] {
		if _, ok := flags[flag]; ok != p.older {
			t.Errorf("--%s is there: %t", flag, ok)
		}
	}
}

func checkNoProviderFlags(t *testing.T, component string, flags map[string][]string) {
	t.Helper()
	for _, flag := range provider[component] {
		if values, ok := flags[flag]; ok {
			t.Errorf("--%s=%v", flag, values)
		}
	}
}

func deployment(t *testing.T, p contractPlane, name string) *appsv1.Deployment {
	t.Helper()
	o, ok := find(p.objects, "Deployment", name)
	if !ok {
		t.Fatalf("no Deployment %s", name)
	}
	return o.Object.(*appsv1.Deployment)
}

func service(t *testing.T, p contractPlane) *corev1.Service {
	t.Helper()
	o, ok := find(p.objects, "Service", "kube-apiserver")
	if !ok {
		t.Fatal("no Service kube-apiserver")
	}
	return o.Object.(*corev1.Service)
}

func container(t *testing.T, p contractPlane, name string) corev1.Container {
	t.Helper()
	return namedContainer(t, p.objects, name, name)
}

func namedContainer(t *testing.T, objects []Object, name, containerName string) corev1.Container {
	t.Helper()
	containers := deployment(t, contractPlane{objects: objects}, name).Spec.Template.Spec.Containers
	i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == containerName })
	if i < 0 {
		t.Fatalf("no container %s in %s", containerName, name)
	}
	return containers[i]
}

func flagsOf(t *testing.T, objects []Object, name, containerName string) map[string][]string {
	t.Helper()
	c := namedContainer(t, objects, name, containerName)
	return flagMap(slices.Concat(c.Command, c.Args))
}

// flagMap reads --name=value; all components of Gardener's write their flags so.
func flagMap(tokens []string) map[string][]string {
	flags := map[string][]string{}
	for _, token := range tokens {
		if name, ok := strings.CutPrefix(token, "--"); ok {
			name, value, _ := strings.Cut(name, "=")
			flags[name] = append(flags[name], value)
		}
	}
	return flags
}

// sources names the Secrets and ConfigMaps of a volume.
func sources(v corev1.Volume) []string {
	var out []string
	if v.Secret != nil {
		out = append(out, v.Secret.SecretName)
	}
	if v.ConfigMap != nil {
		out = append(out, v.ConfigMap.Name)
	}
	if v.Projected != nil {
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				out = append(out, s.Secret.Name)
			}
			if s.ConfigMap != nil {
				out = append(out, s.ConfigMap.Name)
			}
		}
	}
	return out
}

// eachEtcd calls the check of the generation for both etcds, which must be there.
func eachEtcd(t *testing.T, p contractPlane, older func(*appsv1.StatefulSet), today func(*druidcorev1alpha1.Etcd)) {
	t.Helper()
	for _, name := range []string{"etcd-main", "etcd-events"} {
		kind := "Etcd"
		if p.older {
			kind = "StatefulSet"
		}
		o, ok := find(p.objects, kind, name)
		switch {
		case !ok:
			t.Errorf("no %s %s", kind, name)
		case p.older:
			older(o.Object.(*appsv1.StatefulSet))
		case today != nil:
			today(o.Object.(*druidcorev1alpha1.Etcd))
		}
	}
}

// absent looks for a part of a name in all workloads and their containers.
func absent(t *testing.T, p contractPlane, part string) {
	t.Helper()
	for _, o := range p.objects {
		if strings.Contains(o.Object.GetName(), part) {
			t.Errorf("%s %s", o.Object.GetObjectKind().GroupVersionKind().Kind, o.Object.GetName())
		}
		if d, ok := o.Object.(*appsv1.Deployment); ok {
			for _, c := range d.Spec.Template.Spec.Containers {
				if strings.Contains(c.Name, part) {
					t.Errorf("container %s in %s", c.Name, d.Name)
				}
			}
		}
	}
}

func reconciled(t *testing.T, p contractPlane) []*extensionsv1alpha1.OperatingSystemConfig {
	t.Helper()
	var out []*extensionsv1alpha1.OperatingSystemConfig
	for _, o := range p.objects {
		if osc, ok := o.Object.(*extensionsv1alpha1.OperatingSystemConfig); ok && osc.Spec.Purpose == extensionsv1alpha1.OperatingSystemConfigPurposeReconcile {
			out = append(out, osc)
		}
	}
	if len(out) == 0 {
		t.Fatal("no OperatingSystemConfig of purpose reconcile")
	}
	return out
}

func kubeletUnit(t *testing.T, osc *extensionsv1alpha1.OperatingSystemConfig) string {
	t.Helper()
	for _, unit := range osc.Spec.Units {
		if unit.Name == "kubelet.service" && unit.Content != nil {
			return *unit.Content
		}
	}
	t.Fatalf("%s has no unit kubelet.service", osc.Name)
	return ""
}

// execStarts returns the values of ExecStart in the section Service, with continued lines joined.
func execStarts(unit string) []string {
	var out []string
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(unit, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		if value, ok := strings.CutPrefix(line, "ExecStart="); ok && section == "[Service]" {
			out = append(out, value)
		}
	}
	return out
}

func fileOf(t *testing.T, osc *extensionsv1alpha1.OperatingSystemConfig, path string) []byte {
	t.Helper()
	for _, file := range osc.Spec.Files {
		if file.Path != path || file.Content.Inline == nil {
			continue
		}
		if file.Content.Inline.Encoding == "" {
			return []byte(file.Content.Inline.Data)
		}
		data, err := base64.StdEncoding.DecodeString(file.Content.Inline.Data)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	t.Fatalf("%s has no file %s", osc.Name, path)
	return nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func clusterFacts(t testing.TB) *Facts {
	t.Helper()
	f, err := FromCluster(readFile(t, "testdata/cluster.json"))
	if err != nil {
		t.Fatal(err)
	}
	return f.WithNamespace(Namespace{Name: f.Namespace.Name, Labels: map[string]string{"shoot.gardener.cloud/provider": "openstack"}})
}

func TestFromCluster(t *testing.T) {
	got, err := FromCluster(readFile(t, "testdata/cluster.json"))
	if err != nil {
		t.Fatal(err)
	}
	shoot := &Shoot{Resource: Resource{APIVersion: coreVersion, Kind: "Shoot", Metadata: Metadata{
		Name: "blue", Namespace: "garden-team", UID: "s1", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"enable-vac": "true"},
	}}}
	spec := &shoot.Spec
	spec.Kubernetes.Version, spec.Region, spec.Purpose, spec.CloudProfile.Name = "1.33.4", "eu-1", "production", "metal"
	spec.Networking = Networking{Type: "calico", IPFamilies: []string{"IPv4"}, Nodes: "10.250.0.0/16", Pods: "100.64.0.0/12"}
	spec.Hibernation.Enabled, spec.ControlPlane.HighAvailability.FailureTolerance.Type = true, "zone"
	spec.Provider.Type, shoot.Status.TechnicalID = "openstack", "shoot--garden--blue"
	a := Worker{
		Name: "a", Kubernetes: Versioned{"1.33.4"}, Minimum: 1, Maximum: 3, Zones: []string{"eu-1a"}, Labels: map[string]string{"x": "y"},
		Volume:      &Volume{Type: "ssd", Size: "50Gi", Encrypted: ptr.To(true)},
		DataVolumes: []Volume{{Name: "kubelet", Type: "hdd", Size: "100Gi"}}, KubeletDataVolumeName: "kubelet",
		Taints:  []Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}},
		Sysctls: map[string]string{"net.core.somaxconn": "1024"}, Priority: ptr.To(int64(7)), UpdateStrategy: "AutoRollingUpdate",
	}
	a.CRI.Name, a.CRI.ContainerRuntimes = "containerd", append(a.CRI.ContainerRuntimes, struct {
		Type string `json:"type"`
	}{"gvisor"})
	a.SystemComponents = &struct {
		Allow bool `json:"allow"`
	}{false}
	a.Machine.Type, a.Machine.Architecture, a.Machine.Image.Name, a.Machine.Image.Version = "m1", "arm64", "gardenlinux", "1592.9.0"
	b := Worker{Name: "b", Kubernetes: Versioned{"1.32.1"}, Maximum: 1}
	b.Machine.Type, b.Machine.Architecture = "m2", "amd64"
	spec.Provider.Workers = []Worker{a, b}
	seed := Seed{Resource: Resource{APIVersion: coreVersion, Kind: "Seed", Metadata: Metadata{Name: "seed-eu", Annotations: map[string]string{"a": "b"}}}}
	seed.Spec.Provider.Region, seed.Spec.Provider.Type = "eu-west-1", "aws"
	profile := CloudProfile{Resource: Resource{APIVersion: coreVersion, Kind: "CloudProfile", Metadata: Metadata{Name: "metal", Labels: map[string]string{"tier": "one"}}}}
	profile.Spec.Type = "openstack"
	want := &Facts{Namespace: Namespace{Name: "shoot--garden--blue"}, Shoot: shoot, Seed: known(seed), CloudProfile: known(profile)}
	options := cmp.Options{
		cmpopts.IgnoreUnexported(Facts{}), cmpopts.IgnoreTypes(&Manifest{}), cmp.Transformer("Seed", get[Seed]), cmp.Transformer("CloudProfile", get[CloudProfile]),
	}
	if diff := cmp.Diff(want, got, options); diff != "" {
		t.Error(diff)
	}
}

// known returns a part that needs no decoding.
func known[T any](value T) *Part[T] { return Lazy(func() (*T, error) { return &value, nil }) }

func get[T any](p *Part[T]) *T {
	value, _ := p.Get()
	return value
}

// TestResourceIsDecodedOnce checks that a resource is decoded once, at its first use, and that an unused one may be invalid.
func TestResourceIsDecodedOnce(t *testing.T) {
	decoded := 0
	part := Lazy(func() (*Seed, error) {
		decoded++
		return &Seed{Resource: Resource{Metadata: Metadata{Name: "s"}}}, nil
	})
	for range 2 {
		if seed, err := part.Get(); err != nil || seed.Metadata.Name != "s" || decoded != 1 {
			t.Errorf("got %+v, %v after %d times", seed, err, decoded)
		}
	}
	if seed, err := (*Part[Seed])(nil).Get(); seed != nil || err != nil {
		t.Errorf("got %+v, %v of nothing", seed, err)
	}
	broken := []byte(`{"apiVersion":"v1","kind":"Pod"}`)
	f, err := FromClusterObjects("ns", broken, broken, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, seed := f.Seed.Get()
	_, cloudProfile := f.CloudProfile.Get()
	if !errors.Is(seed, ErrUndecodable) || !errors.Is(cloudProfile, ErrUndecodable) {
		t.Errorf("got %v and %v", seed, cloudProfile)
	}
	if _, err := evaluate(environment(t), "${ seed.name }", f.Activation(Object{}, "CREATE")); err == nil || strings.Contains(err.Error(), "Pod") {
		t.Errorf("want an evaluation error, got %v", err)
	}
}

func TestDecodeErrors(t *testing.T) {
	cluster := func(shoot string) string {
		return `{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"Cluster","metadata":{"name":"ns"},"spec":{"shoot":` + shoot + `}}`
	}
	shoot := func(spec string) string {
		return cluster(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","spec":` + spec + `}`)
	}
	for _, c := range []struct{ name, raw, want string }{
		{"rejects an incomplete document", `{"a":`, "decoding the Cluster: not JSON from byte 5 on"},
		{"rejects another kind", `{"apiVersion":"v1","kind":"Pod"}`, `it is a "Pod" of "v1", not a Cluster of extensions.gardener.cloud/v1alpha1`},
		{"another version of the Shoot", cluster(`{"apiVersion":"core.gardener.cloud/v1","kind":"Shoot"}`), `decoding the Shoot: it is a "Shoot" of "core.gardener.cloud/v1", not a Shoot of core.gardener.cloud/v1beta1`},
		{"rejects a Shoot without a version", shoot(`{}`), "decoding the Shoot: spec.kubernetes.version: not a version"},
		{"a bad version of a worker", shoot(`{"kubernetes":{"version":"1.33.0"},"provider":{"workers":[{"kubernetes":{"version":"secret"}}]}}`), "spec.provider.workers[0].kubernetes.version: not a version"},
		{"a wrong type", shoot(`{"region":12345}`), "the field spec.region has a wrong type"},
		{"rejects a list instead of a Shoot", cluster(`["secret"]`), "decoding the Shoot: a field has a wrong type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromCluster([]byte(c.raw))
			if !errors.Is(err, ErrUndecodable) {
				t.Fatalf("got %v, want ErrUndecodable", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %q in it", err, c.want)
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "12345") {
				t.Errorf("the error %q holds a value", err)
			}
		})
	}
}

func TestClusterWithoutResources(t *testing.T) {
	f, err := FromCluster([]byte(`{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"Cluster","metadata":{"name":"ns"},"spec":{"seed":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	if f.Shoot != nil || f.Seed != nil || f.CloudProfile != nil {
		t.Errorf("got %+v", f)
	}
}

func TestGarden(t *testing.T) {
	f, err := FromGarden(readFile(t, "testdata/garden.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := evaluate(environment(t),
		`${ garden.name + garden.labels.l + string(garden.kubernetes.minor()) + garden.spec.virtualCluster.gardener.clusterIdentity + namespaceObject.name }`,
		f.Activation(Object{}, "UPDATE"))
	if want := `"main134maingarden"`; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if _, err := FromGarden([]byte(`{"apiVersion":"operator.gardener.cloud/v1alpha1","kind":"Garden"}`)); !errors.Is(err, ErrUndecodable) {
		t.Errorf("got %v, want ErrUndecodable", err)
	}
}

func TestObjectIsDecodedOnce(t *testing.T) {
	calls := 0
	vars := (&Facts{}).Activation(Object{Name: "x", Raw: func() any { calls++; return map[string]any{"spec": map[string]any{"a": int64(1)}} }}, "UPDATE")
	env := environment(t)
	for i, text := range []string{`${ object.name }`, `${ object.spec.a }`, `${ object.spec.a + 1 }`} {
		if _, err := evaluate(env, text, vars); err != nil {
			t.Fatal(err)
		}
		if want := min(i, 1); calls != want {
			t.Errorf("after %s: decoded %d times, want %d", text, calls, want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	env, f := environment(t), clusterFacts(t)
	template, err := env.Template(`${ shoot.name + shoot.spec.region + cloudProfile.spec.type + string(shoot.workers.size()) }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, err := template.String(context.Background(), f.Activation(Object{}, "UPDATE"))
				if err != nil || got != "blueeu-1openstack2" {
					t.Errorf("got %q, %v", got, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkFromCluster(b *testing.B) {
	raw := readFile(b, "testdata/cluster.json")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromCluster(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeCloudProfile(b *testing.B) {
	var machineTypes strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&machineTypes, `{"name":"m%d","architecture":"amd64","cpu":"4","gpu":"0","memory":"16Gi","usable":true,"storage":{"class":"standard","type":"default","size":"64Gi"},"capabilities":{"a":["x","y"]}},`, i)
	}
	raw := []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"CloudProfile","metadata":{"name":"big"},"spec":{"machineTypes":[` +
		strings.TrimSuffix(machineTypes.String(), ",") + `],"type":"aws"}}`)
	b.Run("typed", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeCloudProfile(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if NewManifest(raw).Spec() == nil {
				b.Fatal("no spec")
			}
		}
	})
}

func BenchmarkActivation(b *testing.B) {
	env, f := environment(b), clusterFacts(b)
	condition, err := env.Condition(`${ shoot.kubernetes.satisfies("< 1.34") && "enable-vac" in shoot.annotations && object.name == "kube-apiserver" }`, source.Position{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := condition.Bool(context.Background(), f.Activation(Object{Name: "kube-apiserver"}, "UPDATE")); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}

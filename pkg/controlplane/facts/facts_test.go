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

// TestUnusedResourceMayBeInvalid checks that a resource is decoded at its first use.
func TestUnusedResourceMayBeInvalid(t *testing.T) {
	broken := []byte(`{"apiVersion":"v1","kind":"Pod"}`)
	f, err := FromParts("ns", CloudProfile(broken), Seed(broken), nil)
	if err != nil {
		t.Fatal(err)
	}
	seed, cloudProfile := f.Decode(true, false), f.Decode(false, true)
	if !errors.Is(seed, ErrUndecodable) || !errors.Is(cloudProfile, ErrUndecodable) {
		t.Errorf("got %v and %v", seed, cloudProfile)
	}
	if _, err := evaluate(environment(t), "${ seed.name }", f.Activation(AdmittedObject{}, "CREATE")); err == nil || strings.Contains(err.Error(), "Pod") {
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
		{"a wrong type", shoot(`{"region":12345,"kubernetes":{"version":"1.33.0"}}`), "the field spec.region has a wrong type"},
		{"a wrong type above a field", shoot(`{"kubernetes":"secret"}`), "the field spec.kubernetes.version has a wrong type"},
		{"a wrong type in a worker", shoot(`{"kubernetes":{"version":"1.33.0"},"provider":{"workers":[{"maximum":"secret"}]}}`),
			"the field spec.provider.workers[0].maximum has a wrong type"},
		{"a wrong type in a list", shoot(`{"kubernetes":{"version":"1.33.0"},"provider":{"workers":["secret"]}}`),
			"the field spec.provider.workers has a wrong type"},
		{"a wrong type in a map", shoot(`{"kubernetes":{"version":"1.33.0"},"provider":{"workers":[{"sysctls":{"a":12345}}]}}`),
			"the field spec.provider.workers[0].sysctls has a wrong type"},
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
	if f.shoot != nil || f.seed != nil || f.cloudProfile != nil {
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
		f.Activation(AdmittedObject{}, "UPDATE"))
	if want := `"main134maingarden"`; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if _, err := FromGarden([]byte(`{"apiVersion":"operator.gardener.cloud/v1alpha1","kind":"Garden"}`)); !errors.Is(err, ErrUndecodable) {
		t.Errorf("got %v, want ErrUndecodable", err)
	}
}

func TestObjectIsDecodedOnce(t *testing.T) {
	calls := 0
	vars := (&Facts{}).Activation(AdmittedObject{Name: "x", Raw: func() any { calls++; return map[string]any{"spec": map[string]any{"a": int64(1)}} }}, "UPDATE")
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
				got, err := template.String(context.Background(), f.Activation(AdmittedObject{}, "UPDATE"))
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
			if err := (&Facts{cloudProfile: CloudProfile(raw)}).Decode(false, true); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if len(newManifest(raw)()) == 0 {
				b.Fatal("no manifest")
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
		if ok, err := condition.Bool(context.Background(), f.Activation(AdmittedObject{Name: "kube-apiserver"}, "UPDATE")); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}

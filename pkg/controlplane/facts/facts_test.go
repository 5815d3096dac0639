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

	"github.com/google/cel-go/interpreter"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
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

func environment(t testing.TB) *expression.Environment {
	t.Helper()
	env, err := expression.NewEnvironment(Variables()...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestFromCluster(t *testing.T) {
	got, err := FromCluster(readFile(t, "testdata/cluster.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Facts{
		Namespace: Namespace{Name: "shoot--garden--blue"},
		Shoot: &Shoot{
			Name: "blue", Namespace: "garden-team", UID: "s1",
			Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"enable-vac": "true"},
			Kubernetes: "1.33.4", Region: "eu-1", Provider: "openstack", CloudProfile: "metal",
			Networking: Networking{Type: "calico", IPFamilies: []string{"IPv4"}, Nodes: "10.250.0.0/16", Pods: "100.64.0.0/12"},
			Hibernated: true, HighAvailability: "zone", Purpose: "production", TechnicalID: "shoot--garden--blue",
			Workers: []Worker{
				{
					Name: "a", Kubernetes: "1.33.4", MachineType: "m1", MachineImage: "gardenlinux", MachineImageVersion: "1592.9.0",
					Architecture: "arm64", CRI: "containerd", Minimum: 1, Maximum: 3, Zones: []string{"eu-1a"}, Labels: map[string]string{"x": "y"},
				},
				{Name: "b", Kubernetes: "1.32.1", MachineType: "m2", Architecture: "amd64", Maximum: 1},
			},
		},
		Seed:         &Part[Seed]{value: &Seed{Name: "seed-eu", Annotations: map[string]string{"a": "b"}, Region: "eu-west-1", Provider: "aws"}},
		CloudProfile: &Part[CloudProfile]{value: &CloudProfile{Name: "metal", Labels: map[string]string{"tier": "one"}, Type: "openstack"}},
	}
	options := cmp.Options{
		cmpopts.IgnoreUnexported(Facts{}), cmpopts.IgnoreTypes(&Manifest{}), cmp.Transformer("Seed", get[Seed]), cmp.Transformer("CloudProfile", get[CloudProfile]),
	}
	if diff := cmp.Diff(want, got, options); diff != "" {
		t.Error(diff)
	}
}

func get[T any](p *Part[T]) *T {
	value, _ := p.Get()
	return value
}

// TestParts holds that a resource is decoded when it is asked for, once, and that one that nobody asks for may be anything.
func TestParts(t *testing.T) {
	decoded := 0
	part := Lazy(func() (*Seed, error) {
		decoded++
		return &Seed{Name: "s"}, nil
	})
	for range 2 {
		if seed, err := part.Get(); err != nil || seed.Name != "s" || decoded != 1 {
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
		t.Errorf("the expression gave %v", err)
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
		{"no JSON", `{"a":`, "decoding the Cluster: not JSON from byte 5 on"},
		{"another kind", `{"apiVersion":"v1","kind":"Pod"}`, `it is a "Pod" of "v1", not a Cluster of extensions.gardener.cloud/v1alpha1`},
		{"another version of the Shoot", cluster(`{"apiVersion":"core.gardener.cloud/v1","kind":"Shoot"}`), `decoding the Shoot: it is a "Shoot" of "core.gardener.cloud/v1", not a Shoot of core.gardener.cloud/v1beta1`},
		{"no version", shoot(`{}`), "decoding the Shoot: spec.kubernetes.version: not a version"},
		{"a bad version of a worker", shoot(`{"kubernetes":{"version":"1.33.0"},"provider":{"workers":[{"kubernetes":{"version":"secret"}}]}}`), "spec.provider.workers[0].kubernetes.version: not a version"},
		{"a wrong type", shoot(`{"region":12345}`), "the field spec.region has a wrong type"},
		{"a list", cluster(`["secret"]`), "decoding the Shoot: a field has a wrong type"},
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

func evaluate(env *expression.Environment, text string, vars interpreter.Activation) (string, error) {
	template, err := env.Template(text, source.Position{})
	if err != nil {
		return "", err
	}
	raw, err := template.JSON(context.Background(), vars)
	return string(raw), err
}

func TestExpressions(t *testing.T) {
	env := environment(t)
	object := Object{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "kube-apiserver", Namespace: "shoot--garden--blue",
		Labels: map[string]string{"app": "kubernetes"},
		Raw: func() any {
			return map[string]any{"metadata": map[string]any{"generation": int64(3)}, "spec": map[string]any{"replicas": int64(2)}}
		},
	}
	cluster := clusterFacts(t).Activation(object, "CREATE")
	for _, c := range []struct{ text, want string }{
		{`${ shoot.kubernetes.satisfies("< 1.34") && "enable-vac" in shoot.annotations }`, "true"},
		{`${ shoot.spec.networking.?type.orValue("") }`, `"calico"`},
		{`${ shoot.spec.networking.?nope.orValue("none") }`, `"none"`},
		{`${ shoot.spec.kubernetes.kubeAPIServer.requests.maxNonMutatingInflight + 1 }`, "401"},
		{`${ shoot.status.observedGeneration }`, "7"},
		{`${ [shoot.name, shoot.namespace, shoot.uid, shoot.region, shoot.provider, shoot.cloudProfile, shoot.purpose, shoot.technicalID] }`,
			`["blue","garden-team","s1","eu-1","openstack","metal","production","shoot--garden--blue"]`},
		{`${ [shoot.hibernated, shoot.workerless, has(shoot.networking.services), shoot.networking.services == ""] }`, "[true,false,false,true]"},
		{`${ shoot.networking }`, `{"ipFamilies":["IPv4"],"nodes":"10.250.0.0/16","pods":"100.64.0.0/12","type":"calico"}`},
		{`${ shoot.highAvailability == "zone" && shoot.networking.ipFamilies == ["IPv4"] }`, "true"},
		{`${ shoot.workers.filter(w, w.kubernetes.satisfies("< 1.33")).map(w, w.name) }`, `["b"]`},
		{`${ shoot.workers[0].machineImage + " " + shoot.workers[0].architecture + " " + shoot.workers[1].architecture }`, `"gardenlinux arm64 amd64"`},
		{`${ shoot.workers[0].maximum - shoot.workers[0].minimum }`, "2"},
		{`${ shoot.workers.exists(w, "eu-1a" in w.zones) && !has(shoot.workers[1].cri) }`, "true"},
		{`${ seed.name + seed.region + seed.provider + seed.annotations.a }`, `"seed-eueu-west-1awsb"`},
		{`${ seed.spec.settings.verticalPodAutoscaler.enabled }`, "true"},
		{`${ cloudProfile.name + cloudProfile.type + cloudProfile.labels["tier"] }`, `"metalopenstackone"`},
		{`${ cloudProfile.spec.machineTypes.filter(m, m.name == "m1")[0] }`, `{"cpu":"4","name":"m1","usable":true}`},
		{`${ namespaceObject.name + namespaceObject.labels["shoot.gardener.cloud/provider"] }`, `"shoot--garden--blueopenstack"`},
		{`${ size(namespaceObject.annotations) }`, "0"},
		{`${ object.apiVersion + object.kind + object.name + object.namespace + object.labels.app }`, `"apps/v1Deploymentkube-apiservershoot--garden--bluekubernetes"`},
		{`${ "x" in object.annotations }`, "false"},
		{`${ object.spec.replicas + object.metadata.generation }`, "5"},
		{`${ has(object.data) }`, "false"},
		{`${ operation }`, `"CREATE"`},
		{`${ shoot.infrastructureConfig.floatingPoolName + shoot.controlPlaneConfig.loadBalancerProvider }`, `"publicoctavia"`},
		{`${ cloudProfile.providerConfig.useOctavia && seed.providerConfig.zones == 3 }`, "true"},
		{`${ shoot.workers[0].providerConfig.serverGroup.policy + string(has(shoot.workers[1].providerConfig)) }`, `"soft-anti-affinityfalse"`},
		{`${ shoot.workers[1].?providerConfig.?serverGroup.?policy.orValue("none") }`, `"none"`},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := evaluate(env, c.text, cluster)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExpressionErrors(t *testing.T) {
	env := environment(t)
	broken := Object{Raw: func() any { return errors.New("payload") }}
	undecodable := &Facts{Shoot: &Shoot{Kubernetes: "x", Manifest: NewManifest([]byte(`{"spec":payload}`))}}
	for _, c := range []struct{ name, text, want string }{
		{"unknown field", `${ shoot.nope }`, ":1:10: undefined field 'nope'"},
		{"similar field", `${ shoot.kuberntes }`, `:1:10: undefined field 'kuberntes' (did you mean "kubernetes"?)`},
		{"what is not known", `${ seed.name }`, ":1:4: seed is not known here"},
		{"no status", `${ garden.status }`, ":1:11: undefined field 'status'"},
		{"a bad version", `${ shoot.kubernetes }`, ":1:10: the Kubernetes version is not a version"},
		{"a bad spec", `${ shoot.spec.x }`, ":1:15: the resource cannot be decoded"},
		{"a bad object", `${ object.spec.x }`, ":1:16: the object cannot be decoded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := evaluate(env, c.text, undecodable.Activation(broken, "UPDATE"))
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %q, want %q", err, c.want)
			}
		})
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

// TestDropped holds that without the whole Shoot, those members that do not need it are as they were, and the others are errors.
func TestDropped(t *testing.T) {
	env, f, g := environment(t), clusterFacts(t), clusterFacts(t)
	g.Shoot.Manifest = Dropped()
	whole, without := f.Activation(Object{}, "CREATE"), g.Activation(Object{}, "CREATE")
	for name := range summaries {
		member, ok := strings.CutPrefix(name, "graft.Shoot.")
		if !ok || member == "workers" {
			continue
		}
		text := "${ shoot." + member + " }"
		switch member {
		case "kubernetes":
			text = `${ shoot.kubernetes.satisfies(">= 1.33") }`
		case "networking":
			text = "${ shoot.networking.ipFamilies }"
		}
		want, err := evaluate(env, text, whole)
		if err != nil {
			t.Fatal(err)
		}
		got, err := evaluate(env, text, without)
		if InManifest("shoot", member) {
			if err == nil {
				t.Errorf("shoot.%s is %s without the whole shoot", member, got)
			}
		} else if err != nil || got != want {
			t.Errorf("shoot.%s is %s (%v), not %s", member, got, err, want)
		}
	}
	for variable, want := range map[string]bool{"pool": true, "shoot": true, "seed": false} {
		if InManifest(variable, "") != want {
			t.Errorf("%s takes the whole shoot: %t", variable, !want)
		}
	}
}

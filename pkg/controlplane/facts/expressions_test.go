// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/cel-go/interpreter"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func environment(t testing.TB) *expression.Environment {
	t.Helper()
	env, err := expression.NewEnvironment(Variables()...)
	if err != nil {
		t.Fatal(err)
	}
	return env
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
	object := AdmittedObject{
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
		{`${ shoot.workers[0].volume.type + shoot.workers[0].volume.size + string(shoot.workers[0].volume.encrypted) }`, `"ssd50Gitrue"`},
		{`${ has(shoot.workers[1].volume) || shoot.workers[1].?volume.?type.orValue("none") != "none" }`, "false"},
		{`${ shoot.workers[0].dataVolumes.filter(v, !v.encrypted).map(v, v.name + v.size) }`, `["kubelet100Gi"]`},
		{`${ shoot.workers.map(w, w.kubeletDataVolume) }`, `["kubelet",""]`},
		{`${ shoot.workers[0].taints.map(t, t.key + "=" + t.value + ":" + t.effect) + shoot.workers[1].taints.map(t, t.key) }`, `["gpu=yes:NoSchedule"]`},
		{`${ shoot.workers[0].sysctls["net.core.somaxconn"] + string(shoot.workers[1].sysctls.size()) }`, `"10240"`},
		{`${ [shoot.workers[0].priority, shoot.workers[1].priority, shoot.workers[0].kubelet.maxPods] }`, "[7,0,200]"},
		{`${ [shoot.workers[0].maxSurge, shoot.workers[0].maxUnavailable] }`, `["10%",0]`},
		{`${ [shoot.workers[0].systemComponents, shoot.workers[1].systemComponents, has(shoot.workers[1].kubelet)] }`, "[false,true,false]"},
		{`${ shoot.workers[0].updateStrategy + shoot.workers[0].containerRuntimes[0] + shoot.workers[0].machineControllerManager.machineDrainTimeout }`, `"AutoRollingUpdategvisor2h"`},
		{`${ shoot.workers[0].machineType + shoot.workers[0].machineImageVersion + shoot.workers[0].cri + shoot.workers[0].labels.x }`, `"m11592.9.0containerdy"`},
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

// TestValuesWithoutContent checks the values of fields that are empty, and of the former field of the cloud profile.
func TestValuesWithoutContent(t *testing.T) {
	f, err := FromParts("ns", nil, nil, []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","spec":{
		"cloudProfileName":"metal","kubernetes":{"version":"1.33.4"},"networking":{"ipFamilies":[]},
		"provider":{"workers":[{"name":"a","systemComponents":{},"volume":{},"machine":null}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	activation := f.Activation(AdmittedObject{}, "CREATE")
	for text, want := range map[string]string{
		`${ shoot.cloudProfile }`:                `"metal"`,
		`${ shoot.networking.ipFamilies }`:       `["IPv4"]`,
		`${ shoot.workers[0].systemComponents }`: `false`,
		`${ has(shoot.workers[0].volume) }`:      `true`,
		`${ shoot.workers[0].architecture }`:     `"amd64"`,
	} {
		if got, err := evaluate(environment(t), text, activation); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestExpressionErrors(t *testing.T) {
	env := environment(t)
	broken := AdmittedObject{Raw: func() any { return errors.New("payload") }}
	undecodable := &Facts{cloudProfile: CloudProfile([]byte("payload"))}
	for _, c := range []struct{ name, text, want string }{
		{"rejects an unknown field", `${ shoot.nope }`, ":1:10: undefined field 'nope'"},
		{"suggests a similar field", `${ shoot.kuberntes }`, `:1:10: undefined field 'kuberntes' (did you mean "kubernetes"?)`},
		{"an unknown variable", `${ seed.name }`, ":1:4: seed is not known here"},
		{"rejects a status that is not offered", `${ garden.status }`, ":1:11: undefined field 'status'"},
		{"a bad resource", `${ cloudProfile.name }`, ":1:17: the resource cannot be decoded"},
		{"a bad object", `${ object.spec.x }`, ":1:16: the object cannot be decoded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := evaluate(env, c.text, undecodable.Activation(broken, "UPDATE"))
			if err == nil {
				t.Fatal("no error, want one")
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %q, want %q", err, c.want)
			}
		})
	}
}

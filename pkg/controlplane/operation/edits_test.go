// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/pointer"
)

// The objects that the rules of the table edit.
const (
	deployment = `{"kind":"Deployment","metadata":{"name":"x","labels":{"a":"b"},"annotations":{"a":"b"}},"spec":{"template":{"metadata":{"labels":{"a":"b"},` +
		`"annotations":{"a":"b"}},"spec":{"containers":[{"name":"kube-apiserver","image":"i","args":["--secure-port=443"],"env":[{"name":"A","value":"b"}],` +
		`"volumeMounts":[{"name":"v","mountPath":"/v"}]},{"name":"machine-controller-manager","image":"i","args":["--control-kubeconfig=inClusterConfig"]}],` +
		`"initContainers":[{"name":"init","image":"i"}],"volumes":[{"name":"v","emptyDir":{}}]}}}}`
	etcd = `{"kind":"Etcd","metadata":{"name":"etcd-main"},"spec":{"backup":{"port":8080}}}`
	// etcdWithText has a document in a text.
	etcdWithText = `{"kind":"Etcd","metadata":{"name":"etcd-main"},"spec":{"text":"a: 1 # kept\n"}}`

	service = `{"kind":"Service","metadata":{"name":"kube-apiserver"},"spec":{"type":"LoadBalancer","ports":[{"port":443}]}}`
	vpa     = `{"kind":"VerticalPodAutoscaler","metadata":{"name":"x"},"spec":{"resourcePolicy":{"containerPolicies":[{"containerName":"a","mode":"Auto"}]}}}`
	osc     = `{"kind":"OperatingSystemConfig","metadata":{"name":"x"},"spec":{"purpose":"reconcile","criConfig":{"name":"containerd"},"providerConfig":{"a":1},` +
		`"units":[{"name":"kubelet.service","content":"[Unit]\nAfter=a\n[Service]\nExecStart=/opt/bin/kubelet --v=2\n"},{"name":"other.service","content":"[Service]\nType=simple\n"}],` +
		`"files":[{"path":"/var/lib/kubelet/config/kubelet","content":{"inline":{"data":"kind: KubeletConfiguration # kept\nmaxPods: 110\n"}}},` +
		`{"path":"/etc/sysctl.d/99-k8s-general.conf","content":{"inline":{"data":"# kept\nvm.max_map_count = 1\n"}}}]}}`
)

// TestEdits checks that each operation creates, updates and removes its values, and changes nothing when repeated.
// Places are JSON pointers; an empty text means nothing.
func TestEdits(t *testing.T) {
	const container, kubeletUnit = "/spec/template/spec/containers/0", "/spec/units/0/content"
	tests := map[string]struct {
		on, object             string
		create, update, remove string
		place                  string
		created, updated, left string
	}{
		"flags": {"kube-apiserver", deployment, `{set: {v: 2}}`, `{set: {v: [3, 4]}}`, `{remove: [v]}`, container + "/args",
			`["--secure-port=443","--v=2"]`, `["--secure-port=443","--v=3","--v=4"]`, `["--secure-port=443"]`},
		"flags of the kubelet": {"kubelet", osc, `{set: {node-ip: a}}`, `{set: {node-ip: b}}`, `{remove: [node-ip]}`, kubeletUnit,
			`[Unit]
After=a
[Service]
ExecStart=/opt/bin/kubelet --v=2 --node-ip=a
`, `[Unit]
After=a
[Service]
ExecStart=/opt/bin/kubelet --v=2 --node-ip=b
`, `[Unit]
After=a
[Service]
ExecStart=/opt/bin/kubelet --v=2
`},
		"featureGates": {"kube-apiserver", deployment, `{A: true}`, `{A: false, B: true}`, `{A: null, B: null}`, container + "/args",
			`["--secure-port=443","--feature-gates=A=true"]`, `["--secure-port=443","--feature-gates=A=false,B=true"]`, `["--secure-port=443"]`},
		"featureGates of the kubelet": {"kubelet", osc, `{A: true}`, `{A: false, B: true}`, `{A: null, B: null}`, "/spec/files/0/content/inline/data",
			"kind: KubeletConfiguration # kept\nmaxPods: 110\nfeatureGates:\n  A: true\n", "kind: KubeletConfiguration # kept\nmaxPods: 110\nfeatureGates:\n  A: false\n  B: true\n", "kind: KubeletConfiguration # kept\nmaxPods: 110\nfeatureGates: {}\n"},
		"featureGates of the kubelet's flag": {"kubelet", strings.Replace(osc, "--v=2", "--feature-gates=C=true", 1), `{A: true}`, `{A: false, B: true}`, `{A: null, B: null}`, kubeletUnit,
			"[Unit]\nAfter=a\n[Service]\nExecStart=/opt/bin/kubelet --feature-gates=C=true,A=true\n", "[Unit]\nAfter=a\n[Service]\nExecStart=/opt/bin/kubelet --feature-gates=C=true,A=false,B=true\n", "[Unit]\nAfter=a\n[Service]\nExecStart=/opt/bin/kubelet --feature-gates=C=true\n"},
		"mapFlags": {"kube-apiserver", deployment, `{runtime-config: {set: {a: true}}}`, `{runtime-config: {set: {a: false, b: true}}}`, `{runtime-config: {remove: [a, b]}}`, container + "/args",
			`["--secure-port=443","--runtime-config=a=true"]`, `["--secure-port=443","--runtime-config=a=false,b=true"]`, `["--secure-port=443"]`},
		"admissionPlugins": {"kube-apiserver", deployment, `{enable: [NodeRestriction]}`, `{disable: [NodeRestriction]}`, `{default: [NodeRestriction]}`, container + "/args",
			`["--secure-port=443","--enable-admission-plugins=NodeRestriction"]`, `["--secure-port=443","--disable-admission-plugins=NodeRestriction"]`, `["--secure-port=443"]`},
		"env": {"kube-apiserver", deployment, `{set: {B: c}}`, `{set: {B: d}}`, `{remove: [B]}`, container + "/env",
			`[{"name":"A","value":"b"},{"name":"B","value":"c"}]`, `[{"name":"A","value":"b"},{"name":"B","value":"d"}]`, `[{"name":"A","value":"b"}]`},
		"volumes": {"kube-apiserver", deployment, `{set: {w: {secret: {secretName: s}, mount: {mountPath: /w}}}}`, `{set: {w: {configMap: {name: c}}}}`, `{remove: [w]}`, "/spec/template/spec/volumes",
			`[{"name":"v","emptyDir":{}},{"name":"w","secret":{"secretName":"s"}}]`, `[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"c"}}]`, `[{"name":"v","emptyDir":{}}]`},
		"volumes mounts": {"kube-apiserver", deployment, `{set: {w: {emptyDir: {}, mount: {mountPath: /w}}}}`, `{set: {w: {mount: {mountPath: /x, readOnly: true}}}}`, `{remove: [w]}`, container + "/volumeMounts",
			`[{"name":"v","mountPath":"/v"},{"name":"w","mountPath":"/w"}]`, `[{"name":"v","mountPath":"/v"},{"name":"w","mountPath":"/x","readOnly":true}]`, `[{"name":"v","mountPath":"/v"}]`},
		"containers": {"kube-apiserver", deployment, `{set: {side: {image: a}}}`, `{set: {side: {image: b, args: [c]}}}`, `{remove: [side]}`, "/spec/template/spec/containers/2",
			`{"name":"side","image":"a"}`, `{"name":"side","image":"b","args":["c"]}`, ``},
		"fields of init containers": {"kube-apiserver", deployment, `{set: {'spec.template.spec.initContainers[name=side]': {image: a}}}`,
			`{set: {'spec.template.spec.initContainers[name=side].image': b}}`, `{remove: ['spec.template.spec.initContainers[name=side]']}`, "/spec/template/spec/initContainers",
			`[{"name":"init","image":"i"},{"name":"side","image":"a"}]`, `[{"name":"init","image":"i"},{"name":"side","image":"b"}]`, `[{"name":"init","image":"i"}]`},
		"labels": {"kube-apiserver", deployment, `{set: {c: d}}`, `{set: {c: e}}`, `{remove: [c]}`, "/metadata/labels",
			`{"a":"b","c":"d"}`, `{"a":"b","c":"e"}`, `{"a":"b"}`},
		"annotations": {"kube-apiserver", deployment, `{set: {c: d}}`, `{set: {c: e}}`, `{remove: [c]}`, "/metadata/annotations",
			`{"a":"b","c":"d"}`, `{"a":"b","c":"e"}`, `{"a":"b"}`},
		"podLabels": {"kube-apiserver", deployment, `{set: {c: d}}`, `{set: {c: e}}`, `{remove: [c]}`, "/spec/template/metadata/labels",
			`{"a":"b","c":"d"}`, `{"a":"b","c":"e"}`, `{"a":"b"}`},
		"podAnnotations": {"kube-apiserver", deployment, `{set: {c: d}}`, `{set: {c: e}}`, `{remove: [c]}`, "/spec/template/metadata/annotations",
			`{"a":"b","c":"d"}`, `{"a":"b","c":"e"}`, `{"a":"b"}`},
		"storage": {"etcd-main", etcd, `{class: a, capacity: 25Gi}`, `{class: b}`, `{class: b, capacity: 25Gi}`, "/spec",
			`{"backup":{"port":8080},"storageClass":"a","storageCapacity":"25Gi"}`, `{"backup":{"port":8080},"storageClass":"b","storageCapacity":"25Gi"}`,
			`{"backup":{"port":8080},"storageCapacity":"25Gi"}`},
		"fields of a Service": {"kube-apiserver-service", service, `{set: {spec.externalTrafficPolicy: Local}}`, `{set: {spec: {externalTrafficPolicy: Cluster}}}`, `{remove: [spec.externalTrafficPolicy]}`, "/spec",
			`{"type":"LoadBalancer","ports":[{"port":443}],"externalTrafficPolicy":"Local"}`, `{"type":"LoadBalancer","ports":[{"port":443}],"externalTrafficPolicy":"Cluster"}`, `{"type":"LoadBalancer","ports":[{"port":443}]}`},
		"fields of policies": {"machine-controller-manager-vpa", vpa, `{set: {'spec.resourcePolicy.containerPolicies[containerName=b].mode': "Off"}}`,
			`{set: {'spec.resourcePolicy.containerPolicies[containerName=b]': {mode: Auto}}}`, `{remove: ['spec.resourcePolicy.containerPolicies[containerName=b]']}`, "/spec/resourcePolicy/containerPolicies",
			`[{"containerName":"a","mode":"Auto"},{"containerName":"b","mode":"Off"}]`, `[{"containerName":"a","mode":"Auto"},{"containerName":"b","mode":"Auto"}]`, `[{"containerName":"a","mode":"Auto"}]`},
		"configuration": {"kubelet", osc, `{set: {evictionHard: {memory.available: 5%}}}`, `{set: {evictionHard: {memory.available: 6%}, maxPods: 120}}`, `{remove: [evictionHard]}`, "/spec/files/0/content/inline/data",
			"kind: KubeletConfiguration # kept\nmaxPods: 110\nevictionHard:\n  memory.available: 5%\n", "kind: KubeletConfiguration # kept\nmaxPods: 120\nevictionHard:\n  memory.available: 6%\n", "kind: KubeletConfiguration # kept\nmaxPods: 120\n"},
		"unit": {"node", osc, `{name: a.service, content: "[Service]\nType=simple\n", enable: true, dropIns: {a.conf: "[Unit]\n"}}`,
			`{name: a.service, content: "[Service]\nType=oneshot\n", dropIns: {a.conf: "[Install]\n"}}`, `{name: a.service, dropIns: {a.conf: null}}`, "/spec/units/2",
			`{"name":"a.service","content":"[Service]\nType=simple\n","enable":true,"dropIns":[{"name":"a.conf","content":"[Unit]\n"}]}`,
			`{"name":"a.service","content":"[Service]\nType=oneshot\n","enable":true,"dropIns":[{"name":"a.conf","content":"[Install]\n"}]}`,
			`{"name":"a.service","content":"[Service]\nType=oneshot\n","enable":true,"dropIns":[]}`},
		"unit options": {"kubelet", osc, `{section: Service, add: {ExecStartPre: /a}}`, `{section: Service, set: {ExecStartPre: [/b, /c]}}`, `{section: Service, remove: [ExecStartPre]}`, kubeletUnit,
			"[Unit]\nAfter=a\n[Service]\nExecStartPre=/a\nExecStart=/opt/bin/kubelet --v=2\n", "[Unit]\nAfter=a\n[Service]\nExecStartPre=/b\nExecStartPre=/c\nExecStart=/opt/bin/kubelet --v=2\n", "[Unit]\nAfter=a\n[Service]\nExecStart=/opt/bin/kubelet --v=2\n"},
		"file": {"node", osc, `{path: /etc/b, permissions: 0644, content: a}`, `{path: /etc/b, content: b}`, `{path: /etc/b, remove: true}`, "/spec/files/2",
			`{"path":"/etc/b","permissions":420,"content":{"inline":{"encoding":"","data":"a"}}}`, `{"path":"/etc/b","permissions":420,"content":{"inline":{"encoding":"","data":"b"}}}`, ``},
		"sysctl": {"node", osc, `{set: {net.ipv4.ip_forward: 1}}`, `{set: {net.ipv4.ip_forward: 0, vm.max_map_count: 2}}`, `{remove: [net.ipv4.ip_forward]}`, "/spec/files/1/content/inline/data",
			"# kept\nvm.max_map_count = 1\nnet.ipv4.ip_forward = 1\n", "# kept\nvm.max_map_count = 2\nnet.ipv4.ip_forward = 0\n", "# kept\nvm.max_map_count = 2\n"},
		"fields of a node": {"node", osc, `{set: {spec.criConfig.cgroupDriver: systemd}}`, `{set: {spec.criConfig: {cgroupDriver: cgroupfs}}}`, `{remove: [spec.criConfig.cgroupDriver]}`, "/spec/criConfig",
			`{"name":"containerd","cgroupDriver":"systemd"}`, `{"name":"containerd","cgroupDriver":"cgroupfs"}`, `{"name":"containerd"}`},
		"fields of the provider": {"node", osc, `{set: {spec.providerConfig.b: {c: 1}}}`, `{set: {spec.providerConfig.b: {c: 2, d: 3}}}`, `{remove: [spec.providerConfig.b]}`, "/spec/providerConfig",
			`{"a":1,"b":{"c":1}}`, `{"a":1,"b":{"c":2,"d":3}}`, `{"a":1}`},
		"fields": {"etcd-main", etcd, `{set: {spec.backup.deltaSnapshotPeriod: 5m}}`, `{set: {spec.backup: {deltaSnapshotPeriod: 6m, port: 8081}}}`, `{remove: [spec.backup.deltaSnapshotPeriod]}`, "/spec/backup",
			`{"port":8080,"deltaSnapshotPeriod":"5m"}`, `{"port":8081,"deltaSnapshotPeriod":"6m"}`, `{"port":8081}`},
		"fields of lists": {"etcd-main", etcd, `{append: {spec.backup.zones: [a, {name: b}]}}`, `{append: {spec.backup.zones: ["${ 'a' }", c]}}`,
			`{remove: ['spec.backup.zones[name=b]']}`, "/spec/backup",
			`{"port":8080,"zones":["a",{"name":"b"}]}`, `{"port":8080,"zones":["a",{"name":"b"},"c"]}`, `{"port":8080,"zones":["a","c"]}`},
		"document": {"etcd-main", etcdWithText, `{at: spec.text, set: {b.c: 1}, append: {d: [x]}}`, `{at: spec.text, set: {b: {c: 2}}, append: {d: [y]}}`, `{at: spec.text, remove: [b, d]}`, "/spec/text",
			"a: 1 # kept\nd:\n- x\nb:\n  c: 1\n", "a: 1 # kept\nd:\n- x\n- \"y\"\nb:\n  c: 2\n", "a: 1 # kept\n"},
		"machineControllerManagerProvider": {"machine-controller-manager", deployment, `{provider: acme, image: a}`, `{provider: acme, image: b}`,
			`{remove: [machine-controller-manager-provider-acme]}`, "/spec/template/spec/containers/2/image",
			`a`, `b`, ``},
	}
	// Some operations only write. Another operation removes their result, or keeps the old object's value.
	removers := map[string]string{"machineControllerManagerProvider": "containers"}
	keepers := map[string]bool{"storage": true}
	bench := newBench(t)
	seen := map[string]bool{}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			operationName, _, _ := strings.Cut(name, " ")
			seen[operationName] = true
			object, old := tt.object, ""
			for _, step := range []struct{ name, rule, want string }{
				{"create", tt.create, tt.created}, {"update", tt.update, tt.updated}, {"remove", tt.remove, tt.left},
			} {
				if remover := removers[operationName]; remover != "" && step.name == "remove" {
					operationName = remover
				}
				if keepers[operationName] && step.name == "remove" {
					old = tt.object
				}
				object = bench.apply(t, operationName, tt.on, step.rule, object, old)
				if diff := cmp.Diff(step.want, at(t, object, tt.place)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", step.name, diff)
				}
				if again := bench.apply(t, operationName, tt.on, step.rule, object, old); again != object {
					t.Errorf("repeating %s: %s", step.name, cmp.Diff(object, again))
				}
			}
		})
	}
	for _, name := range operation.Names() {
		if !seen[name] {
			t.Errorf("operation %s has no case", name)
		}
	}
}

// apply applies a rule to an object, and returns the object as JSON. With an old object, the rule keeps its values.
func (b *bench) apply(t *testing.T, name, on, rule, object, old string) string {
	t.Helper()
	definition, _ := operation.Lookup(name)
	nodes, findings := source.Parse(source.File{Name: "rule", Data: []byte(rule)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	of, _ := target.Lookup(on)
	writes, findings := b.compile(definition, of, nodes[0])
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	parsed, err := document.Parse([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	edited := &target.Object{Target: of, Form: &of.Forms[0], Document: parsed}
	if old != "" {
		if edited.Old, err = document.Parse([]byte(old)); err != nil {
			t.Fatal(err)
		}
	}
	for _, write := range writes {
		if old != "" {
			if err := write.Keep(edited); err != nil {
				t.Fatal(err)
			}
			continue
		}
		value, err := write.Resolve(context.Background(), variables())
		if err != nil {
			t.Fatal(err)
		}
		if err := write.Apply(edited, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := edited.Flush(); err != nil {
		t.Fatal(err)
	}
	return string(parsed.Bytes())
}

// variables are the variables of a rule.
func variables() operation.Variables {
	shoot := `{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","spec":{"kubernetes":{"version":"1.34.1"},"provider":{"workers":[]}}}`
	f, err := facts.FromParts("shoot--foo--bar", nil, nil, []byte(shoot))
	if err != nil {
		panic(err)
	}
	return f.Activation(facts.AdmittedObject{Namespace: "shoot--foo--bar"}, "CREATE")
}

// at returns the value at a JSON pointer: the text of a string, otherwise JSON.
func at(t *testing.T, object, place string) string {
	t.Helper()
	parsed, err := document.Parse([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	n := pointer.At(parsed.Root(), place)
	if text, ok := n.Text(); ok {
		return text
	}
	return string(n.Raw())
}

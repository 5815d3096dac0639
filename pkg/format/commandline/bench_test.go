// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// deployment builds an object of the size and shape of a control plane's kube-apiserver: 4 containers, 25 volumes,
// managedFields, about 36 kB.
func deployment(t testing.TB) []byte {
	t.Helper()
	type object = map[string]any
	var containers, volumes, mounts []any
	fields := object{}
	for i := range 25 {
		name := fmt.Sprintf("volume-of-the-server-%02d", i)
		volumes = append(volumes, object{"name": name, "projected": object{"defaultMode": 420, "sources": []any{
			object{"secret": object{"name": name + "-7f2c51b8", "items": []any{object{"key": "ca.crt", "path": "ca.crt"}}}},
		}}})
		mounts = append(mounts, object{"name": name, "mountPath": "/srv/kubernetes/" + name, "readOnly": true})
		key := fmt.Sprintf(`k:{"mountPath":"/srv/kubernetes/%s"}`, name)
		fields[key] = object{".": object{}, "f:mountPath": object{}, "f:name": object{}, "f:readOnly": object{}}
	}
	for i := range 4 {
		args := []any{"--feature-gates=A=true,B=false", "--enable-admission-plugins=Priority,NodeRestriction"}
		for j := range 60 / (i + 1) {
			args = append(args, fmt.Sprintf("--flag-number-%02d=/srv/kubernetes/some/file-%d.crt", j, j))
		}
		containers = append(containers, object{
			"name": fmt.Sprintf("container-%d", i), "image": "registry.example/server@sha256:0123456789abcdef", "args": args,
			"command": []any{"/usr/local/bin/server"}, "env": []any{object{"name": "A", "value": "b"}}, "volumeMounts": mounts,
			"resources": object{"requests": object{"cpu": "800m", "memory": "800Mi"}}, "terminationMessagePath": "/dev/log",
			"livenessProbe": object{"failureThreshold": 3, "httpGet": object{"path": "/livez", "port": 443, "scheme": "HTTPS"}},
		})
	}
	raw, err := json.Marshal(object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": object{"name": "server", "namespace": "shoot--x--y", "labels": object{"app": "x", "role": "y"},
			"annotations": object{"a": "b"}, "managedFields": []any{
				object{"manager": "a", "fieldsV1": fields}, object{"manager": "b", "fieldsV1": fields}}},
		"spec": object{"replicas": 2, "template": object{"metadata": object{"labels": object{"app": "x"}},
			"spec": object{"containers": containers, "volumes": volumes}}},
	})
	must(t, err)
	return raw
}

func review(t testing.TB) []byte {
	object := deployment(t)
	return fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"group":"apps",`+
		`"version":"v1","kind":"Deployment"},"namespace":"shoot--x--y","operation":"UPDATE","object":%s,"oldObject":%s,"dryRun":false}}`,
		object, object)
}

func BenchmarkParse(b *testing.B) {
	raw := deployment(b)
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("document", func() error {
		d, err := document.Parse(raw)
		d.Release()
		return err
	})
	run("document-unpooled", func() error {
		_, err := document.Parse(raw)
		return err
	})
	run("json.Valid", func() error {
		if !json.Valid(raw) {
			return document.ErrSyntax
		}
		return nil
	})
	run("json.Unmarshal", func() error {
		var v any
		return json.Unmarshal(raw, &v)
	})
}

// nineEdits are those of an admission: gates, a list, an option, environment, a volume with its mount, metadata.
func nineEdits(b testing.TB, object *document.Document) {
	root := object.Root()
	pod := root.Find("spec", "template", "spec")
	container := pod.Get("containers").ItemWith("name", "container-0")
	line, err := CommandLineOf(container)
	must(b, err)
	gates, err := MapValue(line.Values("feature-gates")[0]).Set("C", "true")
	must(b, err)
	must(b, line.Set("feature-gates", string(gates)))
	plugins := ListValue(line.Values("enable-admission-plugins")[0]).Add("PersistentVolumeLabel")
	must(b, line.Set("enable-admission-plugins", string(plugins)))
	must(b, line.Set("cloud-provider", "external"))
	must(b, line.Remove("flag-number-07"))
	add := func(n *document.Node, name, raw string) {
		if n.ItemWith("name", name) == nil {
			_, err := n.Append([]byte(raw))
			must(b, err)
		}
	}
	add(container.Get("env"), "REGION", `{"name":"REGION","value":"eu"}`)
	add(pod.Get("volumes"), "cloud", `{"name":"cloud","secret":{"secretName":"cloudprovider"}}`)
	add(container.Get("volumeMounts"), "cloud", `{"name":"cloud","mountPath":"/srv/cloud"}`)
	set(b, root.Find("spec", "template", "metadata", "labels"), "networking/allowed", `"true"`)
	set(b, root.Find("metadata", "annotations"), "checksum", `"0123456789"`)
}

// BenchmarkAdmission is the path of a review: everything but the network and the decisions.
func BenchmarkAdmission(b *testing.B) {
	admit := func(raw []byte) (patch, result []byte) {
		d, err := document.Parse(raw)
		must(b, err)
		object := d.Root().Find("request", "object").Document()
		nineEdits(b, object)
		patch = object.Patch()
		if result == nil && patch != nil {
			return patch, object.Bytes()
		}
		d.Release()
		return patch, nil
	}
	raw := review(b)
	_, result := admit(raw)
	conforming := fmt.Appendf(nil, `{"request":{"object":%s,"oldObject":%s}}`, result, result)
	bench := func(name string, raw []byte, f func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				f(b)
			}
		})
	}
	path := func(raw []byte, changes bool) func(b *testing.B) {
		return func(b *testing.B) {
			d, err := document.Parse(raw)
			must(b, err)
			object := d.Root().Find("request", "object").Document()
			nineEdits(b, object)
			if got := object.Patch() != nil; got != changes {
				b.Fatalf("patch: %t", got)
			}
			d.Release()
		}
	}
	bench("valid", raw, func(b *testing.B) {
		if !json.Valid(raw) {
			b.Fatal("invalid")
		}
	})
	bench("parse", raw, func(b *testing.B) {
		d, err := document.Parse(raw)
		must(b, err)
		d.Release()
	})
	bench("nine-edits", raw, path(raw, true))
	bench("conforming", conforming, path(conforming, false))
}

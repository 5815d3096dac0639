// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/explain"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestStatic compares pages with files, which are named after the words.
func TestStatic(t *testing.T) {
	for _, words := range []string{
		"flag kube-apiserver/--feature-gates", "flag feature-gates", "flag kubelet cloud-config", "flag kubelet cni-bin-dir",
		"flag kube-apiserver advertise-address", "flag kube-apiserver secure-port",
		"gate VolumeAttributesClass", "gate kubelet/InPlacePodVerticalScaling",
		"plugin NodeRestriction", "plugin JobValidation", "plugin DefaultStorageClass", "plugin PersistentVolumeLabel",
	} {
		t.Run(words, func(t *testing.T) {
			page, err := explain.Static(strings.Fields(words)...)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := page.Write(&out); err != nil {
				t.Fatal(err)
			}
			name := strings.NewReplacer(" ", "_", "/", "_").Replace(words)
			golden.Compare(t, filepath.Join("testdata", "pages", name+".txt"), out.String())
			var same explain.Page
			raw, err := json.Marshal(page)
			if err != nil || json.Unmarshal(raw, &same) != nil {
				t.Errorf("as JSON: %v", err)
			}
		})
	}
}

// TestStaticUnknown checks the errors for unknown names.
func TestStaticUnknown(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"kubelet", `"kubelet" is not a topic; see ` + "`graft explain flag kubelet`"},
		{"plugn", `"plugn" is not a topic (did you mean "plugin"?)`},
		{"flag kube-apiserver/featuregates", `there is no flag "featuregates" of kube-apiserver (did you mean "feature-gates"?)`},
		{"flag kube-apisever/v", `there is no component "kube-apisever" (did you mean "kube-apiserver"?)`},
		{"gate VolumeAttributeClass", `there is no gate "VolumeAttributeClass" (did you mean "VolumeAttributesClass"?)`},
		{"qqqqqqqqqqqq", `"qqqqqqqqqqqq" is neither a topic (flag, gate, plugin) nor an object, which is written as kind/name; docs/reference describes operations, expressions and fields`},
	} {
		t.Run(c.words, func(t *testing.T) {
			_, err := explain.Static(strings.Fields(c.words)...)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestComplete checks the completions of partial words, and that each has an entry.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		words, begun string
		offers       []string
	}{
		{"", "", []string{"flag", "deployment/kube-apiserver", "etcd/etcd-main"}},
		{"flag", "kubelet/", []string{"kubelet/v"}},
		{"plugin", "Node", []string{"NodeRestriction"}},
	} {
		t.Run(c.words+" "+c.begun, func(t *testing.T) {
			words := strings.Fields(c.words)
			offered := map[string]bool{}
			for _, one := range explain.Complete(words, c.begun) {
				name, _, _ := strings.Cut(one, "\t")
				offered[name] = true
				if _, err := explain.Static(append(words, name)...); err != nil && len(words) > 0 {
					t.Error(err)
				}
			}
			for _, name := range c.offers {
				if !offered[name] {
					t.Errorf("completion does not offer %s, only %d others", name, len(offered))
				}
			}
		})
	}
	if rows := explain.Complete([]string{"flag", "kubelet/v"}, ""); rows != nil {
		t.Errorf("something is offered behind a whole command line: %v", rows)
	}
}

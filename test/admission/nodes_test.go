// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// wantNodes are the places that the OpenStack profile changes in an OperatingSystemConfig, by purpose; there are two of
// each.
var wantNodes = map[string][]string{
	"provision": added,
	"reconcile": append([]string{"~ /spec/files/N/content/inline/data", "~ /spec/units/N/content"}, added...),
}

// added are a script and the units that run it.
var added = []string{
	"+ /spec/files/N/content/inline/data", "+ /spec/files/N/content/inline/encoding", "+ /spec/files/N/path",
	"+ /spec/files/N/permissions",
	"+ /spec/units/N/command", "+ /spec/units/N/content", "+ /spec/units/N/content", "+ /spec/units/N/enable",
	"+ /spec/units/N/name", "+ /spec/units/N/name",
}

var index = regexp.MustCompile(`/[0-9]+`)

// expectNode compares the changed places, and the changes of a kubelet.
func expectNode(without, with *unstructured.Unstructured) {
	GinkgoHelper()
	purpose, _, _ := unstructured.NestedString(with.Object, "spec", "purpose")
	counts := map[string]int{}
	for _, line := range changes(without, with) {
		fields := strings.SplitN(line, " ", 3)
		counts[fields[0]+" "+index.ReplaceAllString(fields[1], "/N")]++
	}
	want := map[string]int{}
	for _, place := range wantNodes[purpose] {
		want[place]++
	}
	Expect(counts).To(BeComparableTo(want), "what the webhooks change on %s", nameOf(with))
	if purpose == "provision" {
		return
	}
	unit, configuration := contentOf(with, "units", "name", "kubelet.service"),
		contentOf(with, "files", "path", "/var/lib/kubelet/config/kubelet")
	if !strings.Contains(unit, " $KUBELET_EXTRA_ARGS") { // the older generation
		Expect(unit).To(ContainSubstring("--cloud-provider=external"), "the unit of %s", nameOf(with))
		Expect(configuration).To(ContainSubstring("resolvConf: /etc/resolv-for-kubelet.conf"), "the configuration of %s",
			nameOf(with))
		return
	}
	expectLines(contentOf(without, "units", "name", "kubelet.service"), unit,
		"+ExecStartPre=/bin/sh -c 'hostnamectl set-hostname $(cut -d . -f 1 /etc/hostname)'",
		"+    --cloud-provider=external $KUBELET_EXTRA_ARGS",
		`+    --v=2 \`, "-    --v=2 $KUBELET_EXTRA_ARGS")
	expectLines(contentOf(without, "files", "path", "/var/lib/kubelet/config/kubelet"), configuration,
		"+resolvConf: /etc/resolv-for-kubelet.conf", "-resolvConf: /etc/resolv.conf")
}

// contentOf is the text of a unit or an inline file.
func contentOf(object *unstructured.Unstructured, list, key, name string) string {
	GinkgoHelper()
	items, _, _ := unstructured.NestedSlice(object.Object, "spec", list)
	for _, item := range items {
		item, ok := item.(map[string]any)
		if !ok || item[key] != name {
			continue
		}
		if text, ok := item["content"].(string); ok {
			return text
		}
		data, _, _ := unstructured.NestedString(item, "content", "inline", "data")
		if encoding, _, _ := unstructured.NestedString(item, "content", "inline", "encoding"); encoding == "" {
			return data
		}
		text, err := base64.StdEncoding.DecodeString(data)
		Expect(err).NotTo(HaveOccurred())
		return string(text)
	}
	Fail(fmt.Sprintf("%s has no %s", nameOf(object), name))
	return ""
}

// expectLines compares two texts as sets of lines.
func expectLines(before, after string, want ...string) {
	GinkgoHelper()
	counts := map[string]int{}
	for _, line := range strings.Split(before, "\n") {
		counts[line]--
	}
	for _, line := range strings.Split(after, "\n") {
		counts[line]++
	}
	got := map[string]bool{}
	for line, count := range counts {
		switch {
		case count > 0:
			got["+"+line] = true
		case count < 0:
			got["-"+line] = true
		}
	}
	wanted := map[string]bool{}
	for _, line := range want {
		wanted[line] = true
	}
	Expect(got).To(BeComparableTo(wanted), "changed lines")
}

// expectNodeReset writes units and files as gardenlet wants them, which the webhook has to change again to the same
// bytes.
func expectNodeReset(ctx context.Context, p *program, wanted *unstructured.Unstructured) {
	GinkgoHelper()
	before := stored(ctx, wanted)
	after := before.DeepCopy()
	for _, list := range []string{"units", "files"} {
		items, _, _ := unstructured.NestedSlice(wanted.Object, "spec", list)
		Expect(unstructured.SetNestedSlice(after.Object, items, "spec", list)).To(Succeed())
	}
	p.expectCount(1, "graft_admissions_total", labels{"target": "operatingsystemconfig", "result": "patched"}, func() {
		Expect(land.Client().Patch(ctx, after, client.MergeFrom(before))).To(Succeed())
	})
	Expect(changes(before, after)).To(BeEmpty(), "after a reset, %s differs", nameOf(wanted))
}

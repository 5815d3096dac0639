// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// auditWebhook is the prefix of the webhook's keys in the audit log of the API server.
const auditWebhook = "controlplane.acme.graft.extensions.gardener.cloud/"

// audited returns the webhook's audit annotations for a request of a namespace, by the verb of the
// request, without the webhook's name.
func audited(namespace, verb string) map[string]string {
	GinkgoHelper()
	var found map[string]string
	Eventually(func() error {
		raw, err := os.ReadFile(auditLog)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(raw)) {
			var event auditv1.Event
			if !strings.Contains(line, namespace) || json.Unmarshal([]byte(line), &event) != nil {
				continue
			}
			if r := event.ObjectRef; event.Verb != verb || r == nil || r.Namespace != namespace || r.Resource != "deployments" {
				continue
			}
			found = map[string]string{}
			for key, value := range event.Annotations {
				if name, ours := strings.CutPrefix(key, auditWebhook); ours {
					found[name] = value
				}
			}
			return nil
		}
		return fmt.Errorf("the log of %d bytes lacks it", len(raw))
	}).Should(Succeed(), "the request in the audit log")
	return found
}

var _ = Describe("the audit log of kube-apiserver", func() {
	It("names exactly the profiles and rules that mutated an object", func(ctx SpecContext) {
		p := start(ctx, programOptions{Profiles: map[string]string{
			"base": head("base", "acme") +
				"controlplane:\n  kube-controller-manager:\n  - name: labels\n    podLabels: {set: {base: x}}\n" +
				"  - name: never\n    when: ${ shoot.name == \"another\" }\n    podLabels: {set: {base: y}}\n",
			"acme": setFlag("acme", "acme", "value", `"a"`),
		}})
		namespace := newShoot(ctx, "audit", "acme")
		object := create(ctx, deployment(namespace, "kube-controller-manager"))
		got, mark := audited(namespace, "create"), object.GetAnnotations()[markOfControlPlane]
		want := map[string]string{"profiles": mark, "rules": "acme/kube-controller-manager[0].flags, base/labels"}
		Expect(got).To(Equal(want), "audit annotations of a mutated object")
		Expect(mark).To(And(ContainSubstring("acme@"), ContainSubstring("base@")), "the mark of the object")
		expectUnchanged(ctx, p, "kube-controller-manager", object)
		Expect(audited(namespace, "update")).To(BeEmpty(), "audit annotations of an unchanged object")
	})
})

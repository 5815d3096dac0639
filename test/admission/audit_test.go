// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// auditWebhook is the prefix of the webhook's keys in the audit log of the API server.
const auditWebhook = "controlplane.acme.graft.extensions.gardener.cloud/"

// audited are the audit annotations that the webhook has given for a request of a namespace, by the verb of the request, without the webhook's name.
func audited(t *testing.T, namespace, verb string) map[string]string {
	t.Helper()
	var found map[string]string
	eventually(t, "the request in the audit log", func() error {
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
	})
	return found
}

// TestAudit checks that the API server's audit log names the rules and profile versions that mutated each object, and
// nothing for unchanged objects.
func TestAudit(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{
		"base": head("base", "acme") + "controlplane:\n  kube-controller-manager:\n  - name: labels\n    podLabels: {set: {base: x}}\n" +
			"  - name: never\n    when: ${ shoot.name == \"another\" }\n    podLabels: {set: {base: y}}\n",
		"acme": setFlag("acme", "acme", "value", `"a"`),
	}})
	namespace := newShoot(t, "audit", "acme")
	object := create(t, deployment(namespace, "kube-controller-manager"))
	got, mark := audited(t, namespace, "create"), object.GetAnnotations()[markOfControlPlane]
	want := map[string]string{"profiles": mark, "rules": "acme/kube-controller-manager[0].flags, base/labels"}
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(mark, "acme@") || !strings.Contains(mark, "base@") {
		t.Errorf("the mark is %q; (-want +got)\n%s", mark, diff)
	}
	expectUnchanged(t, p, "kube-controller-manager", object)
	if got := audited(t, namespace, "update"); len(got) != 0 {
		t.Errorf("of an object that is right already it says %q", got)
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// mostRatio is how much more time four times as many rules may take. It would be 4 if the time grew with their number, and 16 if it grew
// with the number of pairs.
const mostRatio = 12

// TestMaximumRules loads a profile with the maximum number of rules, which takes 3 s on one core, and one with a
// quarter of it. All rules are for one object, so that each is compared with each; every second one has a condition,
// and every fourth a computed value.
func TestMaximumRules(t *testing.T) {
	quarter, all := loadRules(t, profile.MaximumRules/4), loadRules(t, profile.MaximumRules)
	t.Logf("a quarter of the rules takes %s, all %d take %s", quarter, profile.MaximumRules, all)
	if ratio := float64(all) / float64(quarter); ratio > mostRatio {
		t.Errorf("four times as many rules take %.1f times as long", ratio)
	}
}

// loadRules returns how much time of the CPU loading a profile with so many rules takes.
func loadRules(t *testing.T, count int) time.Duration {
	t.Helper()
	var text strings.Builder
	text.WriteString("apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: many}\nproviders: [acme]\n" +
		"variables:\n  old: ${ shoot.kubernetes.satisfies(\"< 1.33\") }\ncontrolplane:\n  kube-controller-manager:\n")
	for i := range count / 4 {
		fmt.Fprintf(&text, "  - annotations: {set: {acme.com/a%d: \"%d\"}}\n", i, i)
		fmt.Fprintf(&text, "  - labels: {set: {acme.com/l%d: x}}\n    when: ${ variables.old }\n", i)
		fmt.Fprintf(&text, "  - env: {set: {E%d: '${ object.metadata.name + \"-%d\" }'}}\n", i, i)
		fmt.Fprintf(&text, "  - annotations: {set: {acme.com/a%d: other}}\n    when: ${ !variables.old }\n", i)
	}
	runtime.GC()
	started := usedTime(t)
	documents, findings := profile.Load(source.File{Name: "many.yaml", Data: []byte(text.String())})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	if _, err := compiler.Compile(documents, compiler.Options{Kubernetes: elsewhere}); err != nil {
		t.Fatal(err)
	}
	return usedTime(t) - started
}

// usedTime returns the time of the CPU that the process has used. Unlike the time that passes, it does not depend on other processes.
func usedTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

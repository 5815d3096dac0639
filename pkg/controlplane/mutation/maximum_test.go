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

// mostRatio is how much more CPU time eight times as many rules may take: 8 if the time grows with their number, 64 if it
// grows with the number of pairs. It is about 10 today, and was 27 when each pair was compared in full.
const mostRatio = 20

// mostTime bounds the CPU time for the largest profile, which is about 5 s. The race detector multiplies it.
const mostTime = 2 * time.Minute

// TestMaximumRules loads a profile with as many rules as are allowed, and one with an eighth of them. They are all for one
// object, so that each is compared with all others; every second one has a condition, and every fourth a computed value.
func TestMaximumRules(t *testing.T) {
	eighth, all := loadRules(t, profile.MaximumRules/8), loadRules(t, profile.MaximumRules)
	t.Logf("an eighth of the rules takes %s, all %d take %s", eighth, profile.MaximumRules, all)
	if ratio := float64(all) / float64(eighth); ratio > mostRatio {
		t.Errorf("eight times as many rules take %.1f times as long", ratio)
	}
	if all > mostTime {
		t.Errorf("%d rules take %s of CPU time", profile.MaximumRules, all)
	}
}

// loadRules returns the CPU time that loading a profile with this number of rules takes.
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

// usedTime returns the CPU time of the process. Unlike elapsed time, it hardly depends on other processes.
func usedTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

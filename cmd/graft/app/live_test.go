// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// TestLiveRefuses checks that --live rejects the flags of generated control planes by name, and that the flags of a
// seed need --live.
func TestLiveRefuses(t *testing.T) {
	profile := world + "profile.yaml"
	for _, c := range []struct{ arguments, flags string }{
		{"diff -p " + profile + " --live --ha --kubernetes 1.33", "--ha, --kubernetes"},
		{"diff -p " + profile + " --live -n shoot--a--b --show-secrets", "--show-secrets"},
		{"diff -p " + profile + " --live --set region=a --old x --present y", "--set, --old, --present"},
		{"explain deployment/kube-scheduler -p " + profile + " --live -n shoot--a--b --garden --legacy", "--garden, --legacy"},
		{"diff -p " + profile + " --kubeconfig x --no-dry-run", "--kubeconfig, --no-dry-run"},
		{"diff -p " + profile + " --kube-context x", "--kube-context"},
		{"explain deployment/kube-scheduler -p " + profile + " --kubeconfig x", "--kubeconfig"},
	} {
		t.Run(c.arguments, func(t *testing.T) {
			var out, errors bytes.Buffer
			status := Main("test", strings.Fields(c.arguments), &Streams{In: strings.NewReader(""), Out: &out, Err: &errors})
			if status != statusFailed || !strings.HasSuffix(errors.String(), " "+c.flags+"\n") {
				t.Errorf("got status %d: %s", status, errors.String())
			}
		})
	}
}

// TestNoteDoesNotFailComparison checks that a note alone does not fail a comparison.
func TestNoteDoesNotFailComparison(t *testing.T) {
	output := differenceFlags{outputFlags: outputFlags{formats: render.Differences(), format: "text"}}
	streams := &Streams{Out: io.Discard}
	if err := output.writeComparison(streams, &compare.Result{}); err != nil {
		t.Error(err)
	}
	if err := output.writeComparison(streams, &compare.Result{Incomplete: true}); err == nil {
		t.Error("no error although a control plane could not be read, want one")
	}
}

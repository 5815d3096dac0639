// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"path/filepath"
	"testing"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
)

// TestSandboxLives checks that a sandbox counts as removed only if its file is missing, and that the identifier of the
// machine's boot is stable.
func TestSandboxLives(t *testing.T) {
	if folder := t.TempDir(); !mayExist(folder) || mayExist(filepath.Join(folder, "none")) {
		t.Error("the sandbox with an existing file is reported as gone")
	}
	if !mayExist(string([]byte{0})) {
		t.Error("an unreadable sandbox is reported as gone, want it to be kept")
	}
	if first := boot(); first != boot() {
		t.Error("the start of the machine is called by two names")
	}
}

// TestNoDocker checks that the kernel is not used if no listener names the contract.
func TestNoDocker(t *testing.T) {
	p := &Parts{Installation: &Installation{Config: &configv1alpha1.NetworkProviderConfiguration{
		Listeners: []configv1alpha1.NetworkListener{{Address: "unix:///x"}},
	}}}
	d, err := p.NewDocker(t.Context())
	if d != nil || err != nil || p.checkLinks(t.Context(), nil) != nil {
		t.Errorf("%v, %v", d, err)
	}
}

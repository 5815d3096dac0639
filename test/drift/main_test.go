// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/test/deployment"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// What all tests share; TestMain sets it.
var (
	land   *landscape.Landscape
	audit  string
	folder string
)

const (
	// shoot is the namespace of the control plane, and extension that of the program.
	shoot     = "shoot--local--one"
	extension = "extension"
	program   = "../../bin/gardener-extension-provider-graft"
	// patience bounds every wait.
	patience = 60 * time.Second
)

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, func(ctx context.Context, s *landscape.Suite) error {
		folder, audit = s.Folder, filepath.Join(s.Folder, "audit.log")
		err := env.CheckBuilt(program)
		if err == nil {
			land, err = s.Start(ctx, landscape.Options{AuditLog: audit})
		}
		if err != nil {
			return err
		}
		return deploy(ctx, sample.Options{Kubernetes: "1.34.2", Namespace: shoot, Provider: "acme"})
	}))
}

// deploy writes the control plane of a shoot as gardenlet does, while there is no webhook.
func deploy(ctx context.Context, o sample.Options) error {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cloud-config", Namespace: o.Namespace}}
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: extension}}
	if err := deployment.Surroundings(ctx, land.Client(), o, own, config); err != nil {
		return err
	}
	return deployment.ControlPlane(ctx, land.Client(), o)
}

// process is the extension in a process of its own.
type process struct {
	*env.Process
	env.Extension
	t *testing.T
}

// start runs the extension with the profile in the folder, as the account of a kubeconfig, until it is ready. What the configuration says beside goes on.
func start(t *testing.T, kubeconfig, configuration string) *process {
	t.Helper()
	config := filepath.Join(folder, "config.yaml")
	const head = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\n" +
		"shutdown: {delay: 0s, timeout: 5s}\nwebhook: {failurePolicy: Ignore}\n"
	if err := os.WriteFile(config, []byte(head+configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := env.NewExtension(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	arguments := at.Arguments(config, kubeconfig, filepath.Join(folder, "profile.yaml"))
	started, err := env.Start(&env.Log{}, nil, program, append(arguments, at.ByURL(extension)...)...)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{started, at, t}
	t.Cleanup(p.stop)
	if err := p.Await(t.Context(), p.Ready); err != nil {
		t.Fatal(err)
	}
	return p
}

// stop ends the extension; its registration stays.
func (p *process) stop() {
	if err := p.Stop(); err != nil {
		p.t.Error(err)
	}
}

// metric is the value of a series; empty: there is none.
func (p *process) metric(series string) string {
	text, _ := env.Get(p.t.Context(), "http://"+p.Metrics+"/metrics")
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(line, series+" "); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// eventually waits for what happens in the program.
func (p *process) eventually(what string, is func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) {
		if p.HasExited() {
			p.t.Fatalf("the extension ended; it said\n%s", p.Log)
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("it does not come true: %s; the extension said\n%s", what, p.Log)
		}
	}
}

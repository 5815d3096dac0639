// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/test/deployment"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// What all tests share; TestMain sets it.
var (
	land  *landscape.Landscape
	audit string
	graft *env.Process
)

// namespaces are those of the two shoots, one of an older version that is highly available.
var namespaces = []string{"shoot--local--one", "shoot--local--two"}

const (
	// extension is the namespace of the program.
	extension = "extension"
	// patience bounds every wait.
	patience = 60 * time.Second
)

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, func(ctx context.Context, s *landscape.Suite) (err error) {
		audit = filepath.Join(s.Folder, "audit.log")
		if land, err = s.Start(ctx, landscape.Options{AuditLog: audit}); err != nil {
			return err
		}
		if err := install(ctx, s); err != nil {
			return err
		}
		for i, options := range []sample.Options{
			{Kubernetes: "1.34.2", Namespace: namespaces[0], Provider: "acme"},
			{Kubernetes: "1.32.10", Namespace: namespaces[1], Provider: "acme", HighAvailability: true},
		} {
			if err := deploy(ctx, options); err != nil {
				return fmt.Errorf("deploying %s: %w", namespaces[i], err)
			}
		}
		return nil
	}))
}

// install builds the extension and runs it with the profile in testdata until it would answer admissions.
func install(ctx context.Context, s *landscape.Suite) error {
	binary, err := env.Build(ctx, filepath.Join("..", ".."), "gardener-extension-provider-graft", s.Folder)
	if err != nil {
		return err
	}
	config := filepath.Join(s.Folder, "config.yaml")
	const configuration = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\nshutdown: {delay: 0s, timeout: 5s}\n"
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return err
	}
	at, err := env.NewExtension(ctx)
	if err != nil {
		return err
	}
	if err := land.Client().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: extension}}); err != nil {
		return err
	}
	arguments := append(at.Arguments(config, land.Kubeconfig(), filepath.Join("testdata", "installed.yaml")), at.ByURL(extension)...)
	if graft, err = env.Start(&env.Log{}, nil, binary, append(arguments, "--leader-election=false")...); err != nil {
		return err
	}
	s.Cleanup(func() { _ = graft.Stop() })
	return graft.Await(ctx, at.Ready)
}

// deploy writes the control plane of a shoot as gardenlet does, with the Secret that the profile looks up. The API server calls the
// webhooks for all of it: it is asked before until it does.
func deploy(ctx context.Context, o sample.Options) error {
	meta := metav1.ObjectMeta{Name: "cloudprovider", Namespace: o.Namespace}
	secret := &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"region": "eu", "password": "hunter2"}}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cloud-config", Namespace: o.Namespace}}
	if err := deployment.Surroundings(ctx, land.Client(), o, secret); err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		probe := config.DeepCopy()
		if err := land.Client().Create(ctx, probe, client.DryRunAll); err == nil && probe.Annotations["acme.example.com/region"] == "eu" {
			break
		} else if time.Since(began) > patience {
			return fmt.Errorf("the webhooks are not called: %w", err)
		}
	}
	if err := land.Client().Create(ctx, config); err != nil {
		return err
	}
	return deployment.ControlPlane(ctx, land.Client(), o)
}

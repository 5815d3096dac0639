// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// extensionNamespace is the namespace of the extension: that of the first shoot, which the seed lists. It must exist in
// the real kube-apiserver too, which has the Secrets of the extension.
var extensionNamespace = fmt.Sprintf(nameFormat, 0)

// starter starts one of the programs with a seed.
type starter struct {
	name  string
	start func(context.Context, *seed) (*process, error)
	// bundle returns the CA bundle with which kube-apiserver trusts the webhook.
	bundle func(context.Context, *seed, *process) ([]byte, error)
	// budget is the memory in bytes that a shoot needs while Clusters are listed. The program is not started if less is
	// free.
	budget int64
}

func (o options) starters(land *landscape.Landscape, itself string) []starter {
	return []starter{
		{name: "Graft", start: o.startGraft,
			bundle: func(ctx context.Context, _ *seed, p *process) ([]byte, error) { return registered(ctx, land, p) }},
		{
			// The response in its encoded and its decoded form.
			name: "classical", budget: 4 * int64(o.size),
			start: func(ctx context.Context, s *seed) (*process, error) { return startClassical(ctx, s, itself) },
			bundle: func(_ context.Context, s *seed, _ *process) ([]byte, error) {
				return os.ReadFile(filepath.Join(s.folder, "tls.crt"))
			},
		},
	}
}

// startGraft runs the extension with the profiles of the benchmark of admissions. It allows more requests per second
// than the default, to admit all shoots in less time.
func (o options) startGraft(ctx context.Context, s *seed) (*process, error) {
	at, err := env.NewExtension(ctx)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(s.folder, "config.yaml")
	if err := os.WriteFile(config, []byte(`apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ControllerConfiguration
clientConnection: {qps: 1000, burst: 1000}
debugging: {profiling: true}
shutdown: {delay: 0s, timeout: 10s}
`), 0o600); err != nil {
		return nil, err
	}
	p := &process{Extension: at, url: "https://" + at.Webhook}
	return p, p.spawn(o.program, append(at.Arguments(config, s.kubeconfig(), filepath.Join(o.testdata, "profiles")),
		append(at.ByURL(extensionNamespace), "--leader-election=false", "--kubernetes-versions=~1.33",
			"--log-level=error")...)...)
}

// registered returns the CA bundle of the extension's registration, and sets the path of the webhook.
func registered(ctx context.Context, land *landscape.Landscape, p *process) ([]byte, error) {
	list := &admissionregistrationv1.MutatingWebhookConfigurationList{}
	if err := land.Client().List(ctx, list); err != nil {
		return nil, err
	}
	if len(list.Items) != 1 || len(list.Items[0].Webhooks) == 0 {
		return nil, fmt.Errorf("there are %d registrations, not one", len(list.Items))
	}
	for _, webhook := range list.Items[0].Webhooks {
		if url := *webhook.ClientConfig.URL; strings.HasSuffix(url, "/controlplane/cluster") {
			p.url = url
			return webhook.ClientConfig.CABundle, nil
		}
	}
	return nil, errors.New("no webhook of the registration is that of the provider cluster")
}

func startClassical(ctx context.Context, s *seed, itself string) (*process, error) {
	at, err := env.NewExtension(ctx)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(at.Webhook)
	p := &process{Extension: at, url: "https://" + at.Webhook + classicalPath}
	return p, p.spawn(itself,
		"-classical-kubeconfig="+s.kubeconfig(), "-classical-certificates="+s.folder, "-classical-port="+port,
		"-classical-metrics="+at.Metrics, "-classical-health="+at.Health)
}

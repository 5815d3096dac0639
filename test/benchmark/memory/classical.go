// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"net/http"
	"net/http/pprof"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
)

// classicalPath is the path of admissions of the classical manager.
const classicalPath = "/webhook"

// classical is a manager of an extension on Gardener's library, with a webhook that only reads the Cluster.
type classical struct {
	kubeconfig, certificates string
	port                     int
	metrics, health          string
}

func (c *classical) addTo(set *flag.FlagSet) {
	set.StringVar(&c.kubeconfig, "classical-kubeconfig", "", "be the classical manager; the command starts itself so")
	set.StringVar(&c.certificates, "classical-certificates", "", "folder with its certificate")
	set.IntVar(&c.port, "classical-port", 0, "port of its webhook")
	set.StringVar(&c.metrics, "classical-metrics", "", "address of its /metrics")
	set.StringVar(&c.health, "classical-health", "", "address of its /readyz")
}

func (c *classical) run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return err
	}
	mgr, err := manager.New(config, manager.Options{
		Scheme: kubernetes.SeedScheme,
		Metrics: metricsserver.Options{BindAddress: c.metrics,
			ExtraHandlers: map[string]http.Handler{"/debug/pprof/": http.HandlerFunc(pprof.Index)}},
		HealthProbeBindAddress: c.health,
		WebhookServer: ctrlwebhook.NewServer(ctrlwebhook.Options{Host: "127.0.0.1", Port: c.port,
			CertDir: c.certificates}),
	})
	if err != nil {
		return err
	}
	// The controllers of an extension start this informer if its webhooks do not.
	if _, err := mgr.GetCache().GetInformer(ctx, &extensionsv1alpha1.Cluster{}); err != nil {
		return err
	}
	mgr.GetWebhookServer().Register(classicalPath, &admission.Webhook{
		Handler: admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
			if _, err := extensionscontroller.GetCluster(ctx, mgr.GetClient(), request.Namespace); err != nil {
				return admission.Errored(http.StatusInternalServerError, err)
			}
			return admission.Allowed("")
		}),
	})
	filled := func(r *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(r.Context()) {
			return context.Cause(r.Context())
		}
		return mgr.GetWebhookServer().StartedChecker()(r)
	}
	for name, check := range map[string]healthz.Checker{"filled": filled} {
		if err := mgr.AddReadyzCheck(name, check); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command embed shows how an existing Gardener extension uses profiles inside its own manager: for the shoot's provider
// behind Gardener's generic mutator, together with its remaining Go code, and for the seed's provider as a mutator of
// whole objects. It is an example and not installed anywhere. Start reading at newControlPlane and newSeedProvider.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	extensionscmd "github.com/gardener/gardener/extensions/pkg/controller/cmd"
	webhookcmd "github.com/gardener/gardener/extensions/pkg/webhook/cmd"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	"github.com/gardener/gardener/pkg/logger"
)

// extensionName names the webhooks' registration.
const extensionName = "provider-" + provider

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until the context ends, with the flags that Gardener's extensions have for a manager and its webhooks.
func run(ctx context.Context, arguments []string) error {
	var (
		connection = &extensionscmd.RESTOptions{}
		managing   = &extensionscmd.ManagerOptions{LogLevel: logger.InfoLevel, LogFormat: logger.FormatJSON}
		hooks      = webhookcmd.NewAddToManagerOptions(extensionName, "", nil, nil, &webhookcmd.ServerOptions{}, webhookcmd.NewSwitchOptions(
			webhookcmd.Switch(controlplane.WebhookName, newControlPlane),
			webhookcmd.Switch(controlplane.SeedProviderWebhookName, newSeedProvider),
		))
		options = extensionscmd.NewOptionAggregator(connection, managing, hooks)
		flags   = pflag.NewFlagSet(extensionName, pflag.ContinueOnError)
	)
	options.AddFlags(flags)
	if err := flags.Parse(arguments); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return fmt.Errorf("reading the flags: %w", err)
	}
	if err := options.Complete(); err != nil {
		return fmt.Errorf("reading the flags: %w", err)
	}
	of := managing.Completed().Options()
	of.Scheme = kubernetes.SeedScheme
	mgr, err := ctrl.NewManager(connection.Completed().Config, of)
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	if _, err := hooks.Completed().AddToManager(ctx, mgr, nil); err != nil {
		return fmt.Errorf("adding the webhooks: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// Default sets the default of every field that was not set.
func (c *ControllerConfiguration) Default() {
	enabled := true
	c.APIVersion, c.Kind = GroupVersion.String(), KindControllerConfiguration
	setDefault(&c.ClientConnection.QPS, 100)
	setDefault(&c.ClientConnection.Burst, 130)
	setDefault(&c.LeaderElection.Enabled, &enabled)
	setDefault(&c.LeaderElection.ResourceName, "gardener-extension-provider-graft-leader-election")
	setDefault(&c.Server.WebhookPort, 10250)
	setDefault(&c.Server.MetricsBindAddress, ":8080")
	setDefault(&c.Server.HealthBindAddress, ":8081")
	setDefault(&c.Limits.Connections, 1024)
	setDefault(&c.Limits.Streams, 32)
	setDefault(&c.Limits.Requests, 256)
	setDefault(&c.Limits.BodiesBytes, 64<<20)
	setDefault(&c.Logging.Level, "info")
	setDefault(&c.Logging.Format, "json")
	setDefault(&c.Webhook.MaxReviewBytes, 8<<20)
	setDefault(&c.Webhook.TimeoutSeconds, 10)
	setDefault(&c.Webhook.FailurePolicy, "Fail")
	setDuration(&c.Webhook.SyncPeriod, 5*time.Minute)
	setDefault(&c.Gate.Type, "graft")
	setDuration(&c.Shutdown.Delay, 3*time.Second)
	setDuration(&c.Shutdown.Timeout, 30*time.Second)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// setDuration sets a default, but keeps an explicit 0s.
func setDuration(d *Duration, value time.Duration) {
	if !d.Set {
		d.Duration = value
	}
}

// Default sets the default of every field that was not set.
func (c *NetworkProviderConfiguration) Default() {
	c.APIVersion, c.Kind = GroupVersion.String(), KindNetworkProviderConfiguration
	if c.Ledger.Etcd == nil {
		setDefault(&c.Ledger.Path, "/var/lib/graft/ledger")
	} else {
		setDefault(&c.Ledger.Etcd.Prefix, "/graft")
	}
	setDefault(&c.Metrics.Address, "127.0.0.1:9474")
	setDefault(&c.Limits.Requests, 512)
	setDefault(&c.Limits.Connections, 1024)
	setDefault(&c.Limits.Streams, 32)
	setDefault(&c.Limits.BodyBytes, 1<<20)
	setDefault(&c.Limits.BodiesBytes, 64<<20)
	setDefault(&c.CNI.Configurations, "/etc/cni/net.d")
	setDefault(&c.CNI.Plugins, "/opt/cni/bin")
	c.Docker.setDefaults()
	c.Leaks.setDefaults(c.Kubernetes != nil)
	setDefault(&c.Logging.Level, "info")
	setDefault(&c.Logging.Format, "json")
	setDuration(&c.Shutdown.Delay, 3*time.Second)
	setDuration(&c.Shutdown.Timeout, 30*time.Second)
}

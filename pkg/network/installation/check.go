// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/server"
)

// checkMachine reports files that cannot be loaded and addresses that this machine does not have. It opens
// nothing, so that it can run next to a running server. Each problem starts with its field.
func (o *Installation) checkMachine(ctx context.Context) error {
	var problems []error
	note := func(place string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", place, err))
		}
	}
	for i, l := range o.Config.Listeners {
		place := fmt.Sprintf("listeners[%d]", i)
		if netw, address, err := l.Endpoint(); err == nil && netw == "tcp" {
			note(place+".address", resolvable(ctx, address))
		}
		note(place+".tls", loadable(configv1alpha1.NetworkListener{TLS: l.TLS}))
		note(place+".tokenFile", loadable(configv1alpha1.NetworkListener{TokenFile: l.TokenFile}))
	}
	if o.Config.Metrics.Address != "0" {
		note("metrics.address", resolvable(ctx, o.Config.Metrics.Address))
	}
	if o.Config.Ledger.Etcd != nil {
		_, err := etcdTLS(*o.Config.Ledger.Etcd)
		note("ledger.etcd", err)
	}
	if k := o.Config.Kubernetes; k != nil && k.Kubeconfig != "" {
		_, err := kubernetes(k)
		note("kubernetes.kubeconfig", err)
	}
	return errors.Join(problems...)
}

// loadable checks the files of a listener.
func loadable(l configv1alpha1.NetworkListener) error {
	made := server.Listener{TokenFile: l.TokenFile}
	if l.TLS != nil {
		made.TLS = &server.TLS{CertFile: l.TLS.CertFile, KeyFile: l.TLS.KeyFile, ClientCAFile: l.TLS.ClientCAFile}
	}
	return made.CheckFiles()
}

// resolvable checks whether a TCP address can be listened on, as far as possible without doing so.
func resolvable(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if _, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
		return fmt.Errorf("%s is not a port from 0 to 65535", strconv.Quote(port))
	}
	// Port 0 selects a free port, which does not disturb a running server.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return fmt.Errorf("%s is not an address of this machine: %w", strconv.Quote(host), err)
	}
	return listener.Close()
}

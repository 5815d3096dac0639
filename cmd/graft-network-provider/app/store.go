// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/pebble"
)

// openStore opens the ledger's: the folder on this machine, or etcd. Exit ends the program, and is called when the folder cannot be written any more.
func openStore(ctx context.Context, c configv1alpha1.Ledger, log logr.Logger, exit func(status int)) (ledger.Store, error) {
	if c.Etcd != nil {
		return openEtcd(ctx, *c.Etcd, log)
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the ledger: %w", err)
	}
	return pebble.Open(c.Path, folderOptions(c.Path, log, exit))
}

// folderOptions end the program when the engine cannot go on: what it has acknowledged is safe unless files are damaged, and nothing more can be.
func folderOptions(path string, log logr.Logger, exit func(status int)) pebble.Options {
	return pebble.Options{
		Report: func(line string) { log.Info("The ledger's engine says", "line", line) },
		Die: func(why error) {
			remedy := "Ending since the ledger cannot be written: look whether the disk is full or broken, make room beside the folder, " +
				"and start again; all that was answered is in it"
			if errors.Is(why, pebble.ErrDamaged) {
				remedy = "Ending since the ledger is damaged: keep the folder, look whether the disk is broken, and import the newest export into an empty folder; " +
					"what was answered after that export is not in it"
			}
			first, _, _ := strings.Cut(why.Error(), "\n")
			log.Error(errors.New(first), remedy, "folder", path)
			exit(1)
		},
	}
}

func openEtcd(ctx context.Context, c configv1alpha1.Etcd, log logr.Logger) (ledger.Store, error) {
	config, err := etcdTLS(c)
	if err != nil {
		return nil, err
	}
	return etcd.Open(ctx, etcd.Options{
		Endpoints: c.Endpoints, Prefix: c.Prefix, TLS: config,
		Username: os.Getenv("GRAFT_ETCD_USERNAME"), Password: os.Getenv("GRAFT_ETCD_PASSWORD"), // as graft ledger does
		Report: func(err error) { log.Error(err, "Following the ledger was broken off, and began anew") },
	})
}

// etcdTLS is nil where no file is given. The certificate is read whenever a connection is made, so that it may change.
func etcdTLS(c configv1alpha1.Etcd) (*tls.Config, error) {
	if c.CAFile == "" && c.CertFile == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		data, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the CAs of etcd: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, errors.New("reading the CAs of etcd: there is no certificate in " + c.CAFile)
		}
	}
	if c.CertFile != "" {
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
			return &pair, err
		}
		if _, err := load(); err != nil {
			return nil, fmt.Errorf("reading the certificate for etcd: %w", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return config, nil
}

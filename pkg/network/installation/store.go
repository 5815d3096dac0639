// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
)

// OpenStore opens the store of the ledger: the folder on this machine, or etcd. Exit ends the program, and is called when the folder cannot be written any more.
func OpenStore(ctx context.Context, c configv1alpha1.Ledger, log logr.Logger, exit func(status int)) (ledger.Store, error) {
	if c.Etcd != nil {
		return openEtcd(ctx, *c.Etcd, log)
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the ledger: %w", err)
	}
	return file.Open(c.Path, folderOptions(c.Path, log, exit))
}

// folderOptions end the program after an error of the disk: what was answered is safe unless files are damaged, and nothing more can be.
func folderOptions(path string, log logr.Logger, exit func(status int)) file.Options {
	return file.Options{Fatal: func(why error) {
		remedy := "Ending since the ledger cannot be written: check whether the disk is full or broken, free space beside the folder, " +
			"and start again; everything that was answered is in it"
		if errors.Is(why, file.ErrDamaged) {
			remedy = "Ending since the ledger is damaged: keep the folder, check the disk, and import the newest export into an empty folder; " +
				"what was answered after that export is not in it"
		}
		log.Error(why, remedy, "folder", path)
		exit(1)
	}}
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
		data, err := disk.ReadFile(c.CAFile, disk.CertificateSize)
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

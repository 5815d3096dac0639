// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/transport"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
)

// OpenStore opens the ledger's store: a folder on this machine, or etcd. It calls exit to end the program if
// the folder can no longer be written. It fails if the folder is in use or damaged, or etcd does not answer.
func OpenStore(ctx context.Context, c configv1alpha1.Ledger, log logr.Logger, exit func(status int)) (ledger.Store, error) {
	if c.Etcd != nil {
		return openEtcd(ctx, *c.Etcd, log)
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the ledger: %w", err)
	}
	return file.Open(c.Path, folderOptions(c.Path, log, exit))
}

// folderOptions returns options that end the program after a disk error. Acknowledged writes are safe unless
// files are damaged, but no further ones are possible.
func folderOptions(path string, log logr.Logger, exit func(status int)) file.Options {
	return file.Options{Fatal: func(why error) {
		remedy := "Ending because the ledger cannot be written: check if the disk is full or broken, free space next to the folder, " +
			"and restart; the ledger contains all acknowledged writes"
		if errors.Is(why, file.ErrDamaged) {
			remedy = "Ending because the ledger is damaged: keep the folder, check the disk, and import the newest export into an empty folder; " +
				"it does not contain later writes"
		}
		log.Error(why, remedy, "folder", path)
		exit(1)
	}}
}

// serverLease is the time after which other servers take over the work of a dead one. It is longer than a call of most
// clouds (default 10 seconds).
const serverLease = 30 * time.Second

func openEtcd(ctx context.Context, c configv1alpha1.Etcd, log logr.Logger) (ledger.Store, error) {
	config, err := etcdTLS(c)
	if err != nil {
		return nil, err
	}
	return etcd.Open(ctx, etcd.Options{
		Endpoints: c.Endpoints, Prefix: c.Prefix, TLS: config,
		Username: os.Getenv("GRAFT_ETCD_USERNAME"), Password: os.Getenv("GRAFT_ETCD_PASSWORD"), // as in graft ledger
		Lease:  serverLease,
		Report: func(err error) { log.Error(err, "The connection to etcd was interrupted; reconnecting") },
	})
}

// etcdTLS returns the TLS configuration, or nil without files. The certificate is read for each connection, so
// that it may change. It fails if a file cannot be loaded.
func etcdTLS(c configv1alpha1.Etcd) (*tls.Config, error) {
	config, err := transport.TLSConfigFor(&transport.Config{TLS: transport.TLSConfig{
		CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, ReloadTLSFiles: c.CertFile != "",
	}})
	if err == nil && c.CertFile != "" {
		_, err = config.GetClientCertificate(nil)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the certificates for etcd: %w", err)
	}
	return config, nil
}

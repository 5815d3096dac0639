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
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
)

// ledgerFlags say where a ledger is.
type ledgerFlags struct {
	path            string
	endpoints       []string
	prefix          string
	ca, cert, key   string
	server          string
	forServersAlone bool
	// oldCopy accepts a folder with a file older than the latest commit.
	oldCopy bool
}

// addTo defines the flags.
func (f *ledgerFlags) addTo(command *cobra.Command, set *pflag.FlagSet) {
	if f.forServersAlone {
		set.StringVar(&f.path, "ledger", "", "folder of the server's ledger")
		set.StringVar(&f.server, "server", "", "socket of the server, such as unix:///var/lib/graft/ledger.sock")
		return
	}
	set.StringVar(&f.path, "ledger", "", "folder of the ledger")
	set.StringSliceVar(&f.endpoints, "etcd", nil, "endpoints of the etcd with the ledger, such as https://etcd-0:2379,https://etcd-1:2379")
	set.StringVar(&f.prefix, "prefix", "/graft", "prefix of the ledger's keys in etcd")
	set.StringVar(&f.ca, "cacert", "", "file with the CA bundle of etcd")
	set.StringVar(&f.cert, "cert", "", "file with the client certificate for etcd")
	set.StringVar(&f.key, "key", "", "file with the client key for etcd")
	set.StringVar(&f.server, "server", "", "socket of the server with the ledger, such as unix:///var/lib/graft/ledger.sock")
	for _, name := range []string{"etcd", "prefix"} {
		_ = command.RegisterFlagCompletionFunc(name, fixed())
	}
}

// named uses a path on the command line instead of --ledger, and checks that exactly one location is given.
func (f *ledgerFlags) named(arguments []string) error {
	if len(arguments) > 0 {
		if f.path != "" {
			return errors.New("give the path of the ledger once: as an argument, or with --ledger")
		}
		f.path = arguments[0]
	}
	places := 0
	for _, given := range []bool{f.path != "", len(f.endpoints) > 0, f.server != ""} {
		if given {
			places++
		}
	}
	switch {
	case places == 0 && f.forServersAlone:
		return errors.New("say which server: --server and its socket, or --ledger and the folder that it has")
	case places == 0:
		return errors.New("say which ledger: a path, or --etcd and its endpoints, or --server and its socket")
	case places > 1:
		return errors.New("a ledger is in one place: give a path, --etcd or --server")
	case len(f.endpoints) == 0 && f.ca+f.cert+f.key != "":
		return errors.New("--cacert, --cert and --key are for --etcd")
	}
	return nil
}

// access is the kind of a command's access to a ledger.
type access int

const (
	looks   access = iota // reads; an export will do
	tends                 // writes
	founds                // makes a ledger when there is none
	forSure               // writes with exclusive access
)

// open opens the ledger, or asks the server that has it.
func (f *ledgerFlags) open(ctx context.Context, s *Streams, does access) (keeper, error) {
	switch {
	case f.server != "":
		return f.dial(ctx, f.server, does)
	case len(f.endpoints) > 0:
		return f.openEtcd(ctx)
	}
	if info, err := os.Stat(f.path); err == nil && info.Mode().IsRegular() {
		if does != looks {
			return nil, fmt.Errorf("%s is a file: an export can be looked into, and nothing else; `graft ledger import` makes a ledger of it", f.path)
		}
		return exported{f.path}, nil
	}
	store, err := file.Open(f.path, file.Options{ReadOnly: does == looks, Existing: does != founds, OldCopy: f.oldCopy, Fatal: s.die})
	switch {
	case err == nil:
		return &opened{store: store}, nil
	case errors.Is(err, file.ErrHeld):
		return f.ask(ctx, s, does, err)
	case errors.Is(err, file.ErrMissing):
		return nil, fmt.Errorf("there is no ledger in %s", f.path)
	}
	return nil, err
}

// die ends the program after a fatal error of a folder's engine: committed data is safe unless files are damaged, and
// uncommitted data is lost.
func (s *Streams) die(why error) {
	first, _, _ := strings.Cut(why.Error(), "\n")
	if s.ErrInteractive {
		fmt.Fprint(s.Err, emptyLine)
	}
	fmt.Fprintln(s.Err, "Error: "+first)
	os.Exit(statusFailed)
}

// ask asks the server that has the folder.
func (f *ledgerFlags) ask(ctx context.Context, s *Streams, does access, held error) (keeper, error) {
	socket := remote.Socket(f.path)
	if _, err := os.Stat(socket); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w, and there is no server's socket at %s", held, socket)
	}
	absolute, err := absolutePath(socket)
	if err != nil {
		return nil, err
	}
	k, err := f.dial(ctx, "unix://"+absolute, does)
	if err == nil {
		fmt.Fprintf(s.Err, "a server has the ledger: asking it at %s\n", socket)
	}
	return k, err
}

func (f *ledgerFlags) dial(ctx context.Context, address string, does access) (keeper, error) {
	if does == founds || does == forSure {
		return nil, errors.New("a server has the ledger: stop the server first, since this needs the ledger for itself")
	}
	client, err := remote.Dial(address)
	if err != nil {
		return nil, err
	}
	if _, err := client.Get(ctx, "format"); err != nil { // without an answer, the cause is clearer here
		return nil, errors.Join(err, client.Close())
	}
	return &asked{opened{store: client}, client}, nil
}

// The name and the password of a user of etcd, which must not be visible on a command line.
const (
	variableUser     = "GRAFT_ETCD_USERNAME"
	variablePassword = "GRAFT_ETCD_PASSWORD" //nolint:gosec // the name of a variable
)

func (f *ledgerFlags) openEtcd(ctx context.Context) (keeper, error) {
	o := etcd.Options{Endpoints: f.endpoints, Prefix: f.prefix, Username: os.Getenv(variableUser), Password: os.Getenv(variablePassword)}
	if f.ca+f.cert+f.key != "" {
		var err error
		if o.TLS, err = f.tls(); err != nil {
			return nil, err
		}
	}
	store, err := etcd.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &opened{store: store, shared: true}, nil
}

func (f *ledgerFlags) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		content, err := disk.ReadStream(f.ca, disk.CertificateSize)
		if err != nil {
			return nil, fmt.Errorf("--cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("--cacert %s: there is no certificate in it", f.ca)
		}
	}
	if (f.cert == "") != (f.key == "") {
		return nil, errors.New("--cert and --key belong together")
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("--cert %s: %s", f.cert, strings.TrimPrefix(err.Error(), "tls: "))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
)

// ledgerFlags locate a ledger.
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
func (f *ledgerFlags) addTo(set *pflag.FlagSet) {
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
		return errors.New("name the server: with --server and its socket, or with --ledger and its folder")
	case places == 0:
		return errors.New("name the ledger: a path, --etcd and its endpoints, or --server and its socket")
	case places > 1:
		return errors.New("name one ledger: a path, --etcd or --server")
	case len(f.endpoints) == 0 && f.ca+f.cert+f.key != "":
		return errors.New("--cacert, --cert and --key need --etcd")
	}
	return nil
}

// access is the kind of a command's access to a ledger.
type access int

const (
	reads   access = iota
	writes         // needs an existing ledger
	creates        // creates a missing ledger
)

// use opens the ledger at the location on the command line, and closes it after a function has used it.
func (f *ledgerFlags) use(ctx context.Context, s *Streams, arguments []string, does access, do func(*ledgerAccess) error) (err error) {
	if err := f.named(arguments); err != nil {
		return err
	}
	k, err := f.open(ctx, s, does)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.store.Close()) }()
	return do(k)
}

// open opens the ledger, or connects to the server that has it.
func (f *ledgerFlags) open(ctx context.Context, s *Streams, does access) (*ledgerAccess, error) {
	switch {
	case f.server != "":
		return f.dial(ctx, f.server, does)
	case len(f.endpoints) > 0:
		return f.openEtcd(ctx)
	}
	if info, err := os.Stat(f.path); err == nil && info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is a file: `graft ledger import` makes a ledger of an export", f.path)
	}
	store, err := file.Open(f.path, file.Options{ReadOnly: does == reads, Existing: does != creates, OldCopy: f.oldCopy, Fatal: s.exitAfter})
	switch {
	case err == nil:
		return &ledgerAccess{store: store}, nil
	case errors.Is(err, file.ErrHeld):
		return f.ask(ctx, s, does, err)
	case errors.Is(err, file.ErrMissing):
		return nil, fmt.Errorf("there is no ledger in %s", f.path)
	}
	return nil, err
}

// exitAfter ends the program after a fatal error of a folder's engine: committed data is safe unless files are damaged,
// and uncommitted data is lost.
func (s *Streams) exitAfter(why error) {
	first, _, _ := strings.Cut(why.Error(), "\n")
	if s.ErrInteractive {
		fmt.Fprint(s.Err, emptyLine)
	}
	fmt.Fprintln(s.Err, "Error: "+first)
	os.Exit(statusFailed)
}

// ask asks the server that has the folder.
func (f *ledgerFlags) ask(ctx context.Context, s *Streams, does access, held error) (*ledgerAccess, error) {
	socket := remote.Socket(f.path)
	if _, err := os.Stat(socket); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w, and there is no server's socket at %s", held, socket)
	}
	address, err := addressOf(f.path)
	if err != nil {
		return nil, err
	}
	k, err := f.dial(ctx, address, does)
	if err == nil {
		fmt.Fprintf(s.Err, "a server has the ledger: asking it at %s\n", socket)
	}
	return k, err
}

// addressOf returns the address of the server with the ledger in a folder, independent of the working directory.
func addressOf(folder string) (string, error) {
	socket, err := filepath.Abs(remote.Socket(folder))
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", socket, err)
	}
	return "unix://" + socket, nil
}

func (f *ledgerFlags) dial(ctx context.Context, address string, does access) (*ledgerAccess, error) {
	if does == creates {
		return nil, errors.New("a server has opened the ledger: stop the server first")
	}
	client, err := remote.Dial(address)
	if err != nil {
		return nil, err
	}
	if _, err := client.Get(ctx, "format"); err != nil { // without an answer, the cause is clearer here
		return nil, errors.Join(err, client.Close())
	}
	return &ledgerAccess{store: client, client: client}, nil
}

// The name and the password of a user of etcd, which must not be visible on a command line.
const (
	variableUser     = "GRAFT_ETCD_USERNAME"
	variablePassword = "GRAFT_ETCD_PASSWORD" //nolint:gosec // the name of a variable
)

func (f *ledgerFlags) openEtcd(ctx context.Context) (*ledgerAccess, error) {
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
	return &ledgerAccess{store: store}, nil
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
		return nil, errors.New("--cert and --key must be given together")
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

// ledgerAccess reads and writes a ledger.
type ledgerAccess struct {
	store ledger.Store
	// client is set if a server has the ledger: it is read and written through the server.
	client *remote.Client
}

// countedRows is a store whose read and written rows a meter counts.
type countedRows struct {
	ledger.Store
	meter *meter
}

// Scan implements ledger.Store.
func (c countedRows) Scan(ctx context.Context, prefix string, each func(key, value []byte) error) error {
	return c.Store.Scan(ctx, prefix, func(key, value []byte) error {
		c.meter.count(1)
		return each(key, value)
	})
}

// Commit implements ledger.Store.
func (c countedRows) Commit(ctx context.Context, changes ...ledger.Change) error {
	c.meter.count(len(changes))
	return c.Store.Commit(ctx, changes...)
}

// Limit implements ledger.Limiter.
func (c countedRows) Limit() int {
	if limiter, ok := c.Store.(ledger.Limiter); ok {
		return limiter.Limit()
	}
	return math.MaxInt
}

// countedLines is an export whose lines a meter counts.
type countedLines struct {
	io.Reader
	meter *meter
}

// Read implements io.Reader.
func (c countedLines) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	c.meter.count(bytes.Count(into[:n], []byte("\n")))
	return n, err
}

// verify checks the ledger. It shows its progress.
func (a *ledgerAccess) verify(ctx context.Context, s *Streams) (*ledger.Report, error) {
	progress := newMeter(s, "row")
	defer progress.done()
	return ledger.Verify(ctx, countedRows{a.store, progress}, 0)
}

// release returns the allocation, and whether it is released; otherwise the server releases it at its start.
func (a *ledgerAccess) release(ctx context.Context, owner network.Owner) (held network.Allocation, done bool, err error) {
	if a.client != nil {
		held, err = a.client.Release(ctx, owner)
		return held, true, err
	}
	held, err = ledger.MarkReleasing(ctx, a.store, owner)
	return held, false, err
}

func newLedgerExportCommand(s *Streams) *cobra.Command {
	var (
		place    ledgerFlags
		file     string
		leaveOut bool
	)
	command := &cobra.Command{
		Use:   "export [path]",
		Short: "Write a ledger to a file",
		Long: `Write a ledger to a file: as a backup, for another store, or for other tools.

An export has JSON lines: a header, one line for each allocation, each resource in quarantine and each record,
such as a container network, and a checksum. The same ledger gives the same bytes. The server may continue to
run.

Exit status: 0; 1 if rows are missing or inconsistent (see graft ledger verify); 2 if the command failed.`,
		Example: `  # a backup
  graft ledger import example/network/ledger.jsonl --ledger ledger && \
    graft ledger export ledger --output-file copy.jsonl`,
		Args: atMost("one path", 1),
		RunE: func(command *cobra.Command, arguments []string) error {
			ctx := command.Context()
			return place.use(ctx, s, arguments, reads, func(k *ledgerAccess) error { return k.exportTo(ctx, s, file, leaveOut) })
		},
	}
	set := command.Flags()
	set.StringVar(&file, "output-file", "", "file to write instead of standard output; it is written completely or not at all")
	set.BoolVar(&place.oldCopy, "old-copy", false, "read a folder whose file is older than its newest commit, such as a restored copy: "+
		"later allocations are not in the export, and may be allocated twice")
	set.BoolVar(&leaveOut, "leave-out-broken", false, "leave out unreadable rows instead of failing")
	place.addTo(set)
	return command
}

// exportTo writes an export to a file, or to standard output.
func (a *ledgerAccess) exportTo(ctx context.Context, s *Streams, file string, leaveOut bool) (err error) {
	var left func(*ledger.BrokenRow)
	if leaveOut {
		left = func(b *ledger.BrokenRow) { fmt.Fprintf(s.Err, "left out: the row %s: %s\n", b.Key, b.Err) }
	}
	var done archive.Exported
	progress := newMeter(s, "row")
	write := func(out io.Writer) (err error) {
		done, err = archive.Export(ctx, countedRows{a.store, progress}, out, left)
		return err
	}
	if file == "" {
		err = write(s.Out)
	} else {
		err = disk.ReplaceWith(file, 0o600, write)
	}
	progress.done()
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "exported %s\n", amounts(done.Summary))
	if done.Broken > 0 {
		return found{fmt.Sprintf("%s left out: `graft ledger verify` says more", counted(done.Broken, "row that cannot be read was", "rows that cannot be read were"))}
	}
	if !done.Even {
		return found{"the rows of the ledger are inconsistent: `graft ledger verify` lists them; an import of this export writes only the rows of allocations"}
	}
	return nil
}

// amounts describes the size of a ledger or an export.
func amounts(s archive.Summary) string {
	held, quarantined := counted(s.Allocations, "allocation", "allocations"), counted(s.Quarantined, "quarantine", "quarantines")
	if s.Records > 0 {
		return held + ", " + quarantined + ", and " + counted(s.Records, "record", "records")
	}
	return held + " and " + quarantined
}

func newLedgerImportCommand(s *Streams) *cobra.Command {
	place := &ledgerFlags{}
	command := &cobra.Command{
		Use:   "import file",
		Short: "Import an export into an empty ledger",
		Long: `Import an export into an empty ledger, completely or not at all.

The whole export is checked before the first write. No server may use the ledger. If the command is interrupted,
repeat it with the same file.`,
		Example: `  # a new ledger
  graft ledger import example/network/ledger.jsonl --ledger ledger`,
		Args: exactly("an export", 1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return place.importFrom(command.Context(), s, arguments[0])
		},
	}
	place.addTo(command.Flags())
	return command
}

func (f *ledgerFlags) importFrom(ctx context.Context, s *Streams, file string) (err error) {
	if err := f.named(nil); err != nil {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	var k *ledgerAccess
	defer func() {
		if k != nil {
			err = errors.Join(err, k.store.Close())
		}
	}()
	checked, written := newMeter(s, "checked line"), newMeter(s, "written row")
	into := func() (ledger.Store, error) {
		if k, err = f.open(ctx, s, creates); err != nil {
			return nil, err
		}
		return countedRows{k.store, written}, nil
	}
	done, err := archive.Import(ctx, into, countedLines{in, checked})
	checked.done()
	written.done()
	switch {
	case errors.Is(err, ledger.ErrNotEmpty):
		return fmt.Errorf("%w: name an empty one", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(s.Err, "imported %s\n", amounts(done))
	return nil
}

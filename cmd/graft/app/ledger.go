// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

func newLedgerCommand(s *Streams) *cobra.Command {
	return group(s, &cobra.Command{
		Use:   "ledger",
		Short: "Inspect and maintain the ledger of a network provider",
		Long: `Inspect and maintain the ledger of a network provider.

A ledger stores the owners of addresses, VLANs and MAC addresses, in a folder of one server or in etcd. While a
server uses the folder, the commands send their requests to its socket and say so on standard error.`,
		Example: `  # allocations in an export
  graft ledger import example/network/ledger.jsonl --ledger ledger
  graft ledger inspect ledger`,
	}, newLedgerInspectCommand, newLedgerExportCommand, newLedgerImportCommand, newLedgerVerifyCommand, newLedgerReleaseCommand, newLedgerGCCommand)
}

func newLedgerInspectCommand(s *Streams) *cobra.Command {
	var (
		place           ledgerFlags
		query           ledger.Query
		address, output string
		longer          time.Duration
	)
	command := &cobra.Command{
		Use:   "inspect [path]",
		Short: "List allocations",
		Long: `List allocations with their owners, sorted by owner. Filters can be combined.

The path is the folder of a ledger. An allocation is intended before the cloud has bound it, then bound, and
releasing until the cloud has unbound it. A released resource is in quarantine for a while; only its last owner
gets it: --state quarantine lists these, and --address shows them, too.`,
		Example: `  # the owner of an address
  graft ledger import example/network/ledger.jsonl --ledger ledger
  graft ledger inspect ledger --address 10.64.1.2

  # unfinished releases
  graft ledger inspect ledger --state releasing

  # one JSON line for each allocation, for other tools
  graft ledger inspect ledger --pool overlay --owner 'dranet/*' -o json`,
		Args: atMost("one path", 1),
		RunE: func(command *cobra.Command, arguments []string) (err error) {
			if address != "" {
				if query.Address, err = netip.ParseAddr(address); err != nil {
					return fmt.Errorf("--address %s: must be an IP address", address)
				}
			}
			switch {
			case longer < 0:
				return errors.New("--held-longer-than: must not be negative")
			case longer > 0:
				query.Before = time.Now().Add(-longer)
			}
			ctx := command.Context()
			return place.use(ctx, s, arguments, reads, func(k *ledgerAccess) error {
				list := newListing(s.Out, query.State == network.Quarantined)
				list.json = output == "json"
				if err := ledger.Search(ctx, k.store, query, list.add); err != nil {
					return errors.Join(err, list.breakOff())
				}
				return list.end()
			})
		},
	}
	set := command.Flags()
	set.StringVar(&query.Pool, "pool", "", "only this pool")
	set.StringVar(&query.Owner, "owner", "", "only this owner, as <contract>/<key>, or a prefix with a star: 'dranet/*'")
	set.StringVar(&address, "address", "", "only the owner of this address, or the end of its quarantine")
	set.StringVar((*string)(&query.State), "state", "", "only this state: intended, bound, releasing or quarantine")
	set.StringVar(&query.Node, "node", "", "only this node")
	set.StringVar(&query.Namespace, "namespace", "", "only claims or Pods in this namespace")
	set.DurationVar(&longer, "held-longer-than", 0, "only allocations older than this, such as 72h")
	set.StringVarP(&output, "output", "o", "table", "output format: table, json")
	place.addTo(set)
	choices(command, "output", "table", "json")
	choices(command, "state", string(network.Intended), string(network.Bound), string(network.Releasing), string(network.Quarantined))
	return command
}

// listing writes entries of a ledger as they come: there may be millions.
type listing struct {
	out              *bufio.Writer
	table            *tabwriter.Writer
	heads            []string
	json, quarantine bool
	count            int
}

// aligned is the number of rows of a table with the same widths of columns.
const aligned = 1000

func newListing(out io.Writer, quarantine bool, more ...string) *listing {
	l := &listing{out: bufio.NewWriter(out), quarantine: quarantine}
	l.table = tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
	l.heads = append([]string{"OWNER", "POOL", "ADDRESSES", "MAC", "VLAN", "STATE", "SINCE", "HOLDER"}, more...)
	if quarantine {
		l.heads = []string{"QUARANTINE", "UNTIL"}
	}
	return l
}

// quarantined is a resource in quarantine, as JSON.
type quarantined struct {
	ledger.Resource
	Until time.Time `json:"until"`
	// Last is the last owner, as <contract>/<key>.
	Last string `json:"last,omitempty"`
}

func (l *listing) add(e ledger.Entry) error {
	if !l.json {
		return l.addRow(l.cells(e))
	}
	var value any = e.Allocation
	if e.Allocation == nil {
		value = quarantined{e.Resource, e.Until.UTC(), last(e)}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	separator := ",\n"
	if l.count == 0 {
		separator = "[\n"
	}
	l.count++
	_, err = fmt.Fprintf(l.out, "%s%s", separator, raw)
	return err
}

// addRow adds a row to a table. It replaces control characters in callers' names, which could change the terminal.
func (l *listing) addRow(row []string) error {
	if l.count == 0 {
		fmt.Fprintln(l.table, strings.Join(l.heads, "\t"))
	}
	l.count++
	for i, cell := range row {
		row[i] = cmp.Or(strings.Map(printable, cell), "-")
	}
	fmt.Fprintln(l.table, strings.Join(row, "\t"))
	if l.count%aligned == 0 {
		return l.table.Flush()
	}
	return nil
}

// printable returns a printable character, or a question mark.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// last returns the last owner of a resource in quarantine, or an empty string if unknown.
func last(e ledger.Entry) string {
	if e.Last == (network.Owner{}) {
		return ""
	}
	return e.Last.String()
}

// cells returns the columns of an entry: of a list of quarantines, or of allocations with addresses in quarantine.
func (l *listing) cells(e ledger.Entry) []string {
	a, until := e.Allocation, e.Until.UTC().Format(time.RFC3339)
	switch {
	case a == nil && l.quarantine:
		return []string{e.Resource.String(), until}
	case a == nil:
		row := []string{"", e.Resource.Pool, e.Resource.Address.String(), "", "", "quarantine until " + until, "", ""}
		if had := last(e); had != "" {
			row[7] = "last " + had
		}
		return row
	}
	var addresses []string
	for _, address := range a.Addresses {
		addresses = append(addresses, address.String())
	}
	row := []string{a.Owner.String(), a.Pool, strings.Join(addresses, ","), "", "", string(a.State), a.Since.UTC().Format(time.RFC3339), a.Holder.String()}
	if mac := a.HardwareAddr(); len(mac) > 0 {
		row[3] = mac.String()
	}
	if a.VLAN != 0 {
		row[4] = fmt.Sprint(a.VLAN)
	}
	return row
}

// breakOff writes the complete part of an interrupted list.
func (l *listing) breakOff() error { return errors.Join(l.table.Flush(), l.out.Flush()) }

// end writes the remaining rows.
func (l *listing) end() error {
	switch {
	case l.json && l.count == 0:
		fmt.Fprintln(l.out, "[]")
	case l.json:
		fmt.Fprintln(l.out, "\n]")
	case l.count == 0 && l.quarantine:
		fmt.Fprintln(l.out, "Nothing is in quarantine.")
	case l.count == 0:
		fmt.Fprintln(l.out, "No allocations.")
	}
	return l.breakOff()
}

func newLedgerVerifyCommand(s *Streams) *cobra.Command {
	var (
		place  ledgerFlags
		output string
	)
	command := &cobra.Command{
		Use:   "verify [path]",
		Short: "Check a ledger",
		Long: `Check a ledger.

It reads each row and checks that the rows of owners and of their addresses, VLANs and MAC addresses match. The
path is the folder of a ledger. The server may continue to run.

To repair the rows, export the ledger and import it into a new one: the import writes only the rows of allocations.

Exit status: 0; 1 if there are findings; 2 if the ledger could not be read.`,
		Example: `  # check a backup
  graft ledger import example/network/ledger.jsonl --ledger ledger
  graft ledger verify ledger`,
		Args: atMost("one path", 1),
		RunE: func(command *cobra.Command, arguments []string) error {
			ctx := command.Context()
			return place.use(ctx, s, arguments, reads, func(k *ledgerAccess) error {
				report, err := k.verify(ctx, s)
				switch {
				case err != nil:
					return err
				case output == "json":
					err = render.WriteJSON(s.Out, report)
				default:
					writeReport(s, report)
				}
				if err == nil && len(report.Faults) > 0 {
					return found{}
				}
				return err
			})
		},
	}
	set := command.Flags()
	set.StringVarP(&output, "output", "o", "text", "output format: text, json")
	place.addTo(set)
	choices(command, "output", "text", "json")
	return command
}

// writeReport prints a report as text.
func writeReport(s *Streams, report *ledger.Report) {
	for _, f := range report.Faults {
		fmt.Fprintf(s.Out, "%s: %s\n  what to do: %s\n", f.Key, f.Problem, f.Remedy)
	}
	if len(report.Faults) > 0 {
		fmt.Fprintln(s.Out)
	}
	records := ""
	if report.Records > 0 {
		records = ", " + counted(report.Records, "record", "records")
	}
	fmt.Fprintf(s.Out, "%s, %s held, %d in quarantine%s: ", counted(report.Allocations, "allocation", "allocations"),
		counted(report.Held, "resource", "resources"), report.Quarantined, records)
	switch {
	case len(report.Faults) == 0:
		fmt.Fprintln(s.Out, "nothing wrong")
	case report.More:
		fmt.Fprintf(s.Out, "%d faults and more\n", len(report.Faults))
	default:
		fmt.Fprintln(s.Out, counted(len(report.Faults), "fault", "faults"))
	}
}

func newLedgerReleaseCommand(s *Streams) *cobra.Command {
	place := &ledgerFlags{}
	command := &cobra.Command{
		Use:   "release owner",
		Short: "Release the allocations of an owner",
		Long: `Release the allocations of an owner, in an emergency. If the owner still uses an address, it will share it with
the next owner.

graft ledger inspect shows the owners. A running server releases the allocations at once, like a release by the
caller, and unbinds them in the cloud. Without a server they are marked as releasing; the next server that opens
the ledger finishes the release. The command does not ask for confirmation.

Exit status: 0; 1 if the owner has no allocation; 2 if the command failed.`,
		Example: `  # a ledger without a server
  graft ledger import example/network/ledger.jsonl --ledger ledger && \
    graft ledger release dranet/a7b1c0de/pci/0000:27:00.1 --ledger ledger`,
		Args: exactly("an owner", 1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return place.release(command.Context(), s, arguments[0])
		},
	}
	place.addTo(command.Flags())
	return command
}

func (f *ledgerFlags) release(ctx context.Context, s *Streams, text string) error {
	owner, err := network.ParseOwner(text)
	if err != nil {
		return fmt.Errorf("%q: %w, as `graft ledger inspect` shows it", text, err)
	}
	return f.use(ctx, s, nil, writes, func(k *ledgerAccess) error {
		a, done, err := k.release(ctx, owner)
		if errors.Is(err, network.ErrNotHeld) {
			return found{owner.String() + " holds nothing"}
		}
		if err != nil {
			return err
		}
		list := newListing(s.Out, false)
		if err := errors.Join(list.add(ledger.Entry{Allocation: &a, Owner: owner}), list.end()); err != nil {
			return err
		}
		switch {
		case done:
			fmt.Fprintln(s.Err, "released")
		case len(f.endpoints) > 0:
			fmt.Fprintln(s.Err, "marked for release: a server with this ledger releases it when it starts, also in the cloud")
		default:
			fmt.Fprintln(s.Err, "marked for release: the next server that opens the ledger releases it, also in the cloud")
		}
		return nil
	})
}

func newLedgerGCCommand(s *Streams) *cobra.Command {
	place, dryRun := &ledgerFlags{forServersAlone: true}, false
	command := &cobra.Command{
		Use:   "gc",
		Short: "Release the allocations of deleted claims and Pods",
		Long: `Release the allocations of deleted claims and Pods.

The command asks a running server with a Kubernetes client, through its socket. It lists each allocation with
the reason. --dry-run releases nothing; its exit status is 1 if there are such allocations.`,
		Example: `  # allocations that would be released (there is no server here)
  graft ledger gc --dry-run --server unix:///run/graft/ledger.sock  # exit 2`,
		Args: atMost("no argument", 0),
		RunE: func(command *cobra.Command, _ []string) error { return place.gc(command.Context(), s, dryRun) },
	}
	set := command.Flags()
	set.BoolVar(&dryRun, "dry-run", false, "release nothing")
	place.addTo(set)
	return command
}

func (f *ledgerFlags) gc(ctx context.Context, s *Streams, dryRun bool) (err error) {
	if err := f.named(nil); err != nil {
		return err
	}
	address := f.server
	if address == "" {
		if address, err = addressOf(f.path); err != nil {
			return err
		}
	}
	client, err := remote.Dial(address)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	list := newListing(s.Out, false, "REASON", "RELEASED")
	err = client.GC(ctx, dryRun, func(suspect gc.Suspect) error {
		released := "no"
		if suspect.Freed {
			released = "yes"
		}
		return list.addRow(append(list.cells(ledger.Entry{Allocation: &suspect.Allocation}), string(suspect.Reason), released))
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no server listens at %s, and only a server can check which owners exist: start graft-network-provider, or name its socket with --server", address)
	}
	if err != nil {
		return errors.Join(err, list.breakOff())
	}
	if list.count == 0 {
		fmt.Fprintln(s.Out, "All owners exist.")
		return nil
	}
	if err := list.end(); err != nil {
		return err
	}
	if dryRun {
		return found{}
	}
	return nil
}

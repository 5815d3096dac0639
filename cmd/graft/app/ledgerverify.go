// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ledgerVerifyOptions are the flags of graft ledger verify.
type ledgerVerifyOptions struct {
	place          ledgerFlags
	repair, dryRun bool
	output         string
}

func newLedgerVerifyCommand(s *Streams) *cobra.Command {
	o := &ledgerVerifyOptions{}
	command := &cobra.Command{
		Use:   "verify [path]",
		Short: "Check a ledger, and repair it",
		Long: `Check a ledger, and repair it.

It reads each row and checks that the rows of owners and of their addresses, VLANs and MAC addresses match. The path is the folder
of a ledger or an export. The server may continue to run.

--repair repairs findings with a single possible fix, such as the row of an address without an owner; with --dry-run it only prints
them. No server may use the folder.

Exit status: 0; 1 if there are findings; 2 if the ledger could not be read.`,
		Example: `  # check a backup
  graft ledger verify example/network/ledger.jsonl

  # repairs of a ledger, without writing
  graft ledger import example/network/ledger.jsonl --ledger ledger && \
    graft ledger verify ledger --repair --dry-run`,
		Args: atMost("one path", 1),
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command.Context(), s, arguments) },
	}
	set := command.Flags()
	set.SortFlags = false
	set.BoolVar(&o.repair, "repair", false, "repair findings with a single possible fix")
	set.BoolVar(&o.dryRun, "dry-run", false, "with --repair: print the repairs without writing")
	set.StringVarP(&o.output, "output", "o", "text", "output format: text, json")
	o.place.addTo(command, set)
	_ = command.RegisterFlagCompletionFunc("output", fixed("text", "json"))
	return command
}

func (o *ledgerVerifyOptions) run(ctx context.Context, s *Streams, arguments []string) (err error) {
	if err := choose(&o.output, o.output, "text", "json"); err != nil {
		return fmt.Errorf("--output %s: %w", o.output, err)
	}
	if o.dryRun && !o.repair {
		return errors.New("--dry-run is for --repair")
	}
	if err := o.place.named(arguments); err != nil {
		return err
	}
	does := looks
	if o.repair && !o.dryRun {
		does = forSure
	}
	k, err := o.place.open(ctx, s, does)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	progress := newMeter(s, "row")
	report, err := k.verify(ctx, progress.count)
	progress.done()
	if err != nil {
		return err
	}
	if does == forSure {
		return o.repairRows(ctx, s, k.(*opened).store, report)
	}
	return o.write(s, report)
}

// repairRows repairs until nothing changes, and reports the remaining findings.
func (o *ledgerVerifyOptions) repairRows(ctx context.Context, s *Streams, store ledger.Store, report *ledger.Report) error {
	k := &opened{store: store}
	for {
		count, err := ledger.Repair(ctx, store, report)
		if err != nil {
			return err
		}
		if count == 0 {
			return o.write(s, report)
		}
		for _, f := range report.Faults {
			if f.Repairable {
				fmt.Fprintf(s.Err, "fixed %s: %s\n", f.Key, f.Problem)
			}
		}
		if report, err = k.verify(ctx, nil); err != nil {
			return err
		}
	}
}

func (o *ledgerVerifyOptions) write(s *Streams, report *ledger.Report) error {
	if o.output == "json" {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(report); err != nil {
			return err
		}
	} else {
		o.text(s, report)
	}
	if len(report.Faults) > 0 {
		return found{}
	}
	return nil
}

func (o *ledgerVerifyOptions) text(s *Streams, report *ledger.Report) {
	fixable := 0
	for _, f := range report.Faults {
		fmt.Fprintf(s.Out, "%s: %s\n", f.Key, f.Problem)
		how := "what to do"
		if f.Repairable {
			fixable++
			if how = "--repair fixes it"; o.dryRun {
				how = "would be fixed"
			}
		}
		fmt.Fprintf(s.Out, "  %s: %s\n", how, f.Remedy)
	}
	if len(report.Faults) > 0 {
		fmt.Fprintln(s.Out)
	}
	records := ""
	if report.Records > 0 {
		records = ", " + plural(report.Records, "record", "records")
	}
	fmt.Fprintf(s.Out, "%s, %s held, %s resting%s: ", plural(report.Allocations, "allocation", "allocations"),
		plural(report.Held, "thing", "things"), plural(report.Resting, "thing", "things"), records)
	switch {
	case len(report.Faults) == 0:
		fmt.Fprintln(s.Out, "nothing wrong")
		return
	case report.More:
		fmt.Fprintf(s.Out, "%d faults and more", len(report.Faults))
	default:
		fmt.Fprint(s.Out, plural(len(report.Faults), "fault", "faults"))
	}
	if fixable > 0 {
		fmt.Fprintf(s.Out, "; %d fixable with --repair", fixable)
	}
	fmt.Fprintln(s.Out)
}

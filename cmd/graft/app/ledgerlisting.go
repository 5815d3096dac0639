// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// listing writes entries of a ledger as they come: there may be millions.
type listing struct {
	out     *bufio.Writer
	form    string
	resting bool
	count   int

	// rows are the first ones of a table, which say how wide its columns are; widths are known once they are written.
	rows   [][]string
	widths []int
}

// firstRows are how many rows say how wide columns are.
const firstRows = 1000

func newListing(out io.Writer, form string, resting bool) *listing {
	l := &listing{out: bufio.NewWriter(out), form: form, resting: resting}
	l.rows = [][]string{{"OWNER", "POOL", "ADDRESSES", "MAC", "VLAN", "STATE", "SINCE", "HOLDER"}}
	if resting {
		l.rows = [][]string{{"RESTING", "UNTIL"}}
	}
	return l
}

// rests is a thing that rests, as JSON.
type rests struct {
	ledger.Thing
	Until time.Time `json:"until"`
	// Last is who had it, as <contract>/<key>.
	Last string `json:"last,omitempty"`
}

func (l *listing) add(e ledger.Entry) error {
	if l.form == "table" {
		if e.Allocation == nil && !l.resting {
			return l.addRow(restCells(e))
		}
		return l.addRow(cells(e))
	}
	l.count++
	var value any = e.Allocation
	if e.Allocation == nil {
		value = rests{e.Thing, e.Until.UTC(), last(e)}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if l.form == "json" {
		separator := ",\n"
		if l.count == 1 {
			separator = "[\n"
		}
		_, err = fmt.Fprintf(l.out, "%s%s", separator, raw)
		return err
	}
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(l.out, "- %s\n", strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\n", "\n  "))
	return err
}

// addRow adds a row to a table. It replaces control characters in callers' names, which could change the terminal.
func (l *listing) addRow(row []string) error {
	l.count++
	for i, cell := range row {
		row[i] = strings.Map(printable, cell)
	}
	if l.rows = append(l.rows, row); l.widths != nil || len(l.rows) > firstRows {
		return l.flush()
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

// last returns the last owner of a resource in cooldown, or an empty string if unknown.
func last(e ledger.Entry) string {
	if e.Last == (network.Owner{}) {
		return ""
	}
	return e.Last.String()
}

// restCells returns the columns of an address in cooldown in a list of allocations.
func restCells(e ledger.Entry) []string {
	row := []string{"", e.Thing.Pool, e.Thing.Address.String(), "", "", "resting until " + e.Until.UTC().Format(time.RFC3339), "", ""}
	if had := last(e); had != "" {
		row[7] = "last " + had
	}
	return row
}

// cells returns the columns of an entry.
func cells(e ledger.Entry) []string {
	a := e.Allocation
	if a == nil {
		return []string{e.Thing.String(), e.Until.UTC().Format(time.RFC3339)}
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

// flush writes rows that wait.
func (l *listing) flush() error {
	if l.widths == nil && len(l.rows) > 0 {
		l.widths = make([]int, len(l.rows[0]))
		for _, row := range l.rows {
			for i, cell := range row {
				l.widths[i] = max(l.widths[i], len(cell))
			}
		}
	}
	for _, row := range l.rows {
		var line strings.Builder
		for i, cell := range row {
			if cell == "" {
				cell = "-"
			}
			fmt.Fprintf(&line, "%-*s  ", l.widths[i], cell)
		}
		if _, err := fmt.Fprintln(l.out, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	l.rows = l.rows[:0]
	return nil
}

// breakOff writes the complete part of an interrupted list.
func (l *listing) breakOff() error {
	if l.count > 0 && l.form == "table" {
		if err := l.flush(); err != nil {
			return err
		}
	}
	return l.out.Flush()
}

// end writes the remaining rows.
func (l *listing) end() error {
	switch {
	case l.form == "json" && l.count == 0:
		fmt.Fprintln(l.out, "[]")
	case l.form == "json":
		fmt.Fprintln(l.out, "\n]")
	case l.form == "yaml" && l.count == 0:
		fmt.Fprintln(l.out, "[]")
	case l.form == "table" && l.count == 0 && l.resting:
		fmt.Fprintln(l.out, "Nothing rests.")
	case l.form == "table" && l.count == 0:
		fmt.Fprintln(l.out, "No allocation is there.")
	case l.form == "table":
		if err := l.flush(); err != nil {
			return err
		}
	}
	return l.out.Flush()
}

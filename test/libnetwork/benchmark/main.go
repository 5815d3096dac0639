// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command benchmark measures how many endpoints a second the controller of Docker Engine 28 makes, joins, leaves and
// deletes: on networks of Graft, and on Docker's own bridges in the same run. docs/benchmarks.md explains the rows and
// keeps a table. Nothing here passes or fails by time.
//
// It runs in namespaces of its own, as root or not. Neither side has packet filters: Graft has none at all, and
// Docker's are off, as with dockerd --iptables=false. Names are resolved by neither. Enter at main; what is measured
// stands in rows.go.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

func main() {
	var o options
	held := flag.String("held", "10,100,1000", "endpoints that each network has already")
	callers := flag.String("callers", "1,16", "how many endpoints are made at a time")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds in which the networks take turns")
	flag.IntVar(&o.batch, "batch", 16, "endpoints that are made and removed in a turn")
	flag.StringVar(&o.provider, "provider", "bin/graft-network-provider", "program to measure")
	flag.StringVar(&o.engine, "engine", ".cache/bin/libnetwork/docker28", "program with Docker's controller")
	flag.StringVar(&o.folder, "folder", os.TempDir(), "folder on the disk that is to be written to")
	flag.Parse()
	var err error
	if o.held, err = numbers(*held); err == nil {
		o.callers, err = numbers(*callers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	part, status := namespace.Enter("benchmark")
	if part != "" {
		if err := o.run(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// options select the measurements and their tools.
type options struct {
	held, callers            []int
	rounds, batch            int
	provider, engine, folder string
}

// numbers reads numbers with commas between them.
func numbers(text string) (all []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || number < 1 {
			return nil, fmt.Errorf("%q is no number above 0", part)
		}
		all = append(all, number)
	}
	return all, nil
}

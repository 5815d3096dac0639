// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the tests got as what they want")

// exchange is a request and its answer, or something that happens between two requests.
type exchange struct {
	comments []string
	// request is the line with method and path; header has the lines after it.
	request string
	header  []string
	body    string
	// answer is the line with the status, and headers that matter.
	answer string
	want   string
	// event is an event, such as "wait 30s", or a query, such as "asked" or "held", with the expected result in want.
	event string
}

// TestReplay replays captured and invented requests of Spiderpool in testdata/<case>.http. A line with > is a request
// or one of its headers, one with < an answer, and one with = an event; the next lines are the body or the expected
// state. VLANs are numbered for each interface of a node, because they are chosen at random.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.http"))
	if err != nil || len(files) < 10 {
		t.Fatalf("only %d cases were found (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".http"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			exchanges := parseExchanges(string(content))
			w, names := newWorld(t), vlans{}
			for i := range exchanges {
				w.replay(t, &exchanges[i])
				exchanges[i].want = names.number(exchanges[i].want)
			}
			got := printExchanges(exchanges)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(content), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s; -update writes it (-want +got):\n%s", file, diff)
			}
		})
	}
}

// replay executes an exchange, and replaces its expected result with the actual one.
func (w *world) replay(t *testing.T, e *exchange) {
	t.Helper()
	name, argument, _ := strings.Cut(e.event, " ")
	switch name {
	case "":
		w.exchange(t, e)
	case "wait":
		d, err := time.ParseDuration(argument)
		if err != nil {
			t.Fatal(err)
		}
		w.pass(d)
	case "asked":
		w.found(e, w.fabric.asked)
	case "held":
		w.found(e, w.held)
	default:
		t.Fatalf("unknown event %q", e.event)
	}
}

// found waits until something is as it is wanted, since releases go on in the background.
func (w *world) found(e *exchange, look func() []string) {
	const patience, moment = time.Minute, 20 * time.Millisecond
	begin := time.Now()
	var all []string
	for ; ; time.Sleep(time.Millisecond) {
		if e.event == "held" {
			all = nil
		}
		all = append(all, look()...)
		if strings.HasSuffix(e.event, "in any order") {
			slices.Sort(all)
		}
		got, passed := strings.Join(all, "\n"), time.Since(begin)
		if *update && passed > 10*moment || !*update && (passed > patience || passed > moment && got == e.want) {
			e.want = got
			return
		}
	}
}

func (w *world) exchange(t *testing.T, e *exchange) {
	t.Helper()
	method, path, _ := strings.Cut(e.request, " ")
	header := http.Header{}
	for _, line := range e.header {
		name, value, _ := strings.Cut(line, ": ")
		header.Add(name, value)
	}
	recorder := w.send(method, path, header, e.body)
	e.answer = strconv.Itoa(recorder.Code)
	if after := recorder.Header().Get("Retry-After"); after != "" {
		e.answer += " Retry-After: " + after
	}
	e.want = strings.TrimSpace(recorder.Body.String())
	if kind := recorder.Header().Get("Content-Type"); kind == "application/json" {
		var out bytes.Buffer
		if err := json.Indent(&out, []byte(e.want), "", "  "); err != nil {
			t.Fatal(err)
		}
		e.want = out.String()
	}
}

// vlans are the numbers that stand for VLANs, by node, interface and VLAN.
type vlans map[string]int

// number writes numbers in the place of the VLANs of an answer. The name of the node and the interface stand in front of each.
func (v vlans) number(answer string) string {
	lines := strings.Split(answer, "\n")
	var node, parent string
	for i, line := range lines {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimSuffix(line, ",")), ": ")
		switch name {
		case `"nodeName"`:
			node = value
		case `"parentNicMac"`:
			parent = value
		case `"vlanId"`, `"vlanID"`:
			if value == "0" {
				continue
			}
			trunk := node + parent
			if v[trunk+value] == 0 {
				v[trunk]++
				v[trunk+value] = v[trunk]
			}
			lines[i] = strings.Replace(line, value, strconv.Itoa(v[trunk+value]), 1)
		}
	}
	return strings.Join(lines, "\n")
}

func parseExchanges(text string) []exchange {
	var all []exchange
	var into *string
	lines := bufio.NewScanner(strings.NewReader(text))
	var comments []string
	for lines.Scan() {
		line := lines.Text()
		mark, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "#"):
			comments = append(comments, line)
			continue
		case mark == ">" && len(all) > 0 && len(comments) == 0 && into == &all[len(all)-1].body:
			all[len(all)-1].header = append(all[len(all)-1].header, rest)
		case mark == ">":
			all = append(all, exchange{comments: comments, request: rest})
			into = &all[len(all)-1].body
		case mark == "<":
			all[len(all)-1].answer = rest
			into = &all[len(all)-1].want
		case mark == "=":
			all = append(all, exchange{comments: comments, event: rest})
			into = &all[len(all)-1].want
		case into != nil && line != "":
			*into = strings.TrimPrefix(*into+"\n"+line, "\n")
			continue
		}
		comments = nil
	}
	return all
}

func printExchanges(all []exchange) string {
	var out strings.Builder
	block := func(text string) {
		if text != "" {
			fmt.Fprintln(&out, text)
		}
	}
	for i, e := range all {
		if i > 0 {
			fmt.Fprintln(&out)
		}
		block(strings.Join(e.comments, "\n"))
		if e.event != "" {
			fmt.Fprintf(&out, "= %s\n", e.event)
			block(e.want)
			continue
		}
		fmt.Fprintf(&out, "> %s\n", e.request)
		for _, line := range e.header {
			fmt.Fprintf(&out, "> %s\n", line)
		}
		block(e.body)
		fmt.Fprintf(&out, "< %s\n", e.answer)
		block(e.want)
	}
	return out.String()
}

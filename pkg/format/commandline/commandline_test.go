// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

func parse(t testing.TB, raw string) *document.Document {
	t.Helper()
	d, err := document.Parse([]byte(raw))
	must(t, err)
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func set(t testing.TB, n *document.Node, key, raw string) {
	t.Helper()
	_, err := n.Set(key, []byte(raw))
	must(t, err)
}

// found is a flag with its place.
type found struct {
	Name, Value string
	Bare        bool
	List        string
	Index       int
}

func TestCommandLineRead(t *testing.T) {
	type read struct {
		Program []string
		Flags   []found
	}
	tests := []struct {
		name, in string
		want     read
	}{
		{
			name: "all forms, over both lists", in: `{"command":["/bin/x","run","--a=1","-b","2","--c"],"args":["v","--d","","-e=x=y","--a="]}`,
			want: read{[]string{"/bin/x", "run"}, []found{
				{Name: "a", Value: "1", List: "command", Index: 2},
				{Name: "b", Value: "2", List: "command", Index: 3},
				{Name: "c", Value: "v", List: "command", Index: 5},
				{Name: "d", Bare: true, List: "args", Index: 1},
				{Name: "e", Value: "x=y", List: "args", Index: 3},
				{Name: "a", List: "args", Index: 4},
			}},
		},
		{
			name: "names as Kubernetes compares them", in: `{"args":["--feature_gates=a_b"]}`,
			want: read{nil, []found{{Name: "feature-gates", Value: "a_b", List: "args"}}},
		},
		{name: "finds no flag in a null command", in: `{"command":null}`},
		{
			name: "the flags end", in: `{"command":["x","--a","--","--b"]}`,
			want: read{[]string{"x"}, []found{{Name: "a", Bare: true, List: "command", Index: 1}}},
		},
		{
			name: "after an init program", in: `{"command":["/sbin/tini","-s","--","x"],"args":["--b","-"]}`,
			want: read{[]string{"/sbin/tini", "-s", "--", "x"}, []found{{Name: "b", Bare: true, List: "args", Index: 0}}},
		},
		{
			name: "decodes escapes in a value", in: `{"args":["--a=\u00e9\n"]}`,
			want: read{nil, []found{{Name: "a", Value: "é\n", List: "args"}}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := parse(t, test.in)
			c, err := CommandLineOf(d.Root())
			must(t, err)
			got := read{Program: c.Program()}
			for _, f := range c.Flags {
				at := c.Tokens[f.At]
				got.Flags = append(got.Flags, found{f.Name, f.Value, f.Form == Bare, lists[at.list], int(at.Index)})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommandLineErrors(t *testing.T) {
	tests := []struct {
		name, in string
		want     error
	}{
		{"rejects a command line for a shell", `{"command":["/bin/sh","-c","x --a=1"]}`, ErrShell},
		{"shell over both lists", `{"command":["sh"],"args":["-ec","x --a=1"]}`, ErrShell},
		{"shell after other commands", `{"command":["/usr/bin/env","bash","-e","-c","x"]}`, ErrShell},
		{"shell of busybox", `{"command":["busybox","sh","-c","x"]}`, ErrShell},
		{"shell after an init program", `{"command":["tini","--","sh","-c","x"]}`, ErrShell},
		{"accepts a script that a shell runs", `{"command":["sh","/run.sh","--config=c"]}`, nil},
		{"rejects an argument that is a number", `{"args":["--a",1]}`, ErrNotString},
		{"rejects a command that is a string", `{"command":"x --a"}`, ErrNotString},
		{"rejects a container that is no object", `[]`, document.ErrKind},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := CommandLineOf(parse(t, test.in).Root()); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	if _, err := CommandLineOf(nil); !errors.Is(err, document.ErrKind) {
		t.Errorf("absent container: %v", err)
	}
}

func TestCommandLineEdit(t *testing.T) {
	setting := func(name string, values ...string) func(*CommandLine) error {
		return func(c *CommandLine) error { return c.Set(name, values...) }
	}
	setBare := func(name string) func(*CommandLine) error {
		return func(c *CommandLine) error { return c.SetBare(name) }
	}
	remove := func(name string) func(*CommandLine) error {
		return func(c *CommandLine) error { return c.Remove(name) }
	}
	tests := []struct {
		name, in string
		edit     func(*CommandLine) error
		want     string
	}{
		{"replaces a value in place", `{"command":["x","--a=1","--b"]}`, setting("a", "2"), `{"command":["x","--a=2","--b"]}`},
		{"keeps the spelling of an equal value", `{"command":["x","--a","1","-b=2"]}`, setting("a", "1"), `{"command":["x","--a","1","-b=2"]}`},
		{"spaced form kept", `{"command":["x","--a","1"]}`, setting("a", "2"), `{"command":["x","--a","2"]}`},
		{"spaced form over the border", `{"command":["x","--a"],"args":["1"]}`, setting("a", "2"), `{"command":["x","--a"],"args":["2"]}`},
		{"spaced form cannot hold it", `{"command":["x","--a","1","--b"]}`, setting("a", "-1"), `{"command":["x","--a=-1","--b"]}`},
		{"single dash and spelling kept", `{"command":["x","-a_b=1"]}`, setting("a-b", "2"), `{"command":["x","-a_b=2"]}`},
		{"bare gets a value", `{"command":["x","--a","--b"]}`, setting("a", ""), `{"command":["x","--a=","--b"]}`},
		{"new at the end of args", `{"command":["x","--a"],"args":["--b",""]}`, setting("c", "1"), `{"command":["x","--a"],"args":["--b","","--c=1"]}`},
		{"new at the end of command", `{"command":["x","--a"],"args":[]}`, setting("c", "1"), `{"command":["x","--a","--c=1"],"args":[]}`},
		{"new in an empty command line", `{"command":[]}`, setting("c", "1"), `{"command":[],"args":["--c=1"]}`},
		{"new in front of the end of flags", `{"command":["x","--a","--"]}`, setting("c", "1"), `{"command":["x","--a","--c=1","--"]}`},
		{"fewer values, equal ones are kept", `{"args":["--a=1","","--a","2","--b","--a=3"]}`, setting("a", "1", "3"), `{"args":["--a=1","","--b","--a=3"]}`},
		{"appends further values of a repeated flag", `{"args":["--a=1","--b"]}`, setting("a", "0", "1", "2"), `{"args":["--a=0","--b","--a=1","--a=2"]}`},
		{"no value removes the flag", `{"args":["--a=1","--b"]}`, setting("a"), `{"args":["--b"]}`},
		{"removed with its value", `{"command":["x","--a"],"args":["1","--b","--a=2"]}`, remove("a"), `{"command":["x"],"args":["--b"]}`},
		{"keeps the command line without the flag", `{"args":["--b"]}`, remove("a"), `{"args":["--b"]}`},
		{"blank entries stay", `{"args":["--a","","--b"]}`, remove("a"), `{"args":["","--b"]}`},
		{"replaces a value by a bare flag", `{"args":["--a=1","--b","--a"]}`, setBare("a"), `{"args":["--b","--a"]}`},
		{"bare in place", `{"args":["--a","1","--b"]}`, setBare("a"), `{"args":["--a","--b"]}`},
		{"bare and new", `{"args":["--b"]}`, setBare("a"), `{"args":["--b","--a"]}`},
		{"escapes of other flags stay", `{"args":["--b=\u00e9","--a=1"]}`, setting("a", "é"), `{"args":["--b=\u00e9","--a=é"]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := parse(t, test.in)
			c, err := CommandLineOf(d.Root())
			must(t, err)
			for range 2 {
				must(t, test.edit(c))
				if diff := cmp.Diff(test.want, string(d.Bytes())); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
			if test.in == test.want && d.Edits() != 0 {
				t.Error("an edit was recorded")
			}
			checkTokens(t, c)
		})
	}
}

// checkTokens compares the tokens that the edits left with the document.
func checkTokens(t *testing.T, c *CommandLine) {
	t.Helper()
	again, err := CommandLineOf(c.container)
	must(t, err)
	if diff := cmp.Diff(again.Tokens, c.Tokens, cmp.AllowUnexported(Token{})); len(again.Tokens) > 0 && diff != "" {
		t.Errorf("tokens are not those of the document:\n%s", diff)
	}
	if diff := cmp.Diff(again.Flags, c.Flags, cmp.AllowUnexported(Flag{})); len(again.Flags) > 0 && diff != "" {
		t.Errorf("flags are not those of the document:\n%s", diff)
	}
}

func TestCommandLineRefused(t *testing.T) {
	tests := []struct {
		name, in string
		edit     func(*CommandLine) error
		want     error
	}{
		{"argument would become a value", `{"args":["--b","--a=1","stray"]}`, func(c *CommandLine) error { return c.Remove("a") }, ErrAmbiguous},
		{"argument would become the value", `{"args":["--a=1","stray"]}`, func(c *CommandLine) error { return c.SetBare("a") }, ErrAmbiguous},
		{"name with dashes", `{}`, func(c *CommandLine) error { return c.Set("--a", "1") }, ErrFlag},
		{"name with a value", `{}`, func(c *CommandLine) error { return c.Set("a=b", "1") }, ErrFlag},
		{"rejects a flag without a name", `{}`, func(c *CommandLine) error { return c.Remove("") }, ErrFlag},
		{"list that became invalid", `{}`, func(c *CommandLine) error {
			if _, err := c.container.Set("args", []byte(`[1]`)); err != nil {
				return err
			}
			return c.Set("a", "1")
		}, ErrNotString},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := parse(t, test.in)
			c, err := CommandLineOf(d.Root())
			must(t, err)
			if err := test.edit(c); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if test.want == ErrAmbiguous && d.Changed() {
				t.Errorf("changed to %s", d.Bytes())
			}
		})
	}
}

func TestCommandLineOfRemovedContainer(t *testing.T) {
	d := parse(t, `{"c":{}}`)
	c, err := CommandLineOf(d.Root().Get("c"))
	must(t, err)
	d.Root().Remove("c")
	if err := c.Set("a", "1"); !errors.Is(err, document.ErrGone) {
		t.Errorf("got %v", err)
	}
}

func TestCommandLineSeesOtherEdits(t *testing.T) {
	d := parse(t, `{"args":["--a=1"]}`)
	c, err := CommandLineOf(d.Root())
	must(t, err)
	set(t, d.Root(), "args", `["--b","--c=2"]`)
	if diff := cmp.Diff([]string{"b", "c"}, c.Names()); diff != "" || c.Has("a") {
		t.Error(diff)
	}
	must(t, c.Set("c", "3"))
	want := `[{"op":"replace","path":"/args","value":["--b","--c=3"]}]`
	if diff := cmp.Diff(want, string(d.Patch())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"3"}, c.Values("c")); diff != "" {
		t.Error(diff)
	}
}

func TestDifferences(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"finds no change between two spellings":      {`["p","--a=1","--b"]`, `["p","--a","1","--b="]`, nil},
		"finds a changed value":                      {`["--a=1","--b=2","--c=3"]`, `["--a=1","--b=9","--c=3"]`, []string{"b"}},
		"added at the end":                           {`["--a=1"]`, `["--a=1","--b=2"]`, []string{"b"}},
		"added and changed":                          {`["--a=1","--b=2"]`, `["--a=2","--b=2","--c=3"]`, []string{"a", "c"}},
		"finds a removed flag and a changed one":     {`["--a=1","--b=2","--c=3"]`, `["--a=1","--c=4"]`, []string{"b", "c"}},
		"ignores another order":                      {`["--a=1","--b=2","--c=3"]`, `["--c=3","--a=1","--b=2"]`, nil},
		"one of several":                             {`["--a=1","--a=2","--a=3"]`, `["--a=1","--a=3"]`, []string{"a"}},
		"several in order":                           {`["--a=1","--b=1","--a=2"]`, `["--a=2","--b=1","--a=1"]`, []string{"a"}},
		"one from the middle":                        {`["--a=1","--b=1","--a=2","--c=1"]`, `["--a=1","--b=1","--c=1"]`, []string{"a"}},
		"finds flags that were replaced":             {`["--a=1"]`, `["--b=1"]`, []string{"a", "b"}},
		"finds all flags of an emptied command line": {`["--a=1"]`, `[]`, []string{"a"}},
		"ignores underscores and single dashes":      {`["--a-b=1"]`, `["-a_b=1"]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var lines [2]*CommandLine
			for i, args := range []string{test.before, test.after} {
				d, err := document.Parse([]byte(`{"args":` + args + `}`))
				must(t, err)
				lines[i], err = CommandLineOf(d.Root())
				must(t, err)
			}
			if diff := cmp.Diff(test.want, lines[0].Differences(&lines[1].FlagList)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRelease checks that a command line in the memory of a released one has its own flags only, and that strings of the
// released one stay valid.
func TestRelease(t *testing.T) {
	first, err := CommandLineOf(parse(t, `{"command":["/bin/x"],"args":["--a=1","--b=2","--c"]}`).Root())
	must(t, err)
	must(t, first.Set("a", "3", "4"))
	values, names := first.Values("a"), first.Names()
	first.Release()
	d := parse(t, `{"command":["/bin/y"],"args":["--d=5"]}`)
	for range 10 { // the pool may return another one
		second, err := CommandLineOf(d.Root())
		must(t, err)
		if diff := cmp.Diff([]string{"d"}, second.Names()); diff != "" || second.Has("a") || second.End != 2 {
			t.Errorf("the next command line ends at %d and has these flags (-want +got):\n%s", second.End, diff)
		}
		second.Release()
	}
	set(t, d.Root(), "args", `["--d=6"]`)
	third, err := CommandLineOf(d.Root())
	must(t, err)
	if diff := cmp.Diff([]string{"6"}, third.Values("d")); diff != "" {
		t.Errorf("after an edit of the container (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"3", "4"}, {"a", "b", "c"}}, [][]string{values, names}); diff != "" {
		t.Errorf("the strings of the released command line (-want +got):\n%s", diff)
	}
}

// TestReleaseLong checks that a very long command line is not kept: it would stay in memory, and every later use would clear it.
func TestReleaseLong(t *testing.T) {
	long := make([]string, mostPooled+1)
	for i := range long {
		long[i] = fmt.Sprintf(`"--f%d"`, i)
	}
	parsed, err := document.Parse([]byte(`{"command":[` + strings.Join(long, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	line, err := CommandLineOf(parsed.Root())
	if err != nil {
		t.Fatal(err)
	}
	line.Release()
	if kept, _ := pool.Get().(*CommandLine); kept == line {
		t.Error("the long command line is in the pool")
	}
}

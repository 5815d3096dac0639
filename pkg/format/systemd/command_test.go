// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
)

func TestCommand(t *testing.T) {
	tests := map[string]struct {
		value   string
		program []string
		flags   []string
	}{
		"reads all forms of flags":                  {"/k --a=1 --b 2 --c -d_e=3 --a= --f", []string{"/k"}, []string{"a=1", "b=2", "c", "d-e=3", "a=", "f"}},
		"skips the prefixes of the program":         {"-+!!:@/k -bash --a=1", []string{"/k", "-bash"}, []string{"a=1"}},
		"skips a dash before the program":           {"-/k --a", []string{"/k"}, []string{"a"}},
		"removes quotes":                            {`/k "--a=x y" --b='1 "2"' --c "3"'4' --d=""`, []string{"/k"}, []string{"a=x y", `b=1 "2"`, "c=34", "d="}},
		"decodes escapes":                           {`/k --a=\x41\102\u00e9\s\t\\ --b=\q\" "--c=\"\'"`, []string{"/k"}, []string{"a=AB\u00e9 \t\\", `b=\q"`, `c="'`}},
		"keeps specifiers and variables":            {"/k --a=%H --b=%% --c=$$ --d=${N} --e ${N}", []string{"/k"}, []string{"a=%H", "b=%%", "c=$$", "d=${N}", "e=${N}"}},
		"keeps variables that are split into words": {"/k $A --a $B --b=1 $C", []string{"/k", "$A"}, []string{"a", "b=1"}},
		"no variables with :":                       {":/k --a $B", []string{"/k"}, []string{"a=$B"}},
		"joins continued lines and skips comments":  {"/k \\\n  # --x=0 \\\n  --a=1 \\\n ; --y \\\n\t--b \\\n 2", []string{"/k"}, []string{"a=1", "b=2"}},
		"quote over lines":                          {"/k --a='1 \\\n # no\\\n 2'", []string{"/k"}, []string{"a=1   2"}},
		"joins continued lines without indentation": {"/k\\\n--a=1\\\n--b", []string{"/k"}, []string{"a=1", "b"}},
		"hash is an argument":                       {"/k --a #b \\\n --c", []string{"/k"}, []string{"a=#b", "c"}},
		"keeps an escaped or quoted semicolon":      {`/k --a \; --b ";"`, []string{"/k"}, []string{"a=;", "b=;"}},
		"end of the flags":                          {"/k --a -- --b", []string{"/k"}, []string{"a"}},
		"begins on the next":                        {"\\\n  /k \\\n --a", []string{"/k"}, []string{"a"}},
		"keeps a backslash before the end":          {`/k --a=1\ `, []string{"/k"}, []string{`a=1\`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := unitOf(t, "[Service]\nExecStart="+tt.value+"\n").Command("Service", "ExecStart")
			must(t, err)
			if diff := cmp.Diff(tt.program, c.Program()); diff != "" {
				t.Errorf("program:\n%s", diff)
			}
			if diff := cmp.Diff(tt.flags, spell(c)); diff != "" {
				t.Errorf("flags:\n%s", diff)
			}
		})
	}
}

// spell returns all flags in their order.
func spell(c *Command) []string {
	var out []string
	for _, f := range c.Flags {
		if f.Form == commandline.Bare {
			out = append(out, f.Name)
		} else {
			out = append(out, f.Name+"="+f.Value)
		}
	}
	return out
}

func TestCommandErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"rejects a unit without the section":  {"[Unit]\nExecStart=/k\n", ErrNoCommand},
		"rejects a section without a command": {"[Service]\n", ErrNoCommand},
		"rejects a command that is reset":     {"[Service]\nExecStart=/k\nExecStart=\n", ErrNoCommand},
		"rejects two commands":                {"[Service]\nExecStart=/k\n[Unit]\n[Service]\nExecStart=/l\n", ErrSeveralCommands},
		"rejects two commands on one line":    {"[Service]\nExecStart=/k --a ; /l\n", ErrSeveralCommands},
		"rejects a quote without an end":      {"[Service]\nExecStart=/k \"--a\n", ErrQuote},
		"rejects a shell":                     {"[Service]\nExecStart=/bin/bash -c '/k --a'\n", commandline.ErrShell},
		"rejects a shell after a prefix":      {"[Service]\nExecStart=-/bin/sh -ec '/k --a'\n", commandline.ErrShell},
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := unitOf(t, tt.text).Command("Service", "ExecStart"); !errors.Is(err, tt.want) || c != nil {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("two with a reset", func(t *testing.T) {
		c, err := unitOf(t, "[Service]\nExecStart=/k --a\nExecStart=\nExecStart=/l --b\n").Command("Service", "ExecStart")
		must(t, err)
		if !c.Has("b") || c.Has("a") {
			t.Errorf("flags %v", c.Names())
		}
	})
}

func TestCommandEdits(t *testing.T) {
	set := func(name string, values ...string) func(*Command) error {
		return func(c *Command) error { return c.Set(name, values...) }
	}
	remove := func(name string) func(*Command) error {
		return func(c *Command) error { return c.Remove(name) }
	}
	setBare := func(name string) func(*Command) error {
		return func(c *Command) error { return c.SetBare(name) }
	}
	tests := map[string]struct {
		value string
		edit  func(*Command) error
		want  string
	}{
		"replaces a value in place":          {"/k --a=1  --b=2 $X\nP=1\n", set("a", "3"), "/k --a=3  --b=2 $X\nP=1\n"},
		"spaced in place":                    {"/k --a  1 --b=2\n", set("a", "3"), "/k --a  3 --b=2\n"},
		"spaced to empty":                    {"/k --a  1 --b=2\n", set("a", ""), "/k --a= --b=2\n"},
		"keeps the underscores of a flag":    {"/k --a_b=1\n", set("a-b", "2"), "/k --a_b=2\n"},
		"keeps the spelling of equal values": {"/k --a='1'\\\n --a 2\n", set("a", "1", "2"), "/k --a='1'\\\n --a 2\n"},
		"before the variable":                {"/k --a=1 $X\n", set("b", "2"), "/k --a=1 --b=2 $X\n"},
		"adds a flag after variables":        {"/k run $X ${Y}\n", set("b", "2"), "/k run $X ${Y} --b=2\n"},
		"without flags, variables":           {"/k run $X $Y\n", set("b", "2"), "/k run --b=2 $X $Y\n"},
		"adds a flag to a bare program":      {"/k", set("b", "2"), "/k --b=2"},
		"before the end":                     {"/k -- --a\n", set("b", "2"), "/k --b=2 -- --a\n"},
		"adds a line to the kubelet's command": {"/k \\\n    --a=1 \\\n    --v=2 $X\n[B]\n", set("b", "2"),
			"/k \\\n    --a=1 \\\n    --v=2 \\\n    --b=2 $X\n[B]\n"},
		"variable on a line":                            {"/k \\\n  --a=1 \\\n  $X\n", set("b", "2"), "/k \\\n  --a=1 \\\n  --b=2 \\\n  $X\n"},
		"variable without flags":                        {"/k \\\n  $X\n", set("b", "2"), "/k \\\n  --b=2 \\\n  $X\n"},
		"adds a line with carriage returns":             {"/k \\\r\n\t--a=1\r\n", set("b", "2"), "/k \\\r\n\t--a=1 \\\r\n\t--b=2\r\n"},
		"two on the last line":                          {"/k \\\n --a=1 --b=2\n", set("c", "3"), "/k \\\n --a=1 --b=2 --c=3\n"},
		"adds lines after a flag with a separate value": {"/k \\\n  --a 1", set("b", "2", "3"), "/k \\\n  --a 1 \\\n  --b=2 \\\n  --b=3"},
		"adds a line after a comment":                   {"/k \\\n  # c\n  --a=1\n", set("b", "2"), "/k \\\n  # c\n  --a=1 \\\n  --b=2\n"},
		"replaces the values of a repeated flag":        {"/k --a=1 --b --a=2 --a=3\n", set("a", "1", "3"), "/k --a=1 --b --a=3\n"},
		"remove a line":                                 {"/k \\\n  --a=1 \\\n  --b=2\n", remove("a"), "/k \\\n  --b=2\n"},
		"remove the last line":                          {"/k \\\n  --a=1 \\\n  --b=2\nP=1\n", remove("b"), "/k \\\n  --a=1\nP=1\n"},
		"remove the last at end":                        {"/k \\\n  --a=1 \\\n  --b=2", remove("b"), "/k \\\n  --a=1"},
		"remove spaced lines":                           {"/k \\\n --a \\\n 1 \\\n --b\n", remove("a"), "/k \\\n --b\n"},
		"removes all flags and their lines":             {"/k \\\n --a \\\n --a\n", remove("a"), "/k\n"},
		"remove next to another flag":                   {"/k --a=1 \\\n --b\n", remove("a"), "/k \\\n --b\n"},
		"remove before variable":                        {"/k \\\n --a \\\n --b $X\n", remove("b"), "/k \\\n --a $X\n"},
		"remove before a hash":                          {"/k \\\n --a=1 #b --c\n", remove("a"), "/k #b --c\n"},
		"remove a missing flag":                         {"/k --a\n", remove("b"), "/k --a\n"},
		"blank line at the end":                         {"/k \\\n --a \\\n\nP=1", remove("a"), "/k \\\n\nP=1"},
		"adds a line before an open continuation":       {"/k \\\n --a \\", set("b", "1"), "/k \\\n --a \\\n --b=1 \\"},
		"quotes a value with a space":                   {"/k --a=1\n", set("a", "x y"), "/k \"--a=x y\"\n"},
		"quotes a value that starts a comment":          {"/k --a 1\n", set("a", "#x"), "/k --a \"#x\"\n"},
		"quotes and escapes special characters":         {"/k\n", set("a", "\"\\ '\n\x01é"), "/k \"--a=\\\"\\\\ '\\n\\x01é\"\n"},
		"does not escape specifiers and variables":      {"/k --a=1\n", set("a", "%H$Y"), "/k --a=%H$Y\n"},
		"sets a bare flag once":                         {"/k --a=1 --a --b\n", setBare("a"), "/k --a --b\n"},
		"bare before a variable":                        {"/k $X\n", setBare("a"), "/k --a $X\n"},
		"keeps the quotes of other flags":               {"/k --a=\"1 2\" --b=\\x41 --c\n", set("c", "1"), "/k --a=\"1 2\" --b=\\x41 --c=1\n"},
		"quote over lines":                              {"/k \\\n --a='1 \\\n 2' \\\n --b\n", remove("b"), "/k \\\n --a='1 \\\n 2'\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			const head = "# c\n[Service]\nExecStart="
			u := unitOf(t, head+tt.value)
			c, err := u.Command("Service", "ExecStart")
			must(t, err)
			must(t, tt.edit(c))
			if diff := cmp.Diff(head+tt.want, u.Text()); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff(unitOf(t, u.Text()).lines, u.lines, cmp.AllowUnexported(unitLine{})); diff != "" {
				t.Errorf("index:\n%s", diff)
			}
			edits := u.Edits()
			must(t, tt.edit(c))
			if u.Edits() != edits {
				t.Errorf("second run gives %q", u.Text())
			}
		})
	}
}

// TestCommandComments moves comments from between removed words in front of the assignment.
func TestCommandComments(t *testing.T) {
	u := unitOf(t, "[Service]\nExecStart=/k \\\n # 1\n --a=1 \\\n # 2\n --b=2\n")
	c, err := u.Command("Service", "ExecStart")
	must(t, err)
	must(t, c.Remove("b"))
	if diff := cmp.Diff("[Service]\n # 2\nExecStart=/k \\\n # 1\n --a=1\n", u.Text()); diff != "" {
		t.Error(diff)
	}
	must(t, c.Remove("a"))
	if diff := cmp.Diff("[Service]\n # 2\n # 1\nExecStart=/k\n", u.Text()); diff != "" {
		t.Error(diff)
	}
}

func TestCommandRefuses(t *testing.T) {
	const text = "[Service]\nExecStart=/k --a 1 --b x y\n"
	for name, tt := range map[string]struct {
		edit func(*Command) error
		want error
	}{
		"rejects an empty name":               {func(c *Command) error { return c.Set("", "1") }, commandline.ErrFlag},
		"name with =":                         {func(c *Command) error { return c.Set("a=b", "1") }, commandline.ErrFlag},
		"rejects a value with a NUL byte":     {func(c *Command) error { return c.Set("a", "\x00") }, commandline.ErrFlag},
		"takes the stray":                     {func(c *Command) error { return c.Set("b") }, nil},
		"rejects a value that systemd splits": {func(c *Command) error { return c.Set("a", "$X") }, commandline.ErrAmbiguous},
	} {
		t.Run(name, func(t *testing.T) {
			u := unitOf(t, text)
			c, err := u.Command("Service", "ExecStart")
			must(t, err)
			if err := tt.edit(c); !errors.Is(err, tt.want) || tt.want != nil && u.Text() != text {
				t.Errorf("error %v, text %q", err, u.Text())
			}
		})
	}
	t.Run("the option was removed", func(t *testing.T) {
		u := unitOf(t, text)
		c, err := u.Command("Service", "ExecStart")
		must(t, err)
		u.Remove("Service", "ExecStart")
		if err := c.Set("a", "2"); !errors.Is(err, ErrNoCommand) || c.Has("a") || c.Names() != nil {
			t.Errorf("error %v", err)
		}
	})
}

// TestCommandKubelet edits the unit that Gardener writes.
func TestCommandKubelet(t *testing.T) {
	raw, err := os.ReadFile("testdata/kubelet.service")
	must(t, err)
	u := unitOf(t, string(raw))
	c, err := u.Command("Service", "ExecStart")
	must(t, err)
	if n := len(c.Values("node-labels")); n != 9 {
		t.Errorf("%d labels", n)
	}
	must(t, c.Set("cloud-provider", "external"))
	must(t, c.Set("v", "4"))
	want := strings.Replace(string(raw), "--v=2 $", "--v=4 \\\n    --cloud-provider=external $", 1)
	if diff := cmp.Diff(want, u.Text()); diff != "" {
		t.Error(diff)
	}
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	systemd "github.com/coreos/go-systemd/v22/unit"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
)

type assignment struct{ Section, Option, Value string }

// assignments are all options of a unit but one.
func assignments(u *Unit, section, option string) []assignment {
	out := []assignment{}
	for i, l := range u.lines {
		if s := u.lines[l.section].name; !l.header && (s != section || l.name != option) {
			out = append(out, assignment{s, l.name, u.value(i)})
		}
	}
	return out
}

// commentLines are the lines of a text that are comments, with their endings.
func commentLines(text string) []string {
	out := []string{}
	for at := 0; at < len(text); {
		end, next := endOfLine(text, at)
		if from := skipBlank(text, at, end); from < end && isUnitComment(text[from]) {
			out = append(out, text[at:end])
		}
		at = next
	}
	return out
}

// foreign matches texts that go-systemd and systemd read differently: continued comments and comments in a
// continuation, escaped backslashes and blanks at the end of a line, other line endings, blank lines in a continuation,
// other white space, and text before the first section.
var foreign = regexp.MustCompile(`(?m)\r|\\\n\s*[#;]|^\s*[#;].*\\ ?$|\\\\$|\\\s*\n\s*\n|\\\n?\z|\A[^\[]|[^\n\x20-\x7e]|\\[ \t]+$|^\[.*\\$`)

// checkOracle compares the unit with go-systemd's result.
func checkOracle(t *testing.T, u *Unit) {
	t.Helper()
	text := u.Text()
	if foreign.MatchString(text) || slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return len(l) > 2000 }) {
		return
	}
	options, err := systemd.DeserializeOptions(strings.NewReader(text))
	if err != nil {
		t.Fatalf("go-systemd does not read %q: %v", text, err)
	}
	want := []assignment{}
	for _, o := range options {
		want = append(want, assignment{o.Section, o.Name, strings.Trim(strings.ReplaceAll(o.Value, "\\\n", " "), blanks)})
	}
	if diff := cmp.Diff(want, assignments(u, "", "")); diff != "" {
		t.Fatalf("%q (-go-systemd +got):\n%s", text, diff)
	}
}

// FuzzUnit checks that Set changes only the given option and keeps comments, that a second Set is no edit, and that
// go-systemd reads the same.
func FuzzUnit(f *testing.F) {
	f.Add("[Service]\nExecStart=/k \\\n  # c\n  --a\nX=1\n", "Service", "ExecStart", "/l\n/m")
	f.Add("[A]\r\nO=\\\r\n 1\r\n[B]\r\nO=2", "A", "O", "#1")
	f.Add("# c\n\n[A]\nO=1\nP=2\nO=\nO=3 \\", "A", "O", "3")
	f.Add("[A]\rO=1\\\\\r;\\\r[A]\rO=x", "A", "Q", "\n")
	f.Fuzz(func(t *testing.T, text, section, option, values string) {
		u, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrUnit) {
				t.Fatal(err)
			}
			return
		}
		checkOracle(t, u)
		var wanted []string
		for value := range strings.SplitSeq(values, "\n") {
			wanted = append(wanted, strings.Trim(value, " \t\r"))
		}
		rest, comments := assignments(u, section, option), commentLines(text)
		if err := u.Set(section, option, wanted...); err != nil {
			if !errors.Is(err, ErrOption) && !errors.Is(err, ErrUnit) || u.Text() != text || u.Edits() != 0 {
				t.Fatalf("error %v left %q", err, u.Text())
			}
			return
		}
		again := checkUnit(t, u, section, option, wanted, rest, comments)
		must(t, again.Set(section, option, wanted...))
		if again.Edits() != 0 {
			t.Fatalf("second run gives %q", again.Text())
		}
		for _, value := range wanted {
			must(t, again.Add(section, option, value))
		}
		again.Remove(section, option)
		checkUnit(t, again, section, option, nil, rest, comments)
	})
}

// checkUnit checks a unit after an edit, and returns one parsed from its text.
func checkUnit(t *testing.T, u *Unit, section, option string, wanted []string, rest []assignment, comments []string) *Unit {
	t.Helper()
	again := unitOf(t, u.Text())
	if diff := cmp.Diff(again.lines, u.lines, cmp.AllowUnexported(unitLine{})); diff != "" {
		t.Fatalf("index:\n%s", diff)
	}
	checkOracle(t, u)
	if diff := cmp.Diff(wanted, u.Values(section, option)); diff != "" {
		t.Fatalf("values (-set +got):\n%s", diff)
	}
	if diff := cmp.Diff(rest, assignments(u, section, option)); diff != "" {
		t.Fatalf("others changed:\n%s", diff)
	}
	got := commentLines(u.Text())
	slices.Sort(got)
	if slices.Sort(comments); !slices.Equal(comments, got) {
		t.Fatalf("comments %q, were %q", got, comments)
	}
	return again
}

// otherWords are the words that are no part of a flag, as they are written.
func otherWords(c *Command, name string) []string {
	skip := map[int]bool{}
	for _, f := range c.Flags {
		if f.Name == commandline.Normalize(name) {
			skip[f.At] = true
			skip[f.At+1] = skip[f.At+1] || f.Form == commandline.Spaced
		}
	}
	out := []string{}
	for i, w := range c.words {
		if raw := c.unit.text[w.start:w.end]; !skip[i] && isUnitComment(raw[0]) {
			out = append(out, quoteWord(w.text)) // It is quoted when it comes to the beginning of a line.
		} else if !skip[i] {
			out = append(out, raw)
		}
	}
	return out
}

// FuzzUnitCommand checks that Set changes only the given words, that a second Set is no edit, and that Remove leaves
// exactly the other words.
func FuzzUnitCommand(f *testing.F) {
	f.Add("/k \\\n  --a=1 \\\n  # c\n  --v=2 $X", "\nY=1\n", "b", "2")
	f.Add("-/k --a 1 '--a=x y' #c \\\r\n\t--b", "", "a", "1\n#")
	f.Add("@/k -k \\\n --a=\\x41\\q \\; \\\n --c -- --a\\", "", "a", "\"\\")
	f.Add("\\\n /k --a \"1 \\\n # \\\n 2\" $X ${Y}", "\n", "c", "$X")
	f.Fuzz(func(t *testing.T, command, rest, name, values string) {
		text := "[Service]\nExecStart=" + command + rest
		u, err := Parse(text)
		if err != nil {
			return
		}
		c, err := u.Command("Service", "ExecStart")
		if err != nil {
			return
		}
		wanted := strings.Split(values, "\n")
		words, options, comments := otherWords(c, name), assignments(u, "Service", "ExecStart"), commentLines(text)
		if err := c.Set(name, wanted...); err != nil {
			if !errors.Is(err, commandline.ErrFlag) && !errors.Is(err, commandline.ErrAmbiguous) || u.Text() != text || u.Edits() != 0 {
				t.Fatalf("error %v left %q", err, u.Text())
			}
			return
		}
		check := func(u *Unit, c *Command, wanted []string) {
			t.Helper()
			if diff := cmp.Diff(wanted, c.Values(name)); diff != "" {
				t.Fatalf("values (-set +got):\n%s", diff)
			}
			got := otherWords(c, name)
			if diff := cmp.Diff(words, got); diff != "" {
				t.Fatalf("words changed:\n%s", diff)
			}
			checkUnit(t, u, "Service", "ExecStart", u.Values("Service", "ExecStart"), options, comments)
		}
		check(u, c, wanted)
		next := unitOf(t, u.Text())
		again, err := next.Command("Service", "ExecStart")
		must(t, err)
		check(next, again, wanted)
		must(t, again.Set(name, wanted...))
		if next.Edits() != 0 {
			t.Fatalf("second run gives %q", next.Text())
		}
		if err := again.Remove(name); err == nil {
			check(next, again, nil)
		} else if !errors.Is(err, commandline.ErrAmbiguous) || next.Edits() != 0 {
			t.Fatal(err)
		}
	})
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func unitOf(t testing.TB, text string) *Unit {
	t.Helper()
	u, err := Parse(text)
	must(t, err)
	return u
}

func TestUnitOf(t *testing.T) {
	for name, text := range map[string]string{
		"text that is no unit":                    "this is no unit",
		"an option before the first section":      "A=b\n[Service]\n",
		"a section without a closing bracket":     "[Service\nA=b\n",
		"text after a section header":             "[Service] A=b\n",
		"a section header with a continuation":    "[Service]\\\n\nA=b\n",
		"an option without a name":                "[Service]\n=b\n",
		"an option without an equals sign":        "[Service]\nA\n",
		"an equals sign on the next line":         "[Service]\nA\\\n=b\n",
		"a backslash on a line before the option": "[Service]\n\\\nExecStart=b\n",
		"a value with a NUL byte":                 "[Service]\nA=b\x00\n",
		"a document in YAML":                      "kind: KubeletConfiguration\n",
		"byte order mark late":                    "[Service]\n\uFEFFB\n",
	} {
		t.Run(name, func(t *testing.T) {
			if u, err := Parse(text); !errors.Is(err, ErrUnit) || u != nil {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("line of the error", func(t *testing.T) {
		_, err := Parse("[A]\r\nB=c\\\r\n d\n\n\nbad\n")
		if err == nil || !strings.Contains(err.Error(), "line 6") {
			t.Errorf("error %v", err)
		}
	})
}

func TestUnitValues(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"returns nothing for an empty unit":       {"", nil},
		"ignores another section":                 {"[B]\nO=1\n", nil},
		"twice and a reset":                       {"[A]\nO=1\nO=\n  O = 2 \n", []string{"1", "", "2"}},
		"joins two sections of one name":          {"[A]\nO=1\n[B]\nO=x\n[A]\nO=2", []string{"1", "2"}},
		"joins continued lines":                   {"[A]\nO=1\\\n 2\\\n3", []string{"1  2 3"}},
		"does not continue after two backslashes": {"[A]\nO=1\\\\\nP=3", []string{`1\\`}},
		"backslash and blank":                     {"[A]\nO=1\\ \nP=2\n", []string{`1\`}},
		"skips comments between continued lines":  {"[A]\nO=1 \\\n  # why \\\n; and \\\n  2\n", []string{"1    2"}},
		"value is no comment":                     {"[A]\nO=#1 \\\n 2\n", []string{"#1   2"}},
		"ends in the text's end":                  {"[A]\nO=1 \\", []string{"1"}},
		"ends at a blank line":                    {"[A]\nO=1 \\\n\nP=2", []string{"1"}},
		"begins on the next":                      {"[A]\nO=\\\n  1\n", []string{"1"}},
		"reads lines that end in CRLF":            {"[A]\r\nO=1\\\r\n2\r\n", []string{"1 2"}},
		"reads lines that end in CR":              {"[A]\rO=1\\\r2\rP=3", []string{"1 2"}},
		"byte order mark":                         {"\uFEFF[A]\nO=1", []string{"1"}},
		"longer than 2048 bytes":                  {"[A]\nO=" + strings.Repeat("x", 5000), []string{strings.Repeat("x", 5000)}},
		"comment with a bracket":                  {"[A]\n# [B]\n;O=0\nO=1", []string{"1"}},
		"equals and hash in it":                   {"[A]\nO=a=b # c ; d", []string{"a=b # c ; d"}},
		"section name with blank":                 {"[ A]\nO=0\n[A]\nO=1", []string{"1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := unitOf(t, tt.text)
			if diff := cmp.Diff(tt.want, u.Values("A", "O")); diff != "" {
				t.Error(diff)
			}
			if u.Text() != tt.text {
				t.Errorf("text %q", u.Text())
			}
		})
	}
}

func TestUnitEdits(t *testing.T) {
	set := func(values ...string) func(*Unit) error {
		return func(u *Unit) error { return u.Set("A", "O", values...) }
	}
	add := func(option, value string) func(*Unit) error {
		return func(u *Unit) error { return u.Add("A", option, value) }
	}
	tests := map[string]struct {
		text string
		edit func(*Unit) error
		want string
	}{
		"replaces a value in place":                  {"[A]\n O =  1 \nP=2\n", set("3"), "[A]\n O =  3 \nP=2\n"},
		"surplus from the middle":                    {"[A]\nO=1\nO=2\nO=3\n", set("1", "3"), "[A]\nO=1\nO=3\n"},
		"missing after the last option":              {"[A]\nO=1\n# c\nP=2\n", set("1", "2"), "[A]\nO=1\nO=2\n# c\nP=2\n"},
		"missing in the same style":                  {"[A]\n O = 1\n", set("1", "2"), "[A]\n O = 1\n O = 2\n"},
		"end of the section":                         {"[A]\nP=1\n\n# c\n[B]\n", set("1"), "[A]\nP=1\nO=1\n\n# c\n[B]\n"},
		"section without options":                    {"[A]\n\n[B]\n", set("1"), "[A]\nO=1\n\n[B]\n"},
		"adds a section":                             {"[B]\nX=1\n", set("1"), "[B]\nX=1\n\n[A]\nO=1\n"},
		"adds section and options to an empty unit":  {"", set("1", "2"), "[A]\nO=1\nO=2\n"},
		"only a comment":                             {"# c", set("1"), "# c\n\n[A]\nO=1"},
		"no final newline":                           {"[A]\nP=1", set("1"), "[A]\nP=1\nO=1"},
		"keeps CRLF at the ends of lines":            {"[A]\r\nO=0\r\n", set("1", "2"), "[A]\r\nO=1\r\nO=2\r\n"},
		"last of two sections":                       {"[A]\nP=1\n[B]\n[A]\nQ=2\n", set("1"), "[A]\nP=1\n[B]\n[A]\nQ=2\nO=1\n"},
		"continued to one line":                      {"[A]\nO=1 \\\n  2\nP=3\n", set("4"), "[A]\nO=4\nP=3\n"},
		"comments go in front":                       {"[A]\nO=1 \\\n # c\n  2\nP=3\n", set("4"), "[A]\n # c\nO=4\nP=3\n"},
		"value on the next line":                     {"[A]\nO=\\\n  1\n", set("2"), "[A]\nO=\\\n  2\n"},
		"hash on the next line":                      {"[A]\nO=\\\n  1\n", set("#2"), "[A]\nO=#2\n"},
		"empty to value":                             {"[A]\nO=\nP=1\n", set("2"), "[A]\nO=2\nP=1\n"},
		"value to empty":                             {"[A]\nO=1\n", set(""), "[A]\nO=\n"},
		"white space is trimmed":                     {"[A]\nO=1\n", set(" 2\n"), "[A]\nO=2\n"},
		"keeps the lines of an equal value":          {"[A]\nO=1 \\\n 2\n", set("1   2"), "[A]\nO=1 \\\n 2\n"},
		"ends a continuation at the end of the unit": {"[A]\nP=1 \\", set("2"), "[A]\nP=1 \\\n\nO=2"},
		"dangling with a comment":                    {"[A]\nP=1 \\\n# c\n", set("2"), "[A]\nP=1 \\\n# c\n\nO=2\n"},
		"removes all values":                         {"[A]\nO=1\nO=2\nP=3\n", set(), "[A]\nP=3\n"},
		"adds a value after the last one":            {"[A]\nO=1\nP=2\n", add("O", "2"), "[A]\nO=1\nO=2\nP=2\n"},
		"add an existing value":                      {"[A]\nO=1\nO=2\n", add("O", "1"), "[A]\nO=1\nO=2\n"},
		"add after a reset":                          {"[A]\nO=1\nO=\n", add("O", "1"), "[A]\nO=1\nO=\nO=1\n"},
		"adds ExecStartPre before ExecStart": {"[A]\nX=1\n# start\n\n# the\n# kubelet\nExecStart=x\n", add("ExecStartPre", "y"),
			"[A]\nX=1\n# start\n\n# the\n# kubelet\nExecStartPre=y\nExecStart=x\n"},
		"adds a second ExecStartPre after the first": {"[A]\nExecStart=x\nExecStartPre=y\nZ=1\n", add("ExecStartPre", "z"),
			"[A]\nExecStart=x\nExecStartPre=y\nExecStartPre=z\nZ=1\n"},
		"adds ExecStartPre without ExecStart": {"[A]\nX=1\n", add("ExecStartPre", "y"), "[A]\nX=1\nExecStartPre=y\n"},
		"removes an option with its lines": {"[A]\nO=1 \\\n  # c\n  2\n\nO=3\nP=4", func(u *Unit) error { u.Remove("A", "O"); return nil },
			"[A]\n  # c\n\nP=4"},
		"keeps a unit without the option": {"[A]\nO=1", func(u *Unit) error { u.Remove("B", "O"); return nil }, "[A]\nO=1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := unitOf(t, tt.text)
			must(t, tt.edit(u))
			if diff := cmp.Diff(tt.want, u.Text()); diff != "" {
				t.Fatal(diff)
			}
			if (u.Edits() > 0) != (tt.text != tt.want) {
				t.Errorf("%d edits", u.Edits())
			}
			edits := u.Edits()
			must(t, tt.edit(u))
			if u.Edits() != edits || u.Text() != tt.want {
				t.Errorf("second run gives %q", u.Text())
			}
			if diff := cmp.Diff(unitOf(t, tt.want).lines, u.lines, cmp.AllowUnexported(unitLine{})); diff != "" {
				t.Errorf("index:\n%s", diff)
			}
		})
	}
}

func TestUnitRefuses(t *testing.T) {
	for name, o := range map[string][3]string{
		"a value with a line break":        {"A", "O", "1\nP=2"},
		"a value with a carriage return":   {"A", "O", "1\rP=2"},
		"a value that ends in a backslash": {"A", "O", `1\`},
		"a value with a control character": {"A", "O", "1\x00"},
		"a value that is not UTF-8":        {"A", "O", "\xff"},
		"an empty section":                 {"", "O", "1"},
		"bracket in a section":             {"A]", "O", "1"},
		"an empty option":                  {"A", "", "1"},
		"option like comment":              {"A", "#O", "1"},
		"option like a header":             {"A", "[O", "1"},
		"equals in an option":              {"A", "O=P", "1"},
		"line in an option":                {"A", "O\nP", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			u := unitOf(t, "[A]\nX=1\n")
			if err := u.Set(o[0], o[1], o[2]); !errors.Is(err, ErrOption) {
				t.Errorf("Set: %v", err)
			}
			if err := u.Add(o[0], o[1], o[2]); !errors.Is(err, ErrOption) {
				t.Errorf("Add: %v", err)
			}
			if u.Text() != "[A]\nX=1\n" || u.Edits() != 0 {
				t.Errorf("text %q", u.Text())
			}
		})
	}
}

func TestUnitSections(t *testing.T) {
	u := unitOf(t, "[B]\n[A]\nX=1\n[B]\n[ ]\n")
	if diff := cmp.Diff([]string{"B", "A", " "}, u.Sections()); diff != "" {
		t.Error(diff)
	}
}

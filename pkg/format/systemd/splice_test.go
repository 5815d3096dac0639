// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"os"
	"strings"
	"testing"
)

// TestLongTexts reads and edits texts of 1 MiB. With time that grows with the square of the length these would take
// hours.
func TestLongTexts(t *testing.T) {
	const size = 1 << 20
	fill := func(part string) string { return strings.Repeat(part, size/len(part)) }
	for name, text := range map[string]string{
		"many continued lines":             "[S]\nE=/k " + fill("\\\n") + "\n",
		"many flags on continued lines":    "[S]\nE=/k " + fill("\\\n --a=1 ") + "\n",
		"many comments on continued lines": "[S]\nE=/k \\\n" + fill("# c\\\n") + " --a\n",
		"many carriage returns":            "[S]\nE=/k --a\n" + fill("\r"),
		"many spaces on one line":          "[S]\nE=/k " + fill("x "),
		"flags on one line":                "[S]\nE=/k " + fill("--a=1 "),
		"many escaped quotes":              "[S]\nE=/k '" + fill(`\\"`) + "'\n",
		"sections and options":             "[S]\nE=/k\n" + fill("[S]\nA=b\n"),
	} {
		t.Run(name, func(t *testing.T) {
			u := unitOf(t, text)
			c, err := u.Command("S", "E")
			must(t, err)
			must(t, c.Set("a", "2", "3"))
			must(t, c.Remove("a"))
			must(t, u.Set("S", "A", "c"))
			u.Remove("S", "E")
			if c.Has("a") || u.Values("S", "E") != nil {
				t.Error("the removed flag or option is still there")
			}
		})
	}
}

func BenchmarkKubelet(b *testing.B) {
	read := func(name string) []byte {
		raw, err := os.ReadFile("testdata/" + name)
		must(b, err)
		return raw
	}
	unit := read("kubelet.service")
	bench := func(name string, size int, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
	command := func(name, value string, edits int) func() {
		return func() {
			u, err := Parse(string(unit))
			must(b, err)
			c, err := u.Command("Service", "ExecStart")
			must(b, err)
			must(b, c.Set(name, value))
			if u.Edits() != edits {
				b.Fatal("edits")
			}
		}
	}
	bench("unit/flag", len(unit), command("cloud-provider", "external", 1))
	bench("unit/no-edit", len(unit), command("runtime-cgroups", "/system.slice/containerd.service", 0))
}

// TestEndOfLine checks that every ending ends a line of any length.
func TestEndOfLine(t *testing.T) {
	for length := range 3 * lineLength {
		line := strings.Repeat("x", length)
		for _, ending := range []string{"", "\n", "\r", "\r\n", "\n\r"} {
			for _, after := range []string{"", "y=z\n", strings.Repeat("y", 2*lineLength) + "\r\n"} {
				if ending == "" && after != "" {
					continue
				}
				end, next := endOfLine("a\n"+line+ending+after, 2)
				if end != 2+length || next != end+len(ending) {
					t.Errorf("a line of %d bytes before %q: want %d and %d, got %d and %d", length, ending+after, 2+length, 2+length+len(ending), end, next)
				}
			}
		}
	}
}

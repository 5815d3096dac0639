// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Release is what man pages say of the program. The same release gives the same bytes.
type Release struct {
	// Version is that of the program, Day its day as 2006-01-02.
	Version, Day string
}

// day is that of the commit; the linker sets it: -X <this package>.day=2006-01-02.
var day string

// Day is the day of SOURCE_DATE_EPOCH (reproducible-builds.org), or else of the commit; empty where neither is known.
func Day(environment func(string) string) string {
	seconds, err := strconv.ParseInt(environment("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return day
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}

// ManName is the file of a command's man page, such as graft-diff.1.
func ManName(command *cobra.Command) string { return manTitle(command) + ".1" }

func manTitle(command *cobra.Command) string {
	return strings.ReplaceAll(command.CommandPath(), " ", "-")
}

// Man is the man page of a command, in the macros of man(7).
func Man(command *cobra.Command, release Release) []byte {
	command.InitDefaultHelpFlag()
	out := &bytes.Buffer{}
	fmt.Fprintf(out, ".TH %s 1 %q %q %q\n", escape(strings.ToUpper(manTitle(command))), release.Day, command.Root().Name()+" "+release.Version,
		"Manual of "+command.Root().Name())
	fmt.Fprintf(out, ".SH NAME\n%s \\- %s\n", escape(manTitle(command)), escape(command.Short))
	name, use, _ := strings.Cut(synopsis(command), command.CommandPath())
	fmt.Fprintf(out, ".SH SYNOPSIS\n.B %s\n", escape(name+command.CommandPath()))
	writeText(out, strings.TrimSpace(use))
	fmt.Fprintf(out, ".SH DESCRIPTION\n")
	writeParts(out, long(command))
	writeOptions(out, "OPTIONS", command.NonInheritedFlags())
	writeOptions(out, "OPTIONS OF EVERY COMMAND", command.InheritedFlags())
	writeList(out, "EXIT STATUS", ExitStatus())
	if command.Example != "" {
		fmt.Fprintf(out, ".SH EXAMPLES\n")
		writeLiteral(out, dedent(command.Example))
	}
	writeSeeAlso(out, command)
	return out.Bytes()
}

func writeParts(out *bytes.Buffer, text string) {
	for i, part := range parts(text) {
		switch {
		case part.literal:
			fmt.Fprintf(out, ".PP\n.RS 4\n")
			writeLiteral(out, dedent(part.text))
			fmt.Fprintf(out, ".RE\n")
		default:
			if i > 0 {
				fmt.Fprintf(out, ".PP\n")
			}
			writeText(out, part.text)
		}
	}
}

// writeText writes lines of prose; none of them may begin a macro.
func writeText(out *bytes.Buffer, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(out, guard(escape(line)))
		}
	}
}

// writeLiteral writes lines that stay as they are.
func writeLiteral(out *bytes.Buffer, text string) {
	fmt.Fprintf(out, ".nf\n")
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(out, guard(escape(line)))
	}
	fmt.Fprintf(out, ".fi\n")
}

func writeOptions(out *bytes.Buffer, title string, set *pflag.FlagSet) {
	var rows [][2]string
	for _, option := range options(set) {
		text := `\fB\-\-` + escape(option.long) + `\fR`
		if option.short != "" {
			text = `\fB\-` + option.short + `\fR, ` + text
		}
		if option.value != "" {
			text += ` \fI` + escape(option.value) + `\fR`
		}
		rows = append(rows, [2]string{text, option.usage})
	}
	writeList(out, title, rows)
}

// writeList writes terms, which are roff already, with what they mean.
func writeList(out *bytes.Buffer, title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, ".SH %s\n", title)
	for _, row := range rows {
		fmt.Fprintf(out, ".TP\n%s\n", row[0])
		writeText(out, row[1])
	}
}

// writeSeeAlso names the commands above and beside, and those below.
func writeSeeAlso(out *bytes.Buffer, command *cobra.Command) {
	var others []string
	if command.HasParent() {
		others = append(others, manTitle(command.Parent()))
	}
	for _, below := range Commands(command)[1:] {
		others = append(others, manTitle(below))
	}
	if len(others) == 0 {
		return
	}
	fmt.Fprintf(out, ".SH SEE ALSO\n")
	for i, other := range others {
		comma := ","
		if i == len(others)-1 {
			comma = ""
		}
		fmt.Fprintf(out, ".BR %s (1)%s\n", escape(other), comma)
	}
}

// escape is text without what roff would read as its own; a hyphen stays a hyphen that can be copied.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "…", "...").Replace(text)
}

// guard keeps a line from being taken for a macro.
func guard(line string) string {
	if strings.HasPrefix(line, ".") {
		return `\&` + line
	}
	return line
}

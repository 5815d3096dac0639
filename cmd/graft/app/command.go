// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires graft: each command has a file that turns its flags into calls of pkg/workbench, which contains the
// logic. Start reading at Main.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// Main runs graft and returns its exit status: 0 for success, 1 for findings (invalid profiles, failing tests, denied
// objects), 2 for errors, 130 after an interruption.
func Main(version string, arguments []string, s *Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command := NewCommand(version, s)
	command.SetArgs(arguments)
	return s.guarded(func() int {
		err := command.ExecuteContext(ctx)
		if ctx.Err() != nil {
			fmt.Fprintln(s.Err, "interrupted")
			return statusInterrupted
		}
		return s.report(err)
	})
}

// The exit statuses.
const (
	statusFound       = 1
	statusFailed      = 2
	statusInterrupted = 130
)

// found is the error of a command that succeeded and has findings. Its message is empty if the output already contains
// it.
type found struct{ message string }

// Error implements error.
func (f found) Error() string { return f.message }

// report writes the error and returns the exit status.
func (s *Streams) report(err error) int {
	if err == nil {
		return 0
	}
	var (
		result   found
		findings source.Findings
		panicked *profile.Panic
	)
	switch {
	case errors.As(err, &result):
		if result.message != "" {
			fmt.Fprintln(s.Err, result.message)
		}
		return statusFound
	case errors.As(err, &findings):
		fmt.Fprintln(s.Err, findings.Error())
		return statusFailed
	case errors.As(err, &panicked):
		return s.crashed(panicked, panicked.Stack)
	default:
		fmt.Fprintln(s.Err, "Error: "+plain(err))
		return statusFailed
	}
}

// NewCommand returns graft as a cobra command.
func NewCommand(version string, s *Streams) *cobra.Command {
	root := group(s, &cobra.Command{
		Use:   "graft",
		Short: "Preview, explain, check and test provider profiles",
		Long: `Preview, explain, check and test provider profiles.

graft runs the engine of the webhook on your machine. No cluster is needed unless you name one.`,
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: checkChoices,
	},
		newRenderCommand, newDiffCommand, newExplainCommand, newCompareCommand, newDriftCommand, newConvertCommand, newInitCommand, newSchemaCommand,
		newTestCommand, newLintCommand, newInterpreterCommand, newRBACCommand, newPackCommand, newLedgerCommand, newCloudCommand, newCompletionCommand,
	)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.PersistentFlags().StringVar(&s.colour, "color", "auto", "colour the output: auto (on a terminal), always or never")
	choices(root, "color", "auto", "always", "never")
	root.SetFlagErrorFunc(unknownFlag)
	root.CompletionOptions.DisableDefaultCmd = true
	completeValues(root)
	return root
}

// group returns a command that only has commands below it.
func group(s *Streams, command *cobra.Command, below ...func(*Streams) *cobra.Command) *cobra.Command {
	command.Args = unknownCommand
	command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	for _, one := range below {
		command.AddCommand(one(s))
	}
	return command
}

// unknownCommand refuses arguments of a command that only has commands below it.
func unknownCommand(command *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	var known []string
	for _, below := range command.Commands() {
		if below.IsAvailableCommand() {
			known = append(known, below.Name())
		}
	}
	return fmt.Errorf("unknown command %q%s; `%s --help` lists the commands", arguments[0], source.Suggest(arguments[0], known), command.CommandPath())
}

// unknownFlag explains an unknown flag: it suggests a similar one, or names the list of flags.
func unknownFlag(command *cobra.Command, err error) error {
	suggestion := ""
	var missing *pflag.NotExistError
	if errors.As(err, &missing) && len(missing.GetSpecifiedName()) > 1 {
		var known []string
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				known = append(known, "--"+flag.Name)
			}
		})
		suggestion = source.Suggest("--"+missing.GetSpecifiedName(), known)
	}
	return fmt.Errorf("%w%s; `%s --help` lists the flags", err, suggestion, command.CommandPath())
}

// plain returns the text of an error without the name of a system call before a file name. It says which file could not be written.
func plain(err error) string {
	text := err.Error()
	var file *fs.PathError
	if errors.As(err, &file) {
		action := ""
		if file.Op == "write" && !strings.HasPrefix(text, "writing ") {
			action = "writing "
		}
		text = strings.Replace(text, file.Op+" "+file.Path+":", action+file.Path+":", 1)
	}
	return text
}

// exactly requires this number of arguments; what describes them.
func exactly(what string, count int) cobra.PositionalArgs { return between(what, count, count) }

// atMost limits the number of arguments; what describes them.
func atMost(what string, count int) cobra.PositionalArgs { return between(what, 0, count) }

// atLeastOne requires an argument; what describes them.
func atLeastOne(what string) cobra.PositionalArgs { return between(what, 1, math.MaxInt) }

func between(what string, least, most int) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		if len(arguments) >= least && len(arguments) <= most {
			return nil
		}
		return fmt.Errorf("give %s: %s; see `%s --help`", what, strings.TrimSuffix(command.UseLine(), " [flags]"), command.CommandPath())
	}
}

// writeYAML writes objects as YAML documents.
func writeYAML(out io.Writer, objects ...any) error {
	for i, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		if i > 0 {
			text = slices.Concat([]byte("---\n"), text)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// counted returns a number with its noun.
func counted(count int, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, many)
}

// guarded runs the program and converts a panic to an error.
func (s *Streams) guarded(run func() int) (status int) {
	defer func() {
		if reason := recover(); reason != nil {
			status = s.crashed(reason, debug.Stack())
		}
	}()
	return run()
}

// crashed reports a fault of the program in one line. The stack is printed on request.
func (s *Streams) crashed(reason any, stack []byte) int {
	if err, ok := reason.(*profile.Panic); ok {
		stack = err.Stack
	}
	what, _, _ := strings.Cut(fmt.Sprint(reason), "\n")
	fmt.Fprintf(s.Err, "Error: this is a bug in graft, please report it: %s; set %s=1 and repeat the command for its place in the code\n",
		what, debugVariable)
	if os.Getenv(debugVariable) != "" {
		fmt.Fprintf(s.Err, "%s", stack)
	}
	return statusFailed
}

// debugVariable is the environment variable that prints the stack after a panic.
const debugVariable = "GRAFT_DEBUG"

// Streams holds the input and output of a command, and the properties of the terminal.
type Streams struct {
	In io.Reader
	// Out gets the result, Err progress and errors.
	Out, Err io.Writer
	// Interactive and ErrInteractive report that Out and Err are terminals.
	Interactive, ErrInteractive bool
	// Width is the width of the terminal in characters; 0 when it is not known.
	Width int

	// colour is the value of --color.
	colour string
}

// Terminal returns the streams of the process.
func Terminal() *Streams {
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Interactive: term.IsTerminal(int(os.Stdout.Fd())), ErrInteractive: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && s.Interactive {
		s.Width = width
	}
	return s
}

// Colour reports whether the output is coloured: on a terminal, unless NO_COLOR is set (no-color.org) or a flag
// overrides it.
func (s *Streams) Colour() bool {
	switch s.colour {
	case "always":
		return true
	case "never":
		return false
	}
	return s.Interactive && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// style returns the style of changes.
func (s *Streams) style() render.Style {
	return render.Style{Colour: s.Colour(), Width: s.Width}
}

// meter shows the progress of a long command on a terminal, in a line that is removed at the end.
type meter struct {
	streams *Streams
	what    string
	began   time.Time
	written bool

	// mutex guards total, which count has counted, and shown, the time at which it was last displayed.
	mutex sync.Mutex
	total int
	shown time.Time
}

// patience is the time after which a command shows its progress. Faster commands print their result only.
var patience = time.Second

func newMeter(s *Streams, what string) *meter {
	return &meter{streams: s, what: what, began: time.Now()}
}

// step displays the progress.
func (p *meter) step(done, of int) { p.show("%d of %d %ss", done, of, p.what) }

// count adds to the progress of work of unknown size, and displays it from time to time. It may be called concurrently.
func (p *meter) count(more int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.total += more; time.Since(p.shown) >= patience/4 {
		p.show("%d %ss", p.total, p.what)
		p.shown = time.Now()
	}
}

// show displays a text instead of the last one.
func (p *meter) show(format string, values ...any) {
	if p.streams.ErrInteractive && os.Getenv("TERM") != "dumb" && time.Since(p.began) >= patience {
		fmt.Fprintf(p.streams.Err, emptyLine+format, values...)
		p.written = true
	}
}

// done erases the line.
func (p *meter) done() {
	if p.written {
		fmt.Fprint(p.streams.Err, emptyLine)
	}
}

// emptyLine returns to the start of the line and erases it, including text from the terminal, such as ^C.
const emptyLine = "\r\x1b[K"

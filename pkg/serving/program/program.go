// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package program contains the common parts of the server programs: the command, common flags and the
// configuration file, logging, metrics, and the order of the shutdown. It knows no API and no document. Start
// reading at New and Life.Serve.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"runtime"
	"slices"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/gardener/gardener/pkg/logger"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// New completes a program's command, which has its name, help texts and flags. The command calls run.
func New(command *cobra.Command, version string, run func(*cobra.Command) error) *cobra.Command {
	command.Version, command.Args = version, cobra.NoArgs
	command.SilenceErrors, command.SilenceUsage = true, true
	command.RunE = func(c *cobra.Command, _ []string) error { return run(c) }
	command.Flags().SortFlags = false
	command.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	return command
}

// Main returns a function that runs the command with arguments and returns the exit status; see serving.Main.
func Main(command func(version string) *cobra.Command) func(ctx context.Context, version string, arguments []string, stdout, stderr io.Writer) int {
	return func(ctx context.Context, version string, arguments []string, stdout, stderr io.Writer) int {
		return serving.Main(ctx, command(version), arguments, stdout, stderr)
	}
}

// Flags are the common flags. Define a program's own flags between AddConfig and AddTo, which determines the
// order in the help.
type Flags struct {
	config              string
	logLevel, logFormat string
	limits              serving.LimitFlags
}

// AddConfig defines the flag for the configuration file, of the given kind.
func (f *Flags) AddConfig(set *pflag.FlagSet, kind string) {
	set.StringVar(&f.config, "config", "", "file with the "+kind+" (default: built-in defaults)")
}

// AddTo defines the flags for limits and logging.
func (f *Flags) AddTo(set *pflag.FlagSet) {
	f.limits.AddTo(set)
	set.StringVar(&f.logLevel, "log-level", "", "debug, info or error (default info)")
	set.StringVar(&f.logFormat, "log-format", "", "json or text (default json)")
}

// Read reads the configuration file. Without one, it returns the defaults. It fails if the file is unreadable or
// invalid.
func Read[C any](f *Flags, decode func(source.File) (*C, error)) (*C, error) {
	file := source.File{Name: f.config}
	if f.config != "" {
		data, err := disk.ReadFile(f.config, disk.DocumentSize)
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		file.Data = data
	}
	return decode(file)
}

// Override applies the given flags to a configuration: those for logging and limits, and the others by name. It fails
// for a value out of range.
func (f *Flags) Override(set *pflag.FlagSet, log *configv1alpha1.Logging, limits [4]*int32, others map[string]func()) error {
	others["log-level"] = func() { log.Level = f.logLevel }
	others["log-format"] = func() { log.Format = f.logFormat }
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if set.Changed(name) {
			others[name]()
		}
	}
	return f.limits.Override(set, limits[0], limits[1], limits[2], limits[3])
}

// Problems are errors in flags and configuration.
type Problems []error

// Add adds a problem if the condition holds.
func (p *Problems) Add(wrong bool, format string, arguments ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, arguments...))
	}
}

// AddLog adds problems of the logging configuration.
func (p *Problems) AddLog(l configv1alpha1.Logging) {
	p.Add(!slices.Contains([]string{"debug", "info", "error"}, l.Level), "--log-level must be debug, info or error, is %q", l.Level)
	p.Add(!slices.Contains([]string{"json", "text"}, l.Format), "--log-format must be json or text, is %q", l.Format)
}

// AddMetricsAddress adds problems of the metrics address.
func (p *Problems) AddMetricsAddress(address string) {
	_, _, err := net.SplitHostPort(address)
	p.Add(err != nil && address != "0", "--metrics-address must be host:port, or 0")
}

// Err returns all problems as one error, or nil.
func (p Problems) Err() error { return errors.Join(p...) }

// Start returns the program's logger, logs name and version, and sets up contention profiling. Nil means
// stderr. It fails for an unknown level or format.
func Start(name, version string, l configv1alpha1.Logging, d configv1alpha1.Debugging, to io.Writer, keysAndValues ...any) (logr.Logger, error) {
	// Errors carry their context in their text, and a panic logs its own stack.
	options := []zap.Opts{zap.StacktraceLevel(zapcore.PanicLevel)}
	if to != nil {
		options = append(options, zap.WriteTo(to))
	}
	log, err := logger.NewZapLogger(l.Level, l.Format, options...)
	if err != nil {
		return log, err
	}
	log.Info("Starting", append([]any{"program", name, "version", version, "go", runtime.Version()}, keysAndValues...)...)
	if d.ContentionProfiling {
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(1)
	}
	return log, nil
}

// AddProcessMetrics registers the metrics of the Go runtime and the process.
func AddProcessMetrics(registry prometheus.Registerer) {
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Documents are folders and files with documents.
type Documents []string

// Read returns the files. It fails if a file or folder is unreadable.
func (d Documents) Read() ([]source.File, error) { return folder.Read(d...) }

// Ignored returns the ignored files, which contain no documents. Read reports unreadable files.
func (d Documents) Ignored() []string {
	left, _ := folder.Ignored(d...)
	return left
}

// Empty returns the folders that contain none of the files.
func (d Documents) Empty(files []string) []string { return folder.Empty(d, files) }

// Cluster returns a client configuration from a kubeconfig, or the Pod's if it is empty. field is the
// hint in the error.
func Cluster(kubeconfig, field string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("finding the cluster: %w (outside of a cluster %s)", err, field)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return config, nil
}

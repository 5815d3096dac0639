// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package program is the shell of the server programs: the command, the flags and the configuration file that all have, the log, the
// registry of metrics, and the order in which a server ends. It knows no contract and no document. Enter at New and Life.Serve.
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

// New completes the command of a program, which has its name, texts and flags, and has it call run.
func New(command *cobra.Command, version string, run func(*cobra.Command) error) *cobra.Command {
	command.Version, command.Args = version, cobra.NoArgs
	command.SilenceErrors, command.SilenceUsage = true, true
	command.RunE = func(c *cobra.Command, _ []string) error { return run(c) }
	command.Flags().SortFlags = false
	command.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	return command
}

// Main returns a function that runs the command with arguments and returns its exit status; see serving.Main.
func Main(command func(version string) *cobra.Command) func(ctx context.Context, version string, arguments []string, stdout, stderr io.Writer) int {
	return func(ctx context.Context, version string, arguments []string, stdout, stderr io.Writer) int {
		return serving.Main(ctx, command(version), arguments, stdout, stderr)
	}
}

// Flags are the flags that all programs have. Further ones are defined between AddConfig and AddTo, in the order of the help.
type Flags struct {
	config              string
	logLevel, logFormat string
	limits              serving.LimitFlags
}

// AddConfig defines the flag of the configuration file, whose kind is given.
func (f *Flags) AddConfig(set *pflag.FlagSet, kind string) {
	set.StringVar(&f.config, "config", "", "file with the "+kind+"; defaults without one")
}

// AddTo defines the flags of limits and of the log.
func (f *Flags) AddTo(set *pflag.FlagSet) {
	f.limits.AddTo(set)
	set.StringVar(&f.logLevel, "log-level", "", "debug, info or error (default info)")
	set.StringVar(&f.logFormat, "log-format", "", "json or text (default json)")
}

// Read reads the configuration file; without one, the configuration has the defaults.
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

// Override writes flags that were given over a configuration: those of the log, of the limits, and others by their names.
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

// Problems are what is wrong with flags and configuration.
type Problems []error

// Add adds a problem if the condition holds.
func (p *Problems) Add(wrong bool, format string, arguments ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, arguments...))
	}
}

// AddLog adds what is wrong with the configuration of the log.
func (p *Problems) AddLog(l configv1alpha1.Logging) {
	p.Add(!slices.Contains([]string{"debug", "info", "error"}, l.Level), "--log-level must be debug, info or error, is %q", l.Level)
	p.Add(!slices.Contains([]string{"json", "text"}, l.Format), "--log-format must be json or text, is %q", l.Format)
}

// AddMetricsAddress adds what is wrong with the address of metrics.
func (p *Problems) AddMetricsAddress(address string) {
	_, _, err := net.SplitHostPort(address)
	p.Add(err != nil && address != "0", "--metrics-address must be host:port, or 0")
}

// Err returns all problems as an error, or nil.
func (p Problems) Err() error { return errors.Join(p...) }

// Start returns the logger of a program, after it has logged the program's name and version, and sets up contention profiling. A nil
// writer is standard error.
func Start(name, version string, l configv1alpha1.Logging, d configv1alpha1.Debugging, to io.Writer, keysAndValues ...any) (logr.Logger, error) {
	// Errors are results here: where one comes from is in its text, and a panic logs its own stack.
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

// AddProcessMetrics registers the metrics of Go and of the process.
func AddProcessMetrics(registry prometheus.Registerer) {
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Documents reads the files of folders with documents, and returns the names of files that are left out.
type Documents []string

// Read returns the files.
func (d Documents) Read() ([]source.File, error) { return folder.Read(d...) }

// LeftAlone returns the names of files that are no documents. Read reports what cannot be read.
func (d Documents) LeftAlone() []string {
	left, _ := folder.LeftAlone(d...)
	return left
}

// Empty returns the folders without any of the files.
func (d Documents) Empty(files []string) []string { return folder.Empty(d, files) }

// Cluster returns the configuration of a client: that of a kubeconfig, or without one that of the Pod. The field is named in the error.
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

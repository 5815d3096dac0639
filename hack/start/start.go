// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// show is one run: what was started, and what is shown of it.
type show struct {
	options  options
	terminal *console.Terminal
	folder   string // of logs

	files     []source.File
	profiles  []*profile.Document
	program   *mutation.Program
	landscape *landscape.Landscape
	extension *extension
	stage     *stage
	subjects  []*subject
}

// start runs all phases and stops everything that it started before it returns.
func start(ctx context.Context, o options, t *console.Terminal) error {
	s := &show{options: o, terminal: t, folder: filepath.Join(o.root, ".cache", "start")}
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(s.folder, 0o755); err != nil {
		return fmt.Errorf("creating the folder of logs: %w", err)
	}
	own, err := os.Create(filepath.Join(s.folder, "start.log"))
	if err != nil {
		return fmt.Errorf("creating the log: %w", err)
	}
	defer func() { _ = own.Close() }()
	redirectLogs(own)

	began := time.Now()
	defer s.stop()
	for _, step := range []func(context.Context) error{s.bringUp, s.prepare, s.startExtension, s.deploy} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	err = s.report(time.Since(began))
	switch {
	case o.once || ctx.Err() != nil:
		return err
	case errors.Is(err, errNotAsTheProfilesSay) || errors.Is(err, errNoRule):
		// The profile can be mended while everything is up.
		t.Failure(err)
	case err != nil:
		return err
	}
	return s.stay(ctx)
}

func (s *show) style() render.Style {
	return render.Style{Colour: s.terminal.Colour, Width: s.terminal.Width}
}

// redirectLogs keeps what libraries log off the terminal.
func redirectLogs(to io.Writer) {
	log.SetOutput(to)
	klog.LogToStderr(false)
	klog.SetOutput(to)
	ctrllog.SetLogger(klog.Background())
}

// check finds what is missing or wrong before anything is started.
func (s *show) check(ctx context.Context) error {
	if _, err := os.Stat(s.binary()); err != nil {
		return fmt.Errorf("the extension has not been built: run `make build` (%w)", err)
	}
	var err error
	if s.files, err = s.read(ctx); err != nil {
		return err
	}
	if err := s.load(); err != nil {
		return err
	}
	if s.options.provider == "" && len(s.profiles[0].Providers) > 0 {
		s.options.provider = s.profiles[0].Providers[0]
	}
	s.options.sample.Provider = s.options.provider
	return nil
}

// read finds the profiles as the extension does, under names that are short to read.
func (s *show) read(ctx context.Context) ([]source.File, error) {
	files, err := webhook.Paths(s.options.profiles).Read(ctx)
	for i := range files {
		files[i].Name = near(files[i].Name)
	}
	return files, err
}

// load compiles the profiles; those before stay where the error is not nil.
func (s *show) load() error {
	documents, findings := profile.Load(s.files...)
	program, problems := mutation.Check(documents, mutation.Options{Mark: true})
	switch err := append(findings, problems...).Errors().Err(); {
	case err != nil:
		return fmt.Errorf("the profiles are wrong:\n%w", err)
	case len(documents) == 0:
		return errors.New("no profile was found: give a file or a folder with -profile")
	}
	s.profiles, s.program = documents, program
	return nil
}

func (s *show) binary() string { return filepath.Join(s.options.root, "bin", extensionName) }

// bringUp starts etcd and kube-apiserver, and writes the control plane meanwhile.
func (s *show) bringUp(ctx context.Context) error {
	return s.terminal.Phase("etcd and kube-apiserver, Gardener's definitions", func(func(string)) (string, error) {
		var objects []sample.Object
		tasks := errgroup.Group{}
		tasks.Go(func() error {
			var err error
			objects, err = sample.ControlPlane(ctx, s.options.sample)
			return err
		})
		// Later the landscape must outlive the context, so that the extension ends first.
		inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
		release := context.AfterFunc(ctx, cancel)
		tasks.Go(func() error {
			var err error
			audit := filepath.Join(s.folder, "audit.log")
			_ = os.Remove(audit)
			s.landscape, err = landscape.Start(inner, landscape.Options{AuditLog: audit})
			return err
		})
		err := tasks.Wait()
		release()
		for _, object := range objects {
			s.subjects = append(s.subjects, &subject{sample: object})
		}
		return "", err
	})
}

// prepare makes the namespaces and finds out what is to be expected.
func (s *show) prepare(ctx context.Context) error {
	return s.terminal.Phase("the shoot's namespace, its Cluster, expectations", func(func(string)) (string, error) {
		var err error
		s.stage, err = newStage(ctx, s.landscape.Client(), s.options.sample, s.program, s.profiles, s.subjects)
		if err != nil {
			return "", err
		}
		return s.stage.namespace.Name, each(ctx, s.subjects, s.stage.prepare)
	})
}

// startExtension runs the real program, with the account that the chart would give it.
func (s *show) startExtension(ctx context.Context) error {
	return s.terminal.Phase("the extension, until it is ready", func(now func(string)) (string, error) {
		account, err := s.grant(ctx)
		if err != nil {
			return "", err
		}
		s.extension, err = startExtension(ctx, s.binary(), account.Kubeconfig, s.folder, s.options.profiles)
		if err != nil {
			return "", err
		}
		if err := s.extension.waitReady(ctx, now); err != nil {
			return "", err
		}
		now("waiting for kube-apiserver to call it")
		s.stage.waitCalled(ctx, slices.DeleteFunc(slices.Clone(s.subjects), func(one *subject) bool { return !one.touched && one.refused == nil }))
		return "log: " + near(s.extension.Log), nil
	})
}

// grant gives the extension's account what the chart would for the profiles as they are now, and nothing else.
func (s *show) grant(ctx context.Context) (*landscape.Account, error) {
	granted, err := permissions(s.options.root, s.program.Reads())
	if err != nil {
		return nil, err
	}
	return s.landscape.CreateServiceAccount(ctx, granted)
}

func (s *show) deploy(ctx context.Context) error {
	return s.terminal.Phase("the control plane, deployed and read back", func(func(string)) (string, error) {
		return fmt.Sprintf("%d objects", len(s.subjects)), each(ctx, s.subjects, s.stage.deploy)
	})
}

// report prints the differences, what changed first, and the verdict; the error says that objects are not as they should.
func (s *show) report(took time.Duration) error {
	slices.SortStableFunc(s.subjects, func(a, b *subject) int { return b.weight() - a.weight() })
	changes := make([]*render.Change, 0, len(s.subjects))
	for _, one := range s.subjects {
		changes = append(changes, one.change)
	}
	s.terminal.Line("")
	if err := s.style().Write(s.terminal, changes...); err != nil {
		return err
	}
	if err := problems(s.subjects); err != nil {
		return errors.Join(err, s.differences())
	}
	if err := served(s.options.provider, s.profiles); err != nil {
		return err
	}
	s.terminal.Line("\n%s %s %s", s.terminal.Paint("1;32", "OK"), verdict(s.subjects), s.terminal.Dim(fmt.Sprintf("(%.1f s)", took.Seconds())))
	return nil
}

// differences prints in what objects that were stored are not as they should be.
func (s *show) differences() error {
	var changes []*render.Change
	for _, one := range s.subjects {
		if one.difference != nil {
			changes = append(changes, one.difference)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	s.terminal.Line("\n%s", s.terminal.Paint("1;31", "WRONG: what the profiles make of it (-) and what was stored (+)"))
	return s.style().Write(s.terminal, changes...)
}

// stop ends what was started, the extension first.
func (s *show) stop() {
	if s.extension != nil {
		s.extension.Stop()
	}
	if s.landscape != nil {
		if err := s.landscape.Stop(); err != nil {
			s.terminal.Line("%v", err)
		}
	}
}

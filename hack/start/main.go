// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command start demonstrates the extension: it starts a real etcd, a kube-apiserver and the extension, deploys the
// control plane of a shoot as Gardener writes it, and compares the stored objects with the profiles (graft diff
// --live). The program exits with status 1 for a difference or a denied object. `make start` builds and runs it. It is
// a demonstration and a check of a work tree, not part of the product. Start reading at show.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/demo"
	_ "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/quiet"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

const (
	program          = "bin/gardener-extension-provider-graft"
	installNamespace = "extension-provider-graft"
	// configuration removes the extension's delay at shutdown.
	configuration = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\nshutdown: {delay: 0s, timeout: 5s}\n"
	// marks begins the annotations of objects that the extension has changed.
	marks = "graft.provider.extensions.gardener.cloud/"
)

// shown is the state of the demonstration.
type shown struct {
	*demo.Demo
	provider string
	profiles []string
	auditLog string

	plane     controlPlane
	landscape *landscape.Landscape
	extension *env.Process
}

func main() {
	s := &shown{}
	set := flag.NewFlagSet("start", flag.ExitOnError)
	set.Func("profile", "file or folder with profiles (repeatable)", func(value string) error {
		s.profiles = append(s.profiles, value)
		return nil
	})
	set.StringVar(&s.provider, "provider", "", "provider of the shoot and the seed (default: the first of the profiles)")
	demo.Main(set, func(ctx context.Context, d *demo.Demo) error {
		s.Demo, s.auditLog = d, filepath.Join(d.Folder, "audit.log")
		return s.show(ctx)
	})
}

// show runs all phases and stops the started programs.
func (s *shown) show(ctx context.Context) error {
	own, err := os.Create(filepath.Join(s.Folder, "start.log"))
	if err != nil {
		return fmt.Errorf("creating the log: %w", err)
	}
	log.SetOutput(own)
	klog.LogToStderr(false)
	klog.SetOutput(own)
	ctrllog.SetLogger(klog.Background())
	documents, err := s.load()
	if err != nil {
		return err
	}
	if s.provider == "" && len(documents[0].Providers) > 0 {
		s.provider = documents[0].Providers[0]
	}
	defer s.stop()
	for _, phase := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"etcd and kube-apiserver with Gardener's definitions", s.startServers},
		{"the shoot's namespace, its Cluster and its objects", func(ctx context.Context) error { return s.prepare(ctx, documents) }},
		{"the extension, until kube-apiserver calls it", s.startExtension},
		{"the control plane, deployed", s.deploy},
	} {
		if err := s.Phase(phase.name, func() error { return phase.run(ctx) }); err != nil {
			return err
		}
	}
	err = s.compare(ctx)
	if s.Once || ctx.Err() != nil {
		return err
	}
	if err != nil {
		s.Printf("\nFAILED %v", err)
	}
	return s.stay(ctx)
}

// load reads the profiles.
func (s *shown) load() ([]*profile.Document, error) {
	files, err := folder.Read(s.profiles...)
	if err != nil {
		return nil, err
	}
	documents, findings := profile.Load(files...)
	if err := findings.Errors().Err(); err != nil {
		return nil, fmt.Errorf("the profiles are wrong:\n%w", err)
	}
	if len(documents) == 0 {
		return nil, errors.New("no profile found: set a file or a folder with -profile")
	}
	return documents, nil
}

func (s *shown) startServers(ctx context.Context) (err error) {
	// The servers outlive the context, so that the extension ends first.
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, cancel)()
	s.landscape, err = landscape.Start(inner, landscape.Options{AuditLog: s.auditLog})
	return err
}

// prepare creates the objects that the control plane needs.
func (s *shown) prepare(ctx context.Context, documents []*profile.Document) (err error) {
	if s.plane, err = generate(s.provider); err != nil {
		return err
	}
	needed, err := s.plane.needed(documents)
	if err != nil {
		return err
	}
	for _, object := range needed {
		status := object.Object["status"]
		err := s.landscape.Client().Create(ctx, object)
		if err == nil && status != nil {
			object.Object["status"] = status
			err = s.landscape.Client().Status().Update(ctx, object)
		}
		if client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func (s *shown) startExtension(ctx context.Context) error {
	address, err := env.NewExtension(ctx)
	if err != nil {
		return err
	}
	config := filepath.Join(s.Folder, "extension.yaml")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	arguments := append(address.Arguments(config, s.landscape.Kubeconfig(), s.profiles...), address.ByURL(installNamespace)...)
	if s.extension, err = env.Start(&env.Log{}, nil, program, append(arguments, "--leader-election=false")...); err != nil {
		return err
	}
	if err := s.extension.Await(ctx, address.Ready); err != nil {
		return err
	}
	return s.waitCalled(ctx)
}

// waitCalled waits until a dry run of some object has the mark of the extension, because registrations and changed profiles take
// effect after a moment. After 5 s it returns anyway, and the comparison shows the problem.
func (s *shown) waitCalled(ctx context.Context) error {
	_ = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 5*time.Second, true, func(ctx context.Context) (bool, error) {
		for _, object := range s.plane.copies() {
			if s.landscape.Client().Create(ctx, object, client.DryRunAll) != nil {
				continue
			}
			for key := range object.GetAnnotations() {
				if strings.HasPrefix(key, marks) {
					return true, nil
				}
			}
		}
		return false, nil
	})
	return ctx.Err()
}

// deploy creates the objects, and fails with those that are denied.
func (s *shown) deploy(ctx context.Context) error {
	var problems []error
	for _, object := range s.plane.copies() {
		if err := s.landscape.Client().Create(ctx, object); err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return errors.Join(problems...)
}

// command returns the command that compares the stored objects with the profiles.
func (s *shown) command() []string {
	line := []string{demo.Graft, "diff", "--live", "--kubeconfig", s.landscape.Kubeconfig(), "-n", s.plane.namespace.GetName()}
	for _, path := range s.profiles {
		line = append(line, "-p", path)
	}
	return line
}

// compare prints the differences between the stored objects and the profiles. It fails if it finds any.
func (s *shown) compare(ctx context.Context) error {
	s.Title("What is stored, compared with the profiles")
	if _, err := s.Command(ctx, append(s.command(), "--no-dry-run", "--exit-code")); err != nil {
		return fmt.Errorf("the stored objects differ from the profiles: %w", err)
	}
	s.Printf("\nOK kube-apiserver stored all %d objects as the profiles say.", len(s.plane.objects))
	return nil
}

// stay prints how to continue, and writes the extension's log until Ctrl-C. It fails if the extension ends.
func (s *shown) stay(ctx context.Context) error {
	logFile := filepath.Join(s.Folder, "extension.log")
	s.Printf("\nEdit %s: the extension loads it within a second. To see what the edit changes, in another terminal:\n\n  %s\n\n"+
		"To look further:\n\n  export KUBECONFIG=%s\n  %s -n %s get deployments,etcds,services\n  tail -f %s\n\n"+
		"Every request that wrote something is in %s, with the patches of the webhooks.\nCtrl-C ends everything.", strings.Join(s.profiles, ", "),
		strings.Join(append(s.command(), "--no-dry-run"), " "), s.landscape.Kubeconfig(), s.landscape.Kubectl(), s.plane.namespace.GetName(),
		logFile, s.auditLog)
	for {
		select {
		case <-ctx.Done():
			s.Printf("\nStopping the extension, kube-apiserver and etcd.")
			return nil
		case <-s.extension.Exited():
			return fmt.Errorf("the extension ended with %s; its log ends with:\n%s", s.extension.State(), s.extension.Log.Tail(15))
		case <-time.After(time.Second):
			_ = os.WriteFile(logFile, []byte(s.extension.Log.String()), 0o600)
		}
	}
}

// stop stops the started programs, the extension first.
func (s *shown) stop() {
	if s.extension != nil {
		_ = s.extension.Stop()
	}
	if s.landscape != nil {
		_ = s.landscape.Stop()
	}
}

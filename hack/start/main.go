// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command start demonstrates the extension: it starts a real etcd and kube-apiserver and the extension, deploys
// the control plane of a shoot as Gardener writes it, and prints the changes of each object with the
// responsible rules. It compares the stored objects with the engine's results; a difference ends the program
// with status 1. `make start` builds and runs it.
//
// It is a demonstration and a check of a work tree, not part of the product. Start reading at show.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	// This import suppresses a line that Gardener's packages print to stderr.
	_ "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/quiet"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/demo"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

const (
	program          = "bin/gardener-extension-provider-graft"
	installNamespace = "extension-provider-graft"
	// configuration removes the extension's delay at shutdown.
	configuration = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\nshutdown: {delay: 0s, timeout: 5s}\n"
)

// shown is the state of the demonstration.
type shown struct {
	*demo.Demo
	plane    planeOptions
	profiles []string
	auditLog string

	digest    watch.Digest
	documents []*profile.Document
	program   *mutation.Program
	landscape *landscape.Landscape
	cluster   *cluster
	extension *env.Process
	address   env.Extension
	subjects  []*subject
}

func main() {
	s := &shown{}
	set := flag.NewFlagSet("start", flag.ContinueOnError)
	set.Func("profile", "file or folder with profiles (repeatable)", func(value string) error {
		s.profiles = append(s.profiles, value)
		return nil
	})
	set.StringVar(&s.plane.Provider, "provider", "", "provider of the shoot and the seed (default: the first of the profiles)")
	set.StringVar(&s.plane.Kubernetes, "kubernetes", "", "version of the shoot, 1.31 to 1.34 (default 1.34.2)")
	set.BoolVar(&s.plane.HighAvailability, "ha", false, "a highly available control plane")
	set.BoolVar(&s.plane.IPv6, "ipv6", false, "networks with IPv6 only")
	set.Func("annotations", "annotations of the shoot: key=value,key=value", s.plane.annotate)
	demo.Main(set, func(ctx context.Context, d *demo.Demo) error {
		s.Demo = d
		return s.show(ctx)
	})
}

// show runs all phases and stops the started programs.
func (s *shown) show(ctx context.Context) error {
	s.auditLog = filepath.Join(s.Folder, "audit.log")
	own, err := os.Create(filepath.Join(s.Folder, "start.log"))
	if err != nil {
		return fmt.Errorf("creating the log: %w", err)
	}
	defer func() { _ = own.Close() }()
	log.SetOutput(own)
	klog.LogToStderr(false)
	klog.SetOutput(own)
	ctrllog.SetLogger(klog.Background())
	if err := s.load(); err != nil {
		return err
	}
	if s.plane.Provider == "" && len(s.documents[0].Providers) > 0 {
		s.plane.Provider = s.documents[0].Providers[0]
	}
	defer s.stop()
	began := time.Now()
	for _, phase := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"etcd and kube-apiserver with Gardener's definitions", s.startServers},
		{"the shoot's namespace, its Cluster and its objects", s.prepare},
		{"the extension, until it is ready", s.startExtension},
		{"the control plane, deployed and read back", func(ctx context.Context) error { return s.cluster.deploy(ctx, s.program, s.subjects) }},
	} {
		if err := s.Phase(phase.name, func() error { return phase.run(ctx) }); err != nil {
			return err
		}
	}
	err = s.report(time.Since(began))
	if s.Once || ctx.Err() != nil {
		return err
	}
	if err != nil {
		s.Printf("\nFAILED %v", err)
	}
	return s.stay(ctx)
}

// load reads and compiles the profiles. After an error, the previous ones stay active.
func (s *shown) load() error {
	files, err := folder.Read(s.profiles...)
	if err != nil {
		return err
	}
	s.digest = watch.DigestOf(files)
	documents, findings := profile.Load(files...)
	program, problems := mutation.Check(documents, mutation.Options{Mark: true})
	switch err := append(findings, problems...).Errors().Err(); {
	case err != nil:
		return fmt.Errorf("the profiles are wrong:\n%w", err)
	case len(documents) == 0:
		return errors.New("no profile found: set a file or a folder with -profile")
	}
	s.documents, s.program = documents, program
	return nil
}

func (s *shown) startServers(ctx context.Context) (err error) {
	// The servers outlive the context, so that the extension ends first.
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, cancel)()
	s.landscape, err = landscape.Start(inner, landscape.Options{AuditLog: s.auditLog})
	return err
}

// prepare creates the objects that the control plane needs, and computes the expected results.
func (s *shown) prepare(ctx context.Context) error {
	generated, err := s.plane.generate(ctx)
	if err != nil {
		return err
	}
	s.subjects = nil
	for _, object := range generated.Objects {
		s.subjects = append(s.subjects, &subject{json: object})
	}
	if s.cluster, err = newCluster(ctx, s.landscape.Client(), generated, s.documents); err != nil {
		return err
	}
	return s.cluster.predict(ctx, s.program, s.subjects)
}

func (s *shown) startExtension(ctx context.Context) (err error) {
	if s.address, err = env.NewExtension(ctx); err != nil {
		return err
	}
	config := filepath.Join(s.Folder, "extension.yaml")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	arguments := append(s.address.Arguments(config, s.landscape.Kubeconfig(), s.profiles...), s.address.ByURL(installNamespace)...)
	if s.extension, err = env.Start(&env.Log{}, nil, program, append(arguments, "--leader-election=false")...); err != nil {
		return err
	}
	if err := s.extension.Await(ctx, s.address.Ready); err != nil {
		return err
	}
	s.cluster.waitCalled(ctx, s.subjects)
	return nil
}

// report prints the differences, changed objects first, and the result. It returns an error for unexpected
// differences.
func (s *shown) report(took time.Duration) error {
	slices.SortStableFunc(s.subjects, func(a, b *subject) int { return b.weight() - a.weight() })
	var changes, wrong []*render.Change
	var problems []string
	touched, rules := 0, 0
	for _, one := range s.subjects {
		changes = append(changes, one.change)
		if one.difference != nil {
			wrong = append(wrong, one.difference)
		}
		for _, problem := range one.problems {
			problems = append(problems, "  "+one.name()+": "+problem)
		}
		if one.touched {
			touched++
		}
		rules += one.change.Count(mutation.Changed)
	}
	style := render.Style{Colour: s.Colour, Width: s.Width}
	s.Printf("")
	if err := style.Write(s, changes...); err != nil {
		return err
	}
	switch {
	case len(problems) > 0:
		if len(wrong) > 0 {
			s.Title("Expected (-) and stored (+) objects")
			if err := style.Write(s, wrong...); err != nil {
				return err
			}
		}
		return fmt.Errorf("the stored objects differ from the profiles:\n%s", strings.Join(problems, "\n"))
	case !slices.ContainsFunc(s.documents, func(d *profile.Document) bool {
		return len(d.Providers) == 0 || slices.Contains(d.Providers, s.plane.Provider)
	}):
		return fmt.Errorf("no profile applies to the provider %s; set another one with -provider", s.plane.Provider)
	}
	s.Printf("\n%s kube-apiserver stored all %d objects as the profiles say: rules changed %d of them (applied %d times), the others are as Gardener wrote them. (%.1f s)",
		s.Bold("OK"), len(s.subjects), touched, rules, took.Seconds())
	return nil
}

// stay prints how to continue, and shows the effect of changed profiles until Ctrl-C. It fails if the extension
// ends.
func (s *shown) stay(ctx context.Context) error {
	logFile := filepath.Join(s.Folder, "extension.log")
	s.Printf("\nEdit %s: the extension loads it within a second, and the control plane is deployed again and shown here.\n", strings.Join(s.profiles, ", "))
	kubectl := exec.CommandContext(ctx, "hack/tools/build.sh", "kubectl")
	kubectl.Stdout, kubectl.Stderr = s, s
	if err := kubectl.Run(); err != nil {
		return fmt.Errorf("building kubectl: %w", err)
	}
	s.Printf("To look further, in another terminal:\n\n  export KUBECONFIG=%s\n  %s -n %s get deployments,etcds,services\n  tail -f %s\n\n"+
		"Every request that wrote something is in %s, with the patches of the webhooks.\n%s", s.landscape.Kubeconfig(), s.landscape.Kubectl(),
		s.cluster.namespace.GetName(), logFile, s.auditLog, s.Bold("Ctrl-C ends everything."))
	for {
		select {
		case <-ctx.Done():
			s.Printf("\nStopping the extension, kube-apiserver and etcd.")
			return nil
		case <-s.extension.Exited():
			return fmt.Errorf("the extension ended with %s; its log ends with:\n%s", s.extension.State(), s.extension.Log.Tail(15))
		case <-time.After(time.Second):
		}
		_ = os.WriteFile(logFile, []byte(s.extension.Log.String()), 0o600)
		files, err := folder.Read(s.profiles...)
		if err != nil || watch.DigestOf(files) == s.digest {
			continue // a file is missing for a moment while it is replaced
		}
		if err := s.again(ctx); err != nil && ctx.Err() == nil {
			s.Printf("\nFAILED %v", err)
		}
	}
}

// again deploys the control plane with changed profiles.
func (s *shown) again(ctx context.Context) error {
	s.Title("The profiles have changed.")
	if err := s.load(); err != nil {
		return err
	}
	began := time.Now()
	if err := s.cluster.remove(ctx, s.subjects); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	s.cluster.waitCalled(ctx, s.subjects)
	if err := s.cluster.deploy(ctx, s.program, s.subjects); err != nil {
		return err
	}
	return s.report(time.Since(began))
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

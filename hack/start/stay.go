// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// lookEvery is how often the profiles are compared with those in force, as the extension does.
const lookEvery = time.Second

// stay says how to look further and shows what a changed profile does, until Ctrl-C. That the extension ends on its own is an error.
func (s *show) stay(ctx context.Context) error {
	kubeconfig, err := s.copyKubeconfig()
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(kubeconfig) }()
	s.terminal.Line("\n%s", s.advice(kubeconfig))
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			s.terminal.Line("\nStopping the extension, kube-apiserver and etcd.")
			return nil
		case <-s.extension.Exited():
			return s.extension.told(s.extension.Ended())
		case <-ticker.C:
			s.look(ctx)
		}
	}
}

// look deploys the control plane anew when the profiles have changed. What is wrong is shown, and the next change is another try.
func (s *show) look(ctx context.Context) {
	files, err := s.read(ctx)
	if err != nil || sameFiles(files, s.files) {
		// A file that is being replaced is missing for a moment.
		return
	}
	s.files = files
	s.terminal.Line("\n%s %s", s.terminal.Bold("The profiles have changed."), s.terminal.Dim(time.Now().Format(time.TimeOnly)))
	err = s.load()
	if err != nil {
		s.terminal.Line("%v\nThe extension keeps those that it had.", err)
		return
	}
	if err := s.again(ctx); err != nil && ctx.Err() == nil {
		s.terminal.Failure(err)
	}
}

// again takes the control plane away and deploys it under the changed profiles.
func (s *show) again(ctx context.Context) error {
	before, began := s.subjects, time.Now()
	s.subjects, s.stage.program = nil, s.program
	for _, old := range before {
		s.subjects = append(s.subjects, &subject{sample: old.sample})
	}
	err := s.terminal.Phase("the extension, until it has loaded them", func(func(string)) (string, error) {
		if err := each(ctx, before, s.stage.remove); err != nil {
			return "", err
		}
		// A lookup may be new.
		if _, err := s.grant(ctx); err != nil {
			return "", err
		}
		if err := s.stage.provide(ctx, s.profiles); err != nil {
			return "", err
		}
		if err := each(ctx, s.subjects, s.stage.prepare); err != nil {
			return "", err
		}
		s.stage.waitCalled(ctx, differing(before, s.subjects))
		return "log: " + near(s.extension.Log), nil
	})
	if err != nil {
		return err
	}
	if err := s.deploy(ctx); err != nil {
		return err
	}
	return s.report(time.Since(began))
}

// remove deletes an object that may never have been stored.
func (g *stage) remove(ctx context.Context, s *subject) error {
	object, err := decode(s.sample.JSON)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(g.client.Delete(ctx, object))
}

// differing are the subjects of which the engine makes something else than before; both lists are of the same objects.
func differing(before, after []*subject) []*subject {
	known := map[string]*subject{}
	for _, s := range before {
		// Of one that could not be prepared nothing is known.
		if s.change != nil {
			known[s.name()] = s
		}
	}
	var found []*subject
	for _, s := range after {
		old := known[s.name()]
		if old == nil || (old.refused == nil) != (s.refused == nil) || !bytes.Equal(old.change.Bytes(), s.change.Bytes()) {
			found = append(found, s)
		}
	}
	return found
}

func sameFiles(a, b []source.File) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || !bytes.Equal(a[i].Data, b[i].Data) ||
			!maps.EqualFunc(a[i].Attachments, b[i].Attachments, bytes.Equal) {
			return false
		}
	}
	return true
}

// copyKubeconfig gives the administrator's kubeconfig a path that is the same each time.
func (s *show) copyKubeconfig() (string, error) {
	content, err := os.ReadFile(s.landscape.Kubeconfig())
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	path := filepath.Join(s.folder, "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return path, nil
}

// advice are commands that work as they stand.
func (s *show) advice(kubeconfig string) string {
	var (
		kubectl = near(s.landscape.Kubectl())
		inside  = kubectl + " -n " + s.stage.namespace.Name
		title   = s.terminal.Bold
		files   []string
	)
	for _, path := range s.options.profiles {
		files = append(files, near(path))
	}
	lines := []string{
		title("To see a rule at work,") + " edit " + strings.Join(files, " or ") + ".",
		"The extension loads it within a second, and the control plane is deployed anew and shown here.",
		"",
		title("To look further,") + " in another terminal:",
		"",
		"  export KUBECONFIG=" + kubeconfig,
		"  " + inside + " get deployments,etcds,services",
		"  " + inside + " get " + s.example() + " -o yaml",
		"  " + inside + " edit " + s.example() + "        # try to undo what a rule did",
		"  " + kubectl + " get mutatingwebhookconfigurations " + clusterName + " -o yaml",
		"  tail -f " + near(s.extension.Log),
		"",
		"Every request that wrote something is in " + near(filepath.Join(s.folder, "audit.log")) + ", with the patches of the webhooks.",
		title("Ctrl-C ends everything."),
	}
	return strings.Join(lines, "\n")
}

// example is an object that was changed, as kubectl calls it.
func (s *show) example() string {
	for _, one := range s.subjects {
		if one.touched {
			return strings.ToLower(one.change.Kind) + "/" + one.change.Name
		}
	}
	return "deployment/kube-apiserver"
}

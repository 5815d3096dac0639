// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// objects is the folder with what is asked about, and with the answers as they should be.
const objects = "hack/start/interpreter/objects/"

// subject is an object that is asked about.
type subject struct {
	// says what it is about, and name is that of its files.
	says, name string
	// file is the object of the control plane.
	file string
	// replicas are those that a cluster gets; -1: that is not asked.
	replicas int32
	// template are the operations that Karmada asks with the object of the control plane. With that of a member it asks for health and status.
	template []interpreter.Operation
}

func subjects() []subject {
	const (
		replicas, revise     = interpreter.Replicas, interpreter.Revise
		dependencies, retain = interpreter.Dependencies, interpreter.Retain
		aggregate            = interpreter.Aggregate
	)
	return []subject{
		{"A Worker as gardenlet writes it, and what an extension in a member has made of it", "worker", objects + "worker.yaml", -1,
			[]interpreter.Operation{dependencies, retain, aggregate}},
		{"An Etcd as gardenlet writes it, and what etcd-druid in a member says of it", "etcd", objects + "etcd.yaml", 0,
			[]interpreter.Operation{replicas, revise, dependencies, aggregate}},
		{"A kind that only the profile knows", "database", "example/interpreter/objects/database.yaml", 4,
			[]interpreter.Operation{replicas, revise, dependencies, retain, aggregate}},
	}
}

// show asks all, shows it, and holds that it is as it should be.
func (s subject) show(ctx context.Context, k *karmada, t *console.Terminal) error {
	k.asked, k.took = 0, 0
	results, err := s.ask(ctx, k)
	if err != nil {
		return err
	}
	t.Line("\n%s %s", t.Bold(s.says), t.Dim(fmt.Sprintf("(%d questions over TLS in %.1f ms)", k.asked, float64(k.took)/float64(time.Millisecond))))
	for i, title := range []string{"With the object of the control plane", "With that of a member"} {
		var text strings.Builder
		if err := interpret.Write(&text, render.Style{}, results[i:i+1]); err != nil {
			return err
		}
		t.Line("  %s: %s", title, strings.ReplaceAll(strings.TrimSpace(text.String()), "\n", "\n  "))
	}
	return s.check(results)
}

// ask asks about the object of the control plane, and about that of a member.
func (s subject) ask(ctx context.Context, by interpret.Interpreter) ([]interpret.Result, error) {
	read, err := manifest.Read([]string{s.file, s.beside("member")}, strings.NewReader(""))
	if err != nil {
		return nil, err
	}
	if len(read) != 2 {
		return nil, fmt.Errorf("%s and %s must have one object each", s.file, s.beside("member"))
	}
	said, err := os.ReadFile(s.beside("members"))
	if err != nil {
		return nil, fmt.Errorf("reading what members say: %w", err)
	}
	members, err := interpret.ParseMembers(source.File{Name: s.beside("members"), Data: said})
	if err != nil {
		return nil, fmt.Errorf("reading what members say: %w", err)
	}
	template, err := interpret.Run(ctx, read[0], interpret.Options{
		By: by, Operations: s.template, Observed: read[1:], Replicas: &s.replicas, Members: members,
	})
	if err != nil {
		return nil, err
	}
	member, err := interpret.Run(ctx, read[1], interpret.Options{By: by, Operations: []interpreter.Operation{interpreter.Status, interpreter.Health}})
	return []interpret.Result{template, member}, err
}

func (s subject) beside(what string) string { return objects + s.name + "." + what + ".yaml" }

// check holds that answers are those of the file.
func (s subject) check(results []interpret.Result) error {
	text, err := os.ReadFile(s.beside("answers"))
	if err != nil {
		return fmt.Errorf("reading the answers as they should be: %w", err)
	}
	var want any
	if err := yaml.Unmarshal(text, &want); err != nil {
		return fmt.Errorf("reading %s: %w", s.beside("answers"), err)
	}
	got, err := plain(results)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("the answers are not those of %s (-should be +are):\n%s", s.beside("answers"), diff)
	}
	return nil
}

// plain are answers as a document of YAML is read.
func plain(results []interpret.Result) (any, error) {
	raw, err := json.Marshal(interpret.DocumentOf(results))
	if err != nil {
		return nil, fmt.Errorf("encoding the answers: %w", err)
	}
	var got any
	err = json.Unmarshal(raw, &got)
	return got, err
}

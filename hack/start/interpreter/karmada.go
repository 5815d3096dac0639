// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/dispatch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// karmada asks the webhook as Karmada does, by the configuration that it was given. What is answered does not say which rules have answered; those
// are looked up in this process, by the same profiles.
type karmada struct {
	webhook *dispatch.Dispatcher
	rules   *rule.Program
	asked   int
	took    time.Duration
}

// register makes the configuration of the webhook, as somebody does who installs it, and reads it as Karmada does.
func register(ctx context.Context, s *server, t *console.Terminal) (*karmada, error) {
	k := &karmada{}
	return k, t.Phase("the configuration for Karmada", func(func(string)) (string, error) {
		text, err := exec.CommandContext(ctx, s.Graft, "interpreter", "webhook", "-p", s.Profile, "--url", s.url, "--ca", s.authority()).Output()
		if err != nil {
			return "", fmt.Errorf("writing the configuration: %w", err)
		}
		if err := os.WriteFile(s.configuration(), text, 0o600); err != nil {
			return "", fmt.Errorf("writing the configuration: %w", err)
		}
		var c configuration.ResourceInterpreterWebhookConfiguration
		if err := yaml.UnmarshalStrict(text, &c); err != nil {
			return "", fmt.Errorf("reading the configuration: %w", err)
		}
		if k.webhook, err = dispatch.New(dispatch.Options{Hooks: dispatch.Interpreters(&c)}); err != nil {
			return "", err
		}
		k.rules, err = compile(s.Profile)
		return s.configuration(), err
	})
}

// compile are the rules of a profile, and behind them those for Gardener's kinds.
func compile(path string) (*rule.Program, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	documents, findings := profile.LoadInterpreters(source.File{Name: path, Data: data})
	if err := findings.Errors().Err(); err != nil {
		return nil, err
	}
	behind, err := gardener.Profiles()
	if err != nil {
		return nil, err
	}
	rules, findings := rule.Compile(append(documents, behind...))
	return rules, findings.Errors().Err()
}

// Interpret implements interpret.Interpreter.
func (k *karmada) Interpret(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
	begun := time.Now()
	answer, err := k.webhook.Interpret(ctx, r)
	k.took += time.Since(begun)
	k.asked++
	if err == nil {
		var known interpreter.Response
		known, err = k.rules.Interpret(ctx, r)
		answer.Because = known.Because
	}
	return answer, err
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// ErrNoObject means that a text is not an object with a kind and a name.
var ErrNoObject = errors.New("not an object with a kind and a name")

// Change is an object with its original and current state, the authors of the difference and the rules involved.
type Change struct {
	APIVersion, Kind, Namespace, Name string
	// ControlPlane names the control plane of the object; empty if there is only one.
	ControlPlane string
	// Applied lists the rules of the object's target with their outcomes, in the order of their application.
	Applied []mutation.Applied
	// Denied is the reason for denying the object, or nil. Callers that do not use the engine set it themselves.
	Denied error
	// Note is written next to the name in place of the summary of the rules; empty for that.
	Note string
	// Shoots are the control planes that have the change, where several have the same.
	Shoots []string

	blame             *Blame
	original, current []byte
	redactor          redactor
}

// NewChange begins with the original object, as JSON. The error wraps ErrNoObject or one of package document.
func NewChange(object []byte) (*Change, error) {
	parsed, err := document.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	lines, err := Text(object)
	if err != nil {
		return nil, err
	}
	c := &Change{blame: NewBlame(lines), original: object, current: object, redactor: newRedactor()}
	root := parsed.Root()
	c.APIVersion, _ = root.Get("apiVersion").Text()
	c.Kind, _ = root.Get("kind").Text()
	c.Namespace, _ = root.Find("metadata", "namespace").Text()
	c.Name, _ = root.Find("metadata", "name").Text()
	if c.Kind == "" || c.Name == "" {
		return nil, ErrNoObject
	}
	if c.APIVersion == "v1" && c.Kind == "Secret" {
		c.redactor.addSecret(c.Name)
	}
	return c, nil
}

// Admission is how an object comes to the API server.
type Admission struct {
	// Namespace and Labels are the name and the labels of the namespace; they say which webhooks are called.
	Namespace string
	Labels    map[string]string
	// Operation is CREATE or UPDATE.
	Operation string
	// Old is the current object in the cluster as JSON, or nil on CREATE.
	Old []byte
}

// Admit admits the object like kube-apiserver: once for each registration of the program that selects the namespace and
// the object. It attributes changes to the rules. The error is a
// *mutation.Failure; the change then has the state after the previous registrations.
func (c *Change) Admit(ctx context.Context, p *mutation.Program, a Admission, source facts.Source) error {
	for _, registration := range p.Registrations() {
		r := c.Request(registration, a, c.current)
		if !registration.Selects(a.Namespace, a.Labels) || !registration.Has(r.Group, c.Kind, c.Name) {
			continue
		}
		if err := c.admit(ctx, p, r, source); err != nil {
			c.Denied = err
			return err
		}
	}
	return nil
}

// Request returns the call of the webhook of a registration for a state of the object, as JSON.
func (c *Change) Request(r mutation.Registration, a Admission, object []byte) mutation.Request {
	group, version, found := strings.Cut(c.APIVersion, "/")
	if !found {
		group, version = "", group
	}
	return mutation.Request{
		Set: r.Set, Provider: r.Provider, Garden: r.Garden, Operation: a.Operation, Namespace: a.Namespace,
		Name: c.Name, Group: group, Version: version, Kind: c.Kind, Object: object, OldObject: a.Old,
	}
}

func (c *Change) admit(ctx context.Context, p *mutation.Program, r mutation.Request, source facts.Source) error {
	type state struct {
		by     Author
		object []byte
	}
	var (
		states []state
		edits  int
		before = c.current
		secret string // the replacement for values from Secrets, or empty
	)
	result, err := p.Trace(ctx, r, source, func(rule mutation.Applied, step mutation.Step, o *target.Object) {
		if step.Value.From != nil {
			secret = step.Value.String()
			c.redactor.addStep(before, step, o)
		}
		if made := o.Document.Edits(); made != edits {
			edits = made
			if secret != "" && rule.Profile == "" {
				// The engine derives values from those of rules, such as annotations with the names of Secrets.
				c.redactor.addWritten(before, o.Document.Bytes(), false, secret)
			}
			before = o.Document.Bytes()
			states = append(states, state{AuthorOf(rule), before})
		}
	})
	if err != nil {
		return err
	}
	for _, s := range states {
		if err := c.Become(s.by, s.object); err != nil {
			return err
		}
	}
	c.Applied = append(c.Applied, result.Applied...)
	return nil
}

// Become sets another state of the object and attributes all differences to the author. It fails if one of the states
// is not a JSON object.
func (c *Change) Become(by Author, object []byte) error {
	return c.become(object, func(lines []Line) { c.blame.Advance(by, lines) })
}

func (c *Change) become(object []byte, advance func([]Line)) error {
	lines, err := Text(object)
	if err != nil {
		return err
	}
	advance(lines)
	c.current = object
	return nil
}

// Bytes returns the current object as JSON with all values; Shown hides values from Secrets.
func (c *Change) Bytes() []byte { return c.current }

// Shown returns the current object as JSON. Values from Secrets in rules and the data of a Secret are hidden. It fails
// if the object is not valid JSON.
func (c *Change) Shown() ([]byte, error) { return c.redactor.object(c.current) }

// Edits returns all lines of the object, changed ones with their authors. Values from Secrets in rules and the data of
// a Secret are hidden.
func (c *Change) Edits() []Edit {
	edits := c.blame.Edits()
	for i := range edits {
		edits[i].Line = c.redactor.line(edits[i].Line)
	}
	return edits
}

// RedactMessage hides values from Secrets in a message about the object.
func (c *Change) RedactMessage(message string) string { return c.redactor.message(message) }

// Changed reports whether the object differs from the original one.
func (c *Change) Changed() bool {
	return !bytes.Equal(c.original, c.current)
}

// RedactLine hides values from Secrets, and the data of a Secret, in a line of any state of the object.
func (c *Change) RedactLine(line Line) Line { return c.redactor.line(line) }

// Denial returns the reason for denying the object. Values from Secrets are hidden, whoever wrote the message.
func (c *Change) Denial() string { return c.RedactMessage(c.Denied.Error()) }

// Hides reports whether rules have written values from Secrets, or the object is a Secret: these values are hidden in
// all output.
func (c *Change) Hides() bool { return !c.redactor.empty() }

// Reveal displays hidden values. Only the user who asked for it may read the output then.
func (c *Change) Reveal() { c.redactor = newRedactor() }

// Count returns the number of rules with an outcome.
func (c *Change) Count(outcome mutation.Outcome) int {
	count := 0
	for _, applied := range c.Applied {
		if applied.Outcome == outcome {
			count++
		}
	}
	return count
}

// AuthorOf returns a rule as an author.
func AuthorOf(rule mutation.Applied) Author {
	return Author{Rule: rule.Name(), Profile: rule.Profile, Position: rule.Position}
}

// Differs reports whether a line at a path that begins with the prefix was added or removed.
func (c *Change) Differs(prefix string) bool {
	return slices.ContainsFunc(c.blame.Edits(), func(e Edit) bool { return e.Op != Same && strings.HasPrefix(e.Line.Path, prefix) })
}

// size counts the lines that were added and removed.
func (c *Change) size() (added, removed int) {
	for _, edit := range c.blame.Edits() {
		switch edit.Op {
		case Added:
			added++
		case Removed:
			removed++
		}
	}
	return added, removed
}

func (c *Change) title() string { return c.Kind + " " + c.Name }

// place returns the title, with the snapshot if there are several.
func (c *Change) place() string {
	if c.ControlPlane == "" {
		return c.title()
	}
	return c.title() + " (" + c.ControlPlane + ")"
}

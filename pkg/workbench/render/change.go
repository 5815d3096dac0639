// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// ErrNoObject means that a text is not an object with a kind and a name.
var ErrNoObject = errors.New("not an object with a kind and a name")

// Change is an object on its way: what it was, what it is, who made the difference and which rules had a say.
type Change struct {
	APIVersion, Kind, Namespace, Name string
	// Scene says of which control plane the object is; empty where there is one only.
	Scene string
	// Applied are the rules of the object's target with what became of each, in the order in which they were applied.
	Applied []mutation.Applied
	// Denied is why the object is not admitted, or nil. Callers that ask somebody else than the engine set it themselves.
	Denied error
	// Note is written next to the name in place of the summary of the rules; empty for that.
	Note string
	// Shoots are the control planes that have the change, where several have the same.
	Shoots []string

	blame             *Blame
	original, current []byte
	veil              veil
	// revealed says that nothing is hidden.
	revealed bool
}

// NewChange begins with the object, as JSON, as it came. The error wraps ErrNoObject or one of package document.
func NewChange(object []byte) (*Change, error) {
	parsed, err := document.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	lines, err := Text(object)
	if err != nil {
		return nil, err
	}
	c := &Change{blame: NewBlame(lines), original: object, current: object, veil: newVeil()}
	root := parsed.Root()
	c.APIVersion, _ = root.Get("apiVersion").Text()
	c.Kind, _ = root.Get("kind").Text()
	c.Namespace, _ = root.Find("metadata", "namespace").Text()
	c.Name, _ = root.Find("metadata", "name").Text()
	if c.Kind == "" || c.Name == "" {
		return nil, ErrNoObject
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
	// Old is the object as it stands, as JSON; nil on CREATE.
	Old []byte
}

// Admit takes the object through the engine as the API server does: once for each registration of the program that selects
// the namespace and has the object among its forms. What changes is attributed to the rules. The error is a
// *mutation.Failure; the change is then as the registrations before left it.
func (c *Change) Admit(ctx context.Context, p *mutation.Program, a Admission, source facts.Source) error {
	group, version := groupVersion(c.APIVersion)
	for _, registration := range p.Registrations() {
		if !registration.Selects(a.Namespace, a.Labels) || !registration.Has(group, c.Kind, c.Name) {
			continue
		}
		err := c.admit(ctx, p, mutation.Request{
			Set: registration.Set, Provider: registration.Provider, Garden: registration.Garden,
			Operation: a.Operation, Namespace: a.Namespace, Name: c.Name,
			Group: group, Version: version, Kind: c.Kind, Object: c.current, OldObject: a.Old,
		}, source)
		if err != nil {
			c.Denied = err
			return err
		}
	}
	return nil
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
		known  []masked // what of Secrets was written
		values = heard{values: map[string]bool{}}
	)
	result, err := p.Trace(ctx, r, listen(source, &values), func(rule mutation.Applied, step mutation.Step, o *target.Object) {
		if secret := c.veil.add(ctx, step, values.all()); len(secret) > 0 {
			c.veil.places.addStep(before, step, o, secret)
			known = append(known, secret...)
		}
		if made := o.Document.Edits(); made != edits {
			edits = made
			if rule.Profile == "" {
				c.veil.places.addDerived(before, o.Document.Bytes(), known)
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

// Become goes to another state of the object, in which everything that is different is the author's work.
func (c *Change) Become(by Author, object []byte) error {
	return c.become(object, func(lines []Line) { c.blame.Advance(by, lines) })
}

// Complete goes to another state of the object, in which the author has completed what rules wrote, such as with defaults:
// the lines of a rule stay that rule's.
func (c *Change) Complete(by Author, object []byte) error {
	return c.become(object, func(lines []Line) { c.blame.Complete(by, lines) })
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

// Bytes is the object as it is now, as JSON, with everything in it; Shown hides what rules made of Secrets.
func (c *Change) Bytes() []byte { return c.current }

// Shown is the object as it is now, as JSON. What rules made of Secrets is hidden, and what a Secret holds.
func (c *Change) Shown() ([]byte, error) {
	shown, err := c.veil.cover().object("", c.current)
	if err != nil || !c.isSecret() {
		return shown, err
	}
	return c.concealed("", shown)
}

// Edits are all lines of the object, those that changed with their authors. What rules made of Secrets is hidden, and what a Secret holds.
func (c *Change) Edits() []Edit {
	edits := c.veil.lines(c.blame.Edits())
	if c.isSecret() {
		return c.withoutData(edits)
	}
	return edits
}

// Veil hides in a text what rules made of Secrets, for those who show the object in another way.
func (c *Change) Veil() func(text string) string { return c.veil.cover().text }

// Changed says whether the object is not what it was.
func (c *Change) Changed() bool {
	return !bytes.Equal(c.original, c.current)
}

// VeilLine hides in a line of any state of the object what rules made of Secrets: also what is too short to be hidden in every text.
func (c *Change) VeilLine() func(line Line) Line { return c.veil.cover().line }

// Denial is why the object is denied, which it is. What rules made of Secrets is hidden, whoever wrote the message.
func (c *Change) Denial() string { return c.veil.cover().text(c.Denied.Error()) }

// HideAs hides what the other change hides.
func (c *Change) HideAs(other *Change) { c.veil = other.veil }

// Hides says whether rules have made something of Secrets, or the object is one: that is hidden in all that is shown.
func (c *Change) Hides() bool { return !c.veil.empty() || c.isSecret() }

// Reveal shows what is hidden. Nobody but the person who asked for it may read the output then.
func (c *Change) Reveal() { c.veil, c.revealed = newVeil(), true }

// Count says how many of the rules had an outcome.
func (c *Change) Count(outcome mutation.Outcome) int {
	count := 0
	for _, applied := range c.Applied {
		if applied.Outcome == outcome {
			count++
		}
	}
	return count
}

// AuthorOf is a rule as an author.
func AuthorOf(rule mutation.Applied) Author {
	return Author{Rule: rule.Name(), Profile: rule.Profile, Position: rule.Position}
}

func groupVersion(apiVersion string) (group, version string) {
	for i := range len(apiVersion) {
		if apiVersion[i] == '/' {
			return apiVersion[:i], apiVersion[i+1:]
		}
	}
	return "", apiVersion
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// Streams holds the input and output of a command, and the properties of the terminal.
type Streams struct {
	In io.Reader
	// Out gets the result, Err progress and errors.
	Out, Err io.Writer
	// Interactive and ErrInteractive say that a terminal reads Out and Err along, and Asks that one writes In.
	Interactive, ErrInteractive, Asks bool
	// Width is that of the terminal in characters; 0 when it is not known.
	Width int

	colour colourMode
}

// Terminal returns the streams of the process.
func Terminal() *Streams {
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Interactive: term.IsTerminal(int(os.Stdout.Fd())), ErrInteractive: term.IsTerminal(int(os.Stderr.Fd())),
		Asks: term.IsTerminal(int(os.Stdin.Fd())),
	}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && s.Interactive {
		s.Width = width
	}
	return s
}

// Colour reports whether the output is coloured: on a terminal, unless NO_COLOR is set (no-color.org) or a flag
// overrides it.
func (s *Streams) Colour() bool {
	switch s.colour {
	case colourAlways:
		return true
	case colourNever:
		return false
	}
	return s.Interactive && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// style returns the style of changes.
func (s *Streams) style() render.Style {
	return render.Style{Colour: s.Colour(), Width: s.Width}
}

// colourMode is the value of --color.
type colourMode string

const (
	colourAuto   colourMode = "auto"
	colourAlways colourMode = "always"
	colourNever  colourMode = "never"
)

// String implements pflag.Value.
func (m *colourMode) String() string {
	if *m == "" {
		return string(colourAuto)
	}
	return string(*m)
}

// Type implements pflag.Value.
func (m *colourMode) Type() string { return "when" }

// Set implements pflag.Value.
func (m *colourMode) Set(value string) error {
	return choose((*string)(m), value, string(colourAuto), string(colourAlways), string(colourNever))
}

// choose takes one of the values that a flag can have.
func choose(into *string, value string, known ...string) error {
	for _, one := range known {
		if one == value {
			*into = value
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", strings.Join(known, ", "))
}

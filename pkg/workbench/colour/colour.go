// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package colour colours text for terminals by its role. Start reading at Tone.
package colour

// Tone is the role of a text, which determines its colour.
type Tone string

// The tones; the value of each is its code of ANSI.
const (
	Normal  Tone = ""
	Title   Tone = "1"
	Heading Tone = "36"
	Added   Tone = "32"
	Removed Tone = "31"
	Dim     Tone = "2"
	Alarm   Tone = "1;31"
	Good    Tone = "32"
	Bad     Tone = "31"
	Warning Tone = "33"
)

// Paint colours text, if there are colours.
func (t Tone) Paint(colours bool, text string) string {
	if !colours || t == Normal || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kubeflags

import (
	"fmt"
	"strconv"
	"time"
)

// Check returns a description of an invalid value of a flag according to its type: one text for each occurrence of the
// flag in the command line, none for a flag without a value. It returns an empty string if all values are valid.
func (h FlagHistory) Check(texts []string) string {
	if len(texts) == 0 && parsers[h.Type] != nil && h.Type != "bool" {
		return "needs a value, of type " + h.Type
	}
	for _, text := range texts {
		if parse := parsers[h.Type]; parse != nil && parse(text) != nil {
			return fmt.Sprintf("takes a value of type %s, not %q", h.Type, text)
		}
	}
	return ""
}

// parsers read the values of flags as pflag does, by type.
var parsers = map[string]func(string) error{
	"bool":     func(text string) error { _, err := strconv.ParseBool(text); return err },
	"duration": func(text string) error { _, err := time.ParseDuration(text); return err },
	"int":      integer(64),
	"int32":    integer(32),
	"int64":    integer(64),
	"uint":     natural(64),
	"uint32":   natural(32),
	"uint64":   natural(64),
	"float32":  float(32),
	"float64":  float(64),
}

func integer(bits int) func(string) error {
	return func(text string) error { _, err := strconv.ParseInt(text, 0, bits); return err }
}

func natural(bits int) func(string) error {
	return func(text string) error { _, err := strconv.ParseUint(text, 0, bits); return err }
}

func float(bits int) func(string) error {
	return func(text string) error { _, err := strconv.ParseFloat(text, bits); return err }
}

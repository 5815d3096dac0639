// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// answers reads the durations of the provider's responses from its log.
type answers struct {
	path   string
	offset int64
}

// next returns the total duration of all responses since the previous call.
func (a *answers) next() (sum time.Duration, err error) {
	file, err := os.Open(a.path)
	if err != nil {
		return 0, fmt.Errorf("reading the provider's log: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text, err := io.ReadAll(io.NewSectionReader(file, a.offset, 1<<30))
	if err != nil {
		return 0, fmt.Errorf("reading the provider's log: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break // the line is incomplete
		}
		a.offset += int64(len(line))
		var said struct{ Msg, Duration string }
		if json.Unmarshal([]byte(line), &said) != nil || said.Msg != "Answered" {
			continue
		}
		took, err := time.ParseDuration(said.Duration)
		if err != nil {
			return 0, fmt.Errorf("reading the provider's log: %w", err)
		}
		sum += took
	}
	return sum, nil
}

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// GeneratorName is the program that writes control planes with Gardener's code. That code takes 45 ms of CPU to start and
// 70 MB, which is why it is a program of its own.
const GeneratorName = "graft-controlplane"

// ErrNoGenerator means that the program is not installed.
var ErrNoGenerator = errors.New("the program " + GeneratorName + " is not there")

// Generated is a control plane as written by Gardener; graft-controlplane writes it as one JSON object per line.
type Generated struct {
	// Namespace is that of the control plane; Cluster is the resource that gardenlet writes for the shoot, or the Garden of a
	// virtual garden.
	Namespace json.RawMessage `json:"namespace"`
	Cluster   json.RawMessage `json:"cluster"`
	// Objects are those of the control plane, sorted by kind and name.
	Objects []json.RawMessage `json:"objects"`
	// Error says why there is none.
	Error string `json:"error,omitempty"`
}

// Generator writes control planes: one for each of the options, in their order.
type Generator interface {
	Generate(ctx context.Context, options ...Options) ([]Generated, error)
}

// Program is the Generator that runs graft-controlplane.
type Program struct{ Path string }

// FindProgram returns graft-controlplane in the folder of the running program, or in PATH. The error wraps
// ErrNoGenerator.
func FindProgram() (Program, error) {
	if own, err := os.Executable(); err == nil {
		if own, err = filepath.EvalSymlinks(own); err == nil {
			beside := filepath.Join(filepath.Dir(own), GeneratorName+filepath.Ext(own))
			if info, err := os.Stat(beside); err == nil && !info.IsDir() {
				return Program{beside}, nil
			}
		}
	}
	path, err := exec.LookPath(GeneratorName)
	if err != nil {
		return Program{}, fmt.Errorf("%w: put it next to graft or into PATH (`make build` builds both), or give manifests", ErrNoGenerator)
	}
	return Program{path}, nil
}

// Generate implements Generator: all control planes in one run.
func (p Program) Generate(ctx context.Context, options ...Options) ([]Generated, error) {
	var in, out, problems bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, o := range options {
		if err := encoder.Encode(o); err != nil {
			return nil, fmt.Errorf("encoding the options of a control plane: %w", err)
		}
	}
	command := exec.CommandContext(ctx, p.Path) // #nosec G204 -- it is the program that was found, without arguments
	command.Stdin, command.Stdout, command.Stderr = &in, &out, &problems
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		said := strings.TrimSpace(problems.String())
		if said == "" {
			said = "it did not say why"
		}
		return nil, fmt.Errorf("%s failed (%w): %s", p.Path, err, said)
	}
	return readGenerated(&out, len(options))
}

func readGenerated(from *bytes.Buffer, count int) ([]Generated, error) {
	planes := make([]Generated, count)
	decoder := json.NewDecoder(from)
	for i := range planes {
		err := decoder.Decode(&planes[i])
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s wrote %d control planes where %d were asked for", GeneratorName, i, count)
		}
		if err != nil {
			return nil, fmt.Errorf("reading what %s wrote: %w", GeneratorName, err)
		}
		if planes[i].Error != "" {
			return nil, errors.New(planes[i].Error)
		}
	}
	return planes, nil
}

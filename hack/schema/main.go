// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command schema writes docs/schema: JSON Schemas of the documents that users write, for editors. They describe
// fields, targets, operations and their arguments, as far as possible without evaluation. All of it comes from
// existing sources: the Go types and their comments, the targets, and the registry of operations. `make
// generate` runs it from the root of the module. Start reading at main; each document has a file.
package main

//go:generate sh -c "cd ../.. && go run ./hack/schema"

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
)

const folder = "docs/schema"

func main() {
	log.SetFlags(0)
	for name, build := range map[string]func() (object, error){
		"providerprofile.json":                  providerProfile,
		"controllerconfiguration.json":          controllerConfiguration,
		"networkproviderconfiguration.json":     networkProviderConfiguration,
		"resourceinterpreterconfiguration.json": resourceInterpreterConfiguration,
		"networkprofile.json":                   networkProfile,
		"interpreterprofile.json":               interpreterProfile,
		"providerprofiletest.json":              providerProfileTest,
		"interpreterprofiletest.json":           interpreterProfileTest,
	} {
		schema, err := build()
		if err != nil {
			log.Fatalf("schema: building %s: %s", name, err)
		}
		if err := write(filepath.Join(folder, name), schema); err != nil {
			log.Fatalf("schema: %s", err)
		}
	}
}

// write writes a schema. Its members are sorted, so that the output is reproducible.
func write(path string, schema object) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(schema); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

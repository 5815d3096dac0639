// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command size prints the composition of a program: its sections, and its code and data by module. It reads the
// symbols of an ELF file, so that the program must not be stripped. Start reading at report.
//
//	go run ./hack/size bin/graft
package main

import (
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("give a program: go run ./hack/size bin/graft")
	}
	if err := report(os.Stdout, os.Args[1]); err != nil {
		log.Fatalf("size: %s", err)
	}
}

// share is a size in bytes with its name.
type share struct {
	name  string
	bytes uint64
}

func report(out io.Writer, path string) error {
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("reading the program: %w", err)
	}
	defer func() { _ = file.Close() }()
	symbols, err := file.Symbols()
	if err != nil {
		return fmt.Errorf("reading the symbols: %w", err)
	}
	sections := map[string]uint64{}
	for _, section := range file.Sections {
		if section.Type != elf.SHT_NOBITS && section.Type != elf.SHT_NULL {
			sections[kindOf(section.Name)] += section.FileSize
		}
	}
	origins := map[string]uint64{}
	for _, symbol := range symbols {
		if elf.ST_TYPE(symbol.Info) == elf.STT_FUNC || elf.ST_TYPE(symbol.Info) == elf.STT_OBJECT {
			if int(symbol.Section) < len(file.Sections) && file.Sections[symbol.Section].Type != elf.SHT_NOBITS {
				origins[originOf(symbol.Name)] += symbol.Size
			}
		}
	}
	fmt.Fprintf(out, "| section | MB |\n|---|---|\n")
	write(out, sections, 20)
	fmt.Fprintf(out, "\n| code and data from | MB |\n|---|---|\n")
	write(out, origins, 16)
	return nil
}

// kindOf returns the purpose of a section of a Go program.
func kindOf(section string) string {
	switch {
	case section == ".text":
		return "code"
	case section == ".gopclntab":
		return "tables for stack traces"
	case strings.HasPrefix(section, ".debug"), strings.HasPrefix(section, ".zdebug"), section == ".symtab", section == ".strtab":
		return "for debuggers (`strip` removes it)"
	case section == ".rodata", section == ".typelink", section == ".itablink", section == ".go.module":
		return "constants, types and embedded files"
	default:
		return "data"
	}
}

// originOf returns the module of a symbol; for packages of well-known hosts, the owner.
func originOf(symbol string) string {
	switch {
	case strings.HasPrefix(symbol, "type:") || strings.HasPrefix(symbol, "go:itab"):
		return "types"
	case strings.HasPrefix(symbol, "go:") || strings.HasPrefix(symbol, "runtime.pclntab") || strings.HasPrefix(symbol, "runtime.findfunctab"):
		return "strings and tables of the linker"
	}
	folder, last := "", symbol
	if at := strings.LastIndex(strings.SplitN(symbol, "[", 2)[0], "/"); at >= 0 {
		folder, last = symbol[:at+1], symbol[at+1:]
	}
	name, _, _ := strings.Cut(last, ".")
	parts := strings.Split(folder+name, "/")
	switch {
	case !strings.Contains(parts[0], "."):
		return "Go's own library"
	case strings.Contains(symbol, "graft-provider"):
		return "Graft"
	case len(parts) > 2 && (parts[0] == "github.com" || parts[0] == "golang.org" || parts[0] == "google.golang.org"):
		return strings.Join(parts[:2], "/") + "/" + parts[2]
	default:
		return strings.Join(parts[:min(2, len(parts))], "/")
	}
}

// write writes the largest shares as rows, and the rest as one row.
func write(out io.Writer, bytes map[string]uint64, rows int) {
	var list []share
	total := uint64(0)
	for name, size := range bytes {
		list = append(list, share{name, size})
		total += size
	}
	slices.SortFunc(list, func(a, b share) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name)) })
	rest := uint64(0)
	for i, one := range list {
		if i >= rows {
			rest += one.bytes
			continue
		}
		fmt.Fprintf(out, "| %s | %.1f |\n", one.name, float64(one.bytes)/1e6)
	}
	if rest > 0 {
		fmt.Fprintf(out, "| %d others | %.1f |\n", len(list)-rows, float64(rest)/1e6)
	}
	fmt.Fprintf(out, "| **together** | **%.1f** |\n", float64(total)/1e6)
}

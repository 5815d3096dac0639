// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
)

// ErrUnknownContent means that the content of a file is unknown.
var ErrUnknownContent = errors.New("content of a file")

// NodeFile is a file of a node. Read returns its content, false where that is not known.
type NodeFile struct {
	Path string
	Read func() (string, bool)
}

// Service is the service that systemd runs for a unit: the arguments of its ExecStart with specifiers and variables
// expanded.
type Service struct {
	Arguments []string
	// Unknown lists the environment files with unknown content among the given files.
	Unknown []string

	flags []commandline.Flag
	end   int // of the program in Arguments
}

// EffectiveService computes a service from the files of a node as systemd does: the first fragment on the search path,
// then its drop-ins by name, including those of its aliases and its type (systemd.unit(5)), then the environment
// (systemd.exec(5)). Of two files with the same path the last one counts. A variable that no file sets is empty. The
// error is ErrUnit for an invalid unit, ErrUnknownContent for a file with unknown content, or that of a command:
// ErrNoCommand, ErrSeveralCommands, ErrQuote or commandline.ErrShell.
func EffectiveService(name string, files []NodeFile) (*Service, error) {
	c := serviceCompiler{name: name, files: map[string]NodeFile{}}
	for _, f := range files {
		c.files[RealPath(f.Path)] = f
	}
	names := []string{name}
	if err := c.read(names); err != nil {
		return nil, err
	}
	if aliases, err := c.words("Install", "Alias"); err != nil {
		return nil, err
	} else if len(aliases) > 0 {
		if err := c.read(append(names, aliases...)); err != nil {
			return nil, err
		}
	}
	return c.service()
}

// Program returns the arguments before the first flag.
func (s *Service) Program() []string { return s.Arguments[:s.end] }

// Differences returns the names of the flags with different values in another service; a name may occur twice.
func (s *Service) Differences(other *Service) []string {
	return commandline.Differences(s.flags, other.flags)
}

// The directories of systemd's units and of its own configuration, the most important first (systemd.unit(5),
// systemd-system.conf(5)).
var (
	unitPath = []string{
		"/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient", "/run/systemd/generator.early",
		"/etc/systemd/system", "/etc/systemd/system.attached", "/run/systemd/system", "/run/systemd/system.attached",
		"/run/systemd/generator", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/run/systemd/generator.late",
	}
	managerPath = []string{"/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd"}
)

// linked lists directories that are links to other directories in every distribution.
var linked = map[string]string{"/lib/": "/usr/lib/", "/var/run/": "/run/"}

// RealPath returns the path under which a file is found: without . and .., and without the links that every distribution has.
func RealPath(name string) string {
	name = path.Clean(name)
	for link, directory := range linked {
		if rest, ok := strings.CutPrefix(name, link); ok {
			return directory + rest
		}
	}
	return name
}

// serviceCompiler merges the files of a service.
type serviceCompiler struct {
	name  string
	files map[string]NodeFile
	parts []*Unit // the fragment and its drop-ins, in their order
}

// read reads the fragment of the first of the names and the drop-ins of all.
func (c *serviceCompiler) read(names []string) error {
	var directories []string
	for _, name := range names {
		for _, directory := range unitPath {
			for name := name; name != ""; name = broader(name) {
				directories = append(directories, path.Join(directory, name+".d"))
			}
		}
	}
	for _, directory := range unitPath {
		directories = append(directories, path.Join(directory, strings.TrimPrefix(path.Ext(c.name), ".")+".d"))
	}
	var err error
	c.parts, err = c.merge(unitPath, c.name, directories)
	return err
}

// broader returns the name of another unit with drop-ins for a unit: foo-.service for foo-bar.service; "" for none.
func broader(name string) string {
	extension := path.Ext(name)
	stem := strings.TrimSuffix(strings.TrimSuffix(name, extension), "-")
	if i := strings.LastIndexByte(stem, '-'); i > 0 {
		return stem[:i+1] + extension
	}
	return ""
}

// merge parses the first file with a name in several directories, and the drop-ins in other directories.
func (c *serviceCompiler) merge(main []string, name string, dropIns []string) ([]*Unit, error) {
	var files []NodeFile
	for _, directory := range main {
		if f, ok := c.files[path.Join(directory, name)]; ok {
			files = append(files, f)
			break
		}
	}
	files = append(files, c.dropIns(dropIns)...)
	var parts []*Unit
	for _, f := range files {
		text, ok := f.Read()
		if !ok {
			return nil, fmt.Errorf("reading %s: its content is not known: %w", f.Path, ErrUnknownContent)
		}
		part, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.Path, err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// dropIns returns the drop-ins in some directories by their names. Of those with the same name, the first one counts.
func (c *serviceCompiler) dropIns(directories []string) []NodeFile {
	type found struct {
		name string
		rank int
		file NodeFile
	}
	var all []found
	for file, f := range c.files {
		directory, name := path.Split(file)
		rank := slices.Index(directories, path.Clean(directory))
		if rank >= 0 && strings.HasSuffix(name, ".conf") && !strings.HasPrefix(name, ".") {
			all = append(all, found{name, rank, f})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		if order := strings.Compare(a.name, b.name); order != 0 {
			return order
		}
		return a.rank - b.rank
	})
	all = slices.CompactFunc(all, func(a, b found) bool { return a.name == b.name })
	files := make([]NodeFile, len(all))
	for i := range all {
		files[i] = all[i].file
	}
	return files
}

// valuesIn returns the values of an option behind its last empty assignment.
func valuesIn(parts []*Unit, section, option string) []string {
	var out []string
	for _, part := range parts {
		for _, value := range part.Values(section, option) {
			if value == "" {
				out = nil
				continue
			}
			out = append(out, value)
		}
	}
	return out
}

// words returns the words of all values of an option, with their specifiers expanded.
func (c *serviceCompiler) words(section, option string) ([]string, error) {
	return c.wordsIn(c.parts, section, option)
}

func (c *serviceCompiler) wordsIn(parts []*Unit, section, option string) ([]string, error) {
	var out []string
	for _, value := range valuesIn(parts, section, option) {
		words, err := scanWords(value, 0, len(value))
		if err != nil {
			return nil, fmt.Errorf("reading option %q of section %q: %w", option, section, err)
		}
		for _, w := range words {
			out = append(out, c.expand(w.text))
		}
	}
	return out, nil
}

// expand expands the specifiers with known values (systemd.unit(5), "Specifiers"). It leaves other specifiers
// unchanged.
func (c *serviceCompiler) expand(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	stem := strings.TrimSuffix(c.name, path.Ext(c.name))
	// In the name of a unit, a dash represents the slash of a path.
	unescaped, last := strings.ReplaceAll(stem, "-", "/"), stem[strings.LastIndexByte(stem, '-')+1:]
	return strings.NewReplacer("%%", "%", "%n", c.name, "%N", stem, "%p", stem, "%P", unescaped, "%i", "", "%I", "", "%j", last, "%J", last,
		"%t", "/run", "%S", "/var/lib", "%C", "/var/cache", "%L", "/var/log", "%E", "/etc", "%T", "/tmp", "%V", "/var/tmp",
		"%h", "/root", "%u", "root", "%U", "0", "%g", "root", "%G", "0", "%f", "/"+unescaped).Replace(text)
}

// service computes the command from the parts.
func (c *serviceCompiler) service() (*Service, error) {
	commands := valuesIn(c.parts, "Service", "ExecStart")
	switch len(commands) {
	case 0:
		return nil, fmt.Errorf("unit %s: %w", c.name, ErrNoCommand)
	case 1:
	default:
		return nil, fmt.Errorf("unit %s: %w", c.name, ErrSeveralCommands)
	}
	words, err := scanWords(commands[0], 0, len(commands[0]))
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", c.name, err)
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("unit %s: %w", c.name, ErrNoCommand)
	}
	s := &Service{}
	environment, err := c.environment(s)
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", c.name, err)
	}
	program := strings.TrimLeft(words[0].text, prefixes)
	prefix := words[0].text[:len(words[0].text)-len(program)]
	s.Arguments = append(s.Arguments, c.expand(program))
	words = words[1:]
	if strings.Contains(prefix, "@") && len(words) > 0 {
		words = words[1:] // the name that the program is run under
	}
	for _, w := range words {
		argument := c.expand(w.text)
		if strings.Contains(prefix, ":") {
			s.Arguments = append(s.Arguments, argument)
			continue
		}
		s.Arguments = append(s.Arguments, environment.expand(argument)...)
	}
	return s, s.parse()
}

// parse finds the flags in the arguments.
func (s *Service) parse() error {
	tokens := make([]commandline.Token, len(s.Arguments))
	for i, argument := range s.Arguments {
		tokens[i] = commandline.Token{Text: argument}
	}
	if commandline.RunsShell(tokens) {
		return commandline.ErrShell
	}
	s.end = commandline.ProgramEnd(tokens)
	s.flags, _ = commandline.ParseFlags(nil, tokens)
	return nil
}

// environment are the variables of a service.
type environment map[string]string

var variableName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (e environment) assign(assignments []string) {
	for _, assignment := range assignments {
		if name, value, ok := strings.Cut(assignment, "="); ok && variableName.MatchString(name) {
			e[name] = value
		}
	}
}

// environment computes the variables in the order of systemd: those of the manager, Environment, the files in their order, and
// without those in UnsetEnvironment.
func (c *serviceCompiler) environment(s *Service) (environment, error) {
	var dropIns []string
	for _, directory := range managerPath {
		dropIns = append(dropIns, path.Join(directory, "system.conf.d"))
	}
	manager, err := c.merge(managerPath, "system.conf", dropIns)
	if err != nil {
		return nil, err
	}
	defaults, err1 := c.wordsIn(manager, "Manager", "DefaultEnvironment")
	more, err2 := c.wordsIn(manager, "Manager", "ManagerEnvironment")
	own, err3 := c.words("Service", "Environment")
	unset, err4 := c.words("Service", "UnsetEnvironment")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	e := environment{}
	e.assign(defaults)
	e.assign(more)
	e.assign(own)
	for _, f := range c.environmentFiles() {
		text, ok := f.Read()
		if !ok {
			s.Unknown = append(s.Unknown, f.Path)
			continue
		}
		e.assign(environmentAssignments(text))
	}
	for _, text := range unset {
		if name, value, ok := strings.Cut(text, "="); !ok || e[name] == value {
			delete(e, name)
		}
	}
	return e, nil
}

// environmentFiles returns the given files that EnvironmentFile names, which may be by a pattern.
func (c *serviceCompiler) environmentFiles() []NodeFile {
	var out []NodeFile
	for _, value := range valuesIn(c.parts, "Service", "EnvironmentFile") {
		pattern := RealPath(c.expand(strings.TrimPrefix(value, "-")))
		var names []string
		for name := range c.files {
			if matched, err := path.Match(pattern, name); matched && err == nil || name == pattern {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			out = append(out, c.files[name])
		}
	}
	return out
}

var bracedVariable = regexp.MustCompile(`\$\$|\$\{[^}]*\}`)

// expand returns the arguments that systemd makes of one (src/basic/env-util.c): a variable without braces that is an argument
// of its own becomes any number of them, and one with braces a part of the argument. "$$" is a dollar sign.
func (e environment) expand(argument string) []string {
	if isSplit(argument) {
		return splitVariable(e[argument[1:]])
	}
	return []string{bracedVariable.ReplaceAllStringFunc(argument, func(match string) string {
		if match == "$$" {
			return "$"
		}
		return e[match[2:len(match)-1]]
	})}
}

// splitVariable splits the value of a variable at white space. Quotes protect white space, and a backslash the
// character after it.
func splitVariable(text string) []string {
	var out []string
	word, started, quote := []byte(nil), false, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			word, started = append(word, text[i]), true
		case quote == 0 && (c == '"' || c == '\''):
			quote, started = c, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && strings.IndexByte(" \t\n\r", c) >= 0:
			if started {
				out = append(out, string(word))
			}
			word, started = nil, false
		default:
			word, started = append(word, c), true
		}
	}
	if started {
		out = append(out, string(word))
	}
	return out
}

// environmentAssignments returns the assignments in an environment file, with quotes and escapes taken out, as systemd reads
// them (src/basic/env-file.c): one in a line, quotes around any part of the value, a backslash before a line break goes on with
// the next line. Lines that begin with # or ; and lines without = are left out.
func environmentAssignments(text string) []string {
	var out []string
	r := environmentReader{text: text}
	for r.at < len(r.text) {
		if name, value, ok := r.line(); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}

type environmentReader struct {
	text string
	at   int
}

// line reads a line, with those that go on with its value.
func (r *environmentReader) line() (name, value string, ok bool) {
	r.at += len(r.text[r.at:]) - len(strings.TrimLeft(r.text[r.at:], " \t\r\n"))
	if r.at < len(r.text) && isUnitComment(r.text[r.at]) {
		// A backslash at the end of a comment means nothing since systemd 254.
		r.at += len(r.text[r.at:]) - len(strings.TrimLeftFunc(r.text[r.at:], func(c rune) bool { return c != '\n' && c != '\r' }))
		return "", "", false
	}
	end := strings.IndexAny(r.text[r.at:], "=\r\n")
	if end < 0 {
		r.at = len(r.text)
		return "", "", false
	}
	name = strings.TrimRight(r.text[r.at:r.at+end], " \t")
	r.at += end + 1
	if r.text[r.at-1] != '=' {
		return "", "", false
	}
	return name, r.value(), true
}

// value reads up to the end of the line. White space around parts in quotes and at both ends means nothing.
func (r *environmentReader) value() string {
	var out []byte
	end := 0         // length without trailing white space
	inValue := false // outside of quotes, behind a character that is no white space
	for ; r.at < len(r.text) && !isLineBreak(r.text[r.at]); r.at++ {
		switch c := r.text[r.at]; {
		case !inValue && isBlank(c):
		case !inValue && (c == '\'' || c == '"'):
			r.at++
			out = r.quoted(out, c)
			end = len(out)
		case c == '\\':
			inValue = true
			if r.at++; r.at < len(r.text) && !isLineBreak(r.text[r.at]) {
				out = append(out, r.text[r.at])
			}
			end = len(out)
		default:
			inValue = true
			if out = append(out, c); !isBlank(c) {
				end = len(out)
			}
		}
	}
	return string(out[:end])
}

// quoted reads up to the closing quote, at which the reader stays.
func (r *environmentReader) quoted(out []byte, quote byte) []byte {
	for ; r.at < len(r.text) && r.text[r.at] != quote; r.at++ {
		c := r.text[r.at]
		if c != '\\' || quote == '\'' || r.at+1 == len(r.text) {
			out = append(out, c)
			continue
		}
		r.at++
		switch next := r.text[r.at]; {
		case strings.IndexByte("\"\\`$", next) >= 0:
			out = append(out, next)
		case next != '\n':
			out = append(out, c, next)
		}
	}
	return out
}

func isLineBreak(c byte) bool { return c == '\n' || c == '\r' }

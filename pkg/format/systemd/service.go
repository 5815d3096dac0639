// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
)

// ErrUnknownContent means that the content of a file is unknown.
var ErrUnknownContent = errors.New("content of a file")

// NodeFile is a file of a node. Content returns false if the text is not known.
type NodeFile struct {
	Path    string
	Content interface{ Text() (string, bool) }
}

// Text is a known content of a file.
type Text string

// Text returns the text.
func (t Text) Text() (string, bool) { return string(t), true }

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
	return (*ServiceCache)(nil).EffectiveService(name, files)
}

// The limits of a ServiceCache, which bound its memory to some MiB.
const (
	cachedServices    = 256      // services
	cachedServiceText = 16 << 10 // bytes of the unit and its drop-ins
)

// ServiceCache remembers services by the texts that define them. It is safe for concurrent use. A nil cache remembers
// nothing.
type ServiceCache struct{ known *lru.Cache }

// NewServiceCache returns an empty cache for 256 services.
func NewServiceCache() *ServiceCache { return &ServiceCache{known: lru.New(cachedServices)} }

// cachedService is a service without aliases, and the patterns of its environment files. It is valid for a node without
// these files.
type cachedService struct {
	service  *Service
	patterns []string
}

// EffectiveService returns the result of the function EffectiveService. The service may be shared: it must not be
// changed. It fails like that function.
func (s *ServiceCache) EffectiveService(name string, files []NodeFile) (*Service, error) {
	c := serviceCompiler{name: name, files: files, paths: make([]string, len(files))}
	for i, f := range files {
		c.paths[i] = RealPath(f.Path)
	}
	unit, err := c.unitTexts([]string{name})
	if err != nil {
		return nil, err
	}
	manager, err := c.managerTexts()
	if err != nil {
		return nil, err
	}
	key := c.key(unit, manager)
	if service := s.find(&c, key); service != nil {
		return service, nil
	}
	service, err := c.compile(unit, manager)
	if err == nil {
		s.add(&c, key, service, unit)
	}
	return service, err
}

// find returns the service for a key, or nil if there is none that is valid for the node.
func (s *ServiceCache) find(c *serviceCompiler, key [sha256.Size]byte) *Service {
	if s == nil {
		return nil
	}
	value, ok := s.known.Get(key)
	if !ok {
		return nil
	}
	cached := value.(cachedService)
	if slices.ContainsFunc(cached.patterns, func(pattern string) bool { return len(c.matches(pattern)) > 0 }) {
		return nil
	}
	return cached.service
}

// add remembers a service that only the key determines.
func (s *ServiceCache) add(c *serviceCompiler, key [sha256.Size]byte, service *Service, unit []nodeText) {
	size := 0
	for _, text := range unit {
		size += len(text.text)
	}
	if s == nil || c.aliased || len(c.environmentFiles()) > 0 || size > cachedServiceText {
		return
	}
	s.known.Add(key, cachedService{service, c.environmentPatterns()})
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
var linked = [...]struct{ link, directory string }{{"/lib/", "/usr/lib/"}, {"/var/run/", "/run/"}}

// RealPath returns the path under which a file is found: without . and .., and without the links that every
// distribution has.
func RealPath(name string) string {
	name = path.Clean(name)
	for _, l := range linked {
		if rest, ok := strings.CutPrefix(name, l.link); ok {
			return l.directory + rest
		}
	}
	return name
}

// serviceCompiler merges the files of a service.
type serviceCompiler struct {
	name  string
	files []NodeFile
	paths []string // the real paths of the files
	parts []*Unit  // the fragment and its drop-ins, in their order
	// aliased is true if the unit has other names.
	aliased bool
}

// nodeText is a file of a node with its content.
type nodeText struct{ path, text string }

// unitTexts returns the fragment of the first of the names and the drop-ins of all.
func (c *serviceCompiler) unitTexts(names []string) ([]nodeText, error) {
	return c.texts(unitPath, c.name, func(directory string) int { return dropInRank(names, directory) })
}

// managerTexts returns the configuration of systemd itself.
func (c *serviceCompiler) managerTexts() ([]nodeText, error) {
	return c.texts(managerPath, "system.conf", func(directory string) int {
		parent, ok := strings.CutSuffix(directory, "/system.conf.d")
		if !ok {
			return -1
		}
		return slices.Index(managerPath, parent)
	})
}

// file returns the index of the file at a real path, or -1. Of several, the last one counts.
func (c *serviceCompiler) file(path string) int {
	for i := len(c.paths) - 1; i >= 0; i-- {
		if c.paths[i] == path {
			return i
		}
	}
	return -1
}

// key returns a digest of everything that determines a service without aliases and environment files.
func (c *serviceCompiler) key(parts ...[]nodeText) (key [sha256.Size]byte) {
	buffer := keyBuffers.Get().(*[]byte)
	all := (*buffer)[:0]
	all = append(all, c.name...)
	for _, texts := range parts {
		all = binary.AppendUvarint(all, uint64(len(texts)))
		for _, t := range texts {
			all = append(binary.AppendUvarint(all, uint64(len(t.text))), t.text...)
		}
	}
	key = sha256.Sum256(all)
	if len(all) <= cachedServiceText {
		*buffer = all
		keyBuffers.Put(buffer)
	}
	return key
}

var keyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// compile computes the service from its texts and those of the manager.
func (c *serviceCompiler) compile(unit, manager []nodeText) (*Service, error) {
	var err error
	if c.parts, err = parseAll(unit); err != nil {
		return nil, err
	}
	aliases, err := c.words("Install", "Alias")
	if err != nil {
		return nil, err
	}
	if c.aliased = len(aliases) > 0; c.aliased {
		if unit, err = c.unitTexts(append([]string{c.name}, aliases...)); err != nil {
			return nil, err
		}
		if c.parts, err = parseAll(unit); err != nil {
			return nil, err
		}
	}
	settings, err := parseAll(manager)
	if err != nil {
		return nil, err
	}
	return c.service(settings)
}

// dropInRank returns the rank of a directory with drop-ins for a unit with some names, or -1. A lower rank is more
// important: by the names and those of broader units, then by the type; for each of them by the search path.
func dropInRank(names []string, directory string) int {
	parent, name := path.Split(directory)
	place := slices.Index(unitPath, strings.TrimSuffix(parent, "/"))
	name, ok := strings.CutSuffix(name, ".d")
	if place < 0 || !ok {
		return -1
	}
	const broadest = 256 // more than the dashes in the name of a unit
	for i, of := range names {
		for depth := 0; of != ""; depth++ {
			if of == name {
				return (i*len(unitPath)+place)*broadest + depth
			}
			of = broader(of)
		}
	}
	if name == strings.TrimPrefix(path.Ext(names[0]), ".") {
		return (len(names)*len(unitPath) + place) * broadest
	}
	return -1
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

// texts returns the first file with a name in several directories, and the drop-ins in directories with a rank.
func (c *serviceCompiler) texts(main []string, name string, rank func(directory string) int) ([]nodeText, error) {
	var files []NodeFile
	for _, directory := range main {
		if i := c.file(directory + "/" + name); i >= 0 {
			files = append(files, c.files[i])
			break
		}
	}
	files = append(files, c.dropIns(rank)...)
	texts := make([]nodeText, len(files))
	for i, f := range files {
		text, ok := f.Content.Text()
		if !ok {
			return nil, fmt.Errorf("reading %s: its content is not known: %w", f.Path, ErrUnknownContent)
		}
		texts[i] = nodeText{f.Path, text}
	}
	return texts, nil
}

func parseAll(texts []nodeText) ([]*Unit, error) {
	parts := make([]*Unit, len(texts))
	for i, t := range texts {
		part, err := Parse(t.text)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", t.path, err)
		}
		parts[i] = part
	}
	return parts, nil
}

// dropIns returns the drop-ins in directories with a rank by their names. Of those with the same name, the one with the
// lowest rank counts; -1 is no rank.
func (c *serviceCompiler) dropIns(rankOf func(directory string) int) []NodeFile {
	type found struct {
		name string
		rank int
		file NodeFile
	}
	var all []found
	for i := len(c.files) - 1; i >= 0; i-- { // of several files at a path, the last one counts
		directory, name := path.Split(c.paths[i])
		if !strings.HasSuffix(name, ".conf") || strings.HasPrefix(name, ".") {
			continue
		}
		if rank := rankOf(strings.TrimSuffix(directory, "/")); rank >= 0 {
			all = append(all, found{name, rank, c.files[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
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

// service computes the command from the parts and the settings of the manager.
func (c *serviceCompiler) service(manager []*Unit) (*Service, error) {
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
	environment, err := c.environment(s, manager)
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
		s.Arguments = environment.expand(s.Arguments, argument)
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

// environment computes the variables in the order of systemd: those of the manager, Environment, the files in their
// order, and without those in UnsetEnvironment.
func (c *serviceCompiler) environment(s *Service, manager []*Unit) (environment, error) {
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
		text, ok := f.Content.Text()
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

// environmentPatterns returns the paths and patterns in EnvironmentFile.
func (c *serviceCompiler) environmentPatterns() []string {
	var out []string
	for _, value := range valuesIn(c.parts, "Service", "EnvironmentFile") {
		out = append(out, RealPath(c.expand(strings.TrimPrefix(value, "-"))))
	}
	return out
}

// environmentFiles returns the given files that EnvironmentFile names.
func (c *serviceCompiler) environmentFiles() []NodeFile {
	var out []NodeFile
	for _, pattern := range c.environmentPatterns() {
		for _, name := range c.matches(pattern) {
			out = append(out, c.files[c.file(name)])
		}
	}
	return out
}

// matches returns the paths of the given files with a path or a pattern, sorted.
func (c *serviceCompiler) matches(pattern string) []string {
	var names []string
	isPattern := strings.ContainsAny(pattern, `*?[\`)
	for _, name := range c.paths {
		if name == pattern {
			names = append(names, name)
		} else if isPattern {
			if matched, err := path.Match(pattern, name); err == nil && matched {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var bracedVariable = regexp.MustCompile(`\$\$|\$\{[^}]*\}`)

// expand appends the arguments that systemd makes of one (src/basic/env-util.c): a variable without braces that is an
// argument of its own becomes any number of them, and one with braces a part of the argument. "$$" is a dollar sign.
func (e environment) expand(arguments []string, argument string) []string {
	if isSplit(argument) {
		return append(arguments, splitVariable(e[argument[1:]])...)
	}
	if strings.Contains(argument, "$") {
		argument = bracedVariable.ReplaceAllStringFunc(argument, func(match string) string {
			if match == "$$" {
				return "$"
			}
			return e[match[2:len(match)-1]]
		})
	}
	return append(arguments, argument)
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

// environmentAssignments returns the assignments in an environment file, with quotes and escapes taken out, as systemd
// reads them (src/basic/env-file.c): one in a line, quotes around any part of the value, a backslash before a line
// break goes on with the next line. Lines that begin with # or ; and lines without = are left out.
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

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package docs_test compares the claims of the documents with the code: cited tests exist, tables have a row for each
// item in the code, and links have targets. It only reads files.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/gardener/gardener/extensions/pkg/webhook/cloudprovider"
	webhookcmd "github.com/gardener/gardener/extensions/pkg/webhook/cmd"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/commands"
)

// root is the folder of the repository.
var root = filepath.Join("..", "..")

// TestDocs compares the documents with the code.
func TestDocs(t *testing.T) {
	t.Run("cited tests exist", testCitations)
	t.Run("every statement is held", testStatements)
	t.Run("every clause has a statement", testClauses)
	t.Run("every reason is documented", testReasons)
	t.Run("metrics exist", testMetrics)
	t.Run("links lead somewhere", testLinks)
	t.Run("switches of webhooks exist", testSwitches)
	t.Run("profiles can be loaded", testProfiles)
}

// folders are the packages by the names under which the documents cite them.
var folders = map[string]string{
	"sample": "pkg/controlplane/sample", "mutation": "pkg/controlplane/mutation", "webhook": "pkg/controlplane/webhook",
	"contract": "pkg/controlplane/contract", "admission": "test/admission", "test/profiles": "test/profiles",
	"test/admission": "test/admission",
}

// citation is `package TestName/sub/test` in backticks, and spec is `package: text` of a Ginkgo spec or container.
var (
	citation = regexp.MustCompile("`([a-z/]+) (Test[A-Za-z0-9]+)(?:/([^`]+))?`")
	spec     = regexp.MustCompile("`([a-z/]+): ([^`]+)`")
)

func testCitations(t *testing.T) {
	count := 0
	for _, file := range []string{"docs/contract.md", "docs/failures.md"} {
		for _, cited := range citation.FindAllStringSubmatch(read(t, file), -1) {
			count++
			folder, known := folders[cited[1]]
			if !known {
				t.Errorf("%s: %s: there is no package %q", file, cited[0], cited[1])
				continue
			}
			if problem := missing(t, folder, cited[2], cited[3]); problem != "" {
				t.Errorf("%s: %s: %s", file, cited[0], problem)
			}
		}
		for _, cited := range spec.FindAllStringSubmatch(read(t, file), -1) {
			folder, known := folders[cited[1]]
			if !known {
				continue // another text with a colon
			}
			count++
			if !hasSpec(testSources(t, folder), cited[2]) {
				t.Errorf("%s: %s: %s has no such spec", file, cited[0], folder)
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d citations were found: are they written otherwise now?", count)
	}
}

// missing returns the missing part of a test.
func missing(t *testing.T, folder, test, sub string) string {
	t.Helper()
	sources := testSources(t, folder)
	if !strings.Contains(sources, "\nfunc "+test+"(t *testing.T)") {
		return "there is no such test in " + folder
	}
	component, last, nested := strings.Cut(sub, "/")
	switch {
	case sub == "":
		return ""
	case folder == "pkg/controlplane/mutation":
		data := map[string]string{"TestAdmit": "admit", "TestRefused": "refused"}[test]
		if info, err := os.Stat(filepath.Join(root, folder, "testdata", data, sub)); data == "" || err != nil ||
			!info.IsDir() {
			return "there is no such case in testdata"
		}
	case folder == "test/profiles" && strings.HasPrefix(test, "TestProfiles"):
		provider, name, _ := strings.Cut(sub, "/")
		cases, err := os.ReadFile(filepath.Join(root, folder, "testdata", provider, "cases.yaml"))
		if err != nil || name != "" && !strings.Contains(string(cases), "\n- name: "+name+"\n") {
			return "there is no such case in testdata"
		}
	// A case is named by one string, or by the component and the rest.
	case strings.Contains(sources, strconv.Quote(sub)):
	case nested && strings.Contains(sources, strconv.Quote(component)) &&
		strings.Contains(sources, strconv.Quote("/"+last)):
	default:
		return "there is no such case"
	}
	return ""
}

// hasSpec reports whether sources have a spec or a container with a text, or one that ends in the name of a case.
func hasSpec(sources, text string) bool {
	if strings.Contains(sources, "("+strconv.Quote(text)+",") {
		return true
	}
	for i := range text {
		if strings.Contains(sources, "It("+strconv.Quote(text[:i])+"+") &&
			strings.Contains(sources, strconv.Quote(text[i:])+":") {
			return true
		}
	}
	return false
}

func testSources(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests (%v)", folder, err)
	}
	var out strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(content)
	}
	return out.String()
}

// statement is an item of docs/contract.md with the items within it. It begins with its clause.
var statement = regexp.MustCompile("(?m)^- `([^`]+)`.*(?:\n +.*)*")

// testStatements checks that no statement of the contract is without a test.
func testStatements(t *testing.T) {
	statements := statement.FindAllStringSubmatch(read(t, "docs/contract.md"), -1)
	for _, found := range statements {
		_, tests, _ := strings.Cut(found[0], "- Tests:")
		if !citation.MatchString(tests) && !spec.MatchString(tests) {
			t.Errorf("no test or spec is cited for the statement %s", found[1])
		}
	}
	if len(statements) < 50 {
		t.Errorf("only %d statements were found", len(statements))
	}
}

// testClauses checks that clauses in messages have a statement.
func testClauses(t *testing.T) {
	listed := map[string]bool{}
	for _, found := range statement.FindAllStringSubmatch(read(t, "docs/contract.md"), -1) {
		listed[found[1]] = true
	}
	found := 0
	for _, id := range regexp.MustCompile(`Clause\{"([^"]+)"`).FindAllStringSubmatch(read(t,
		"pkg/controlplane/contract/reserved.go"), -1) {
		found++
		if !listed[id[1]] {
			t.Errorf("docs/contract.md has no statement %s, which messages cite", id[1])
		}
	}
	if found < 20 {
		t.Errorf("only %d clauses were found in the code", found)
	}
}

// failure is an item of docs/failures.md: a reason and its code.
var failure = regexp.MustCompile("(?m)^- `([A-Za-z]+)` \\(([0-9]+)\\): ")

// testReasons compares the list of failures with the constants, the codes and the cases of test/admission.
func testReasons(t *testing.T) {
	inCode := map[string]bool{}
	for _, file := range []string{"pkg/controlplane/mutation/failure.go", "pkg/controlplane/webhook/failure.go"} {
		for _, reason := range reasonsIn(t, file) {
			inCode[reason] = true
		}
	}
	listed := map[string]bool{}
	cases := testSources(t, "test/admission")
	for _, item := range failure.FindAllStringSubmatch(read(t, "docs/failures.md"), -1) {
		reason := item[1]
		listed[reason] = true
		// Reasons of the engine have their codes in one place; test/admission checks those of the edge.
		if code := (&mutation.Failure{Reason: mutation.Reason(reason)}).Code(); code != 0 &&
			strconv.Itoa(int(code)) != item[2] {
			t.Errorf("docs/failures.md: the code of %s is %s, and %d in the code", reason, item[2], code)
		}
		if !strings.Contains(cases, "\n\t\t"+strconv.Quote(reason)+": ") &&
			!strings.Contains(cases, ": "+reason+`", func(`) &&
			!regexp.MustCompile(`\n\t\t"`+reason+`":\s`).MatchString(cases) {
			t.Errorf("test/admission has no case %s", reason)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(inCode)), slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("the reasons in docs/failures.md (-code +document):\n%s", diff)
	}
}

// reasonsIn are the values of the constants of type Reason in a file.
func reasonsIn(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, declaration := range parsed.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			constant, ok := spec.(*ast.ValueSpec)
			if !ok || !isReason(constant.Type) || len(constant.Values) != 1 {
				continue
			}
			reason, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		t.Fatalf("%s has no constants of type Reason", file)
	}
	return reasons
}

// isReason reports whether a type is Reason or mutation.Reason.
func isReason(expression ast.Expr) bool {
	switch expression := expression.(type) {
	case *ast.Ident:
		return expression.Name == "Reason"
	case *ast.SelectorExpr:
		return expression.Sel.Name == "Reason"
	default:
		return false
	}
}

// testMetrics checks that documents and program have the same metrics.
func testMetrics(t *testing.T) {
	inCode := map[string]bool{}
	named := regexp.MustCompile(`(?:Name: +|NewDesc\(|gauge\(|counter\(|` +
		`New(?:Counter|Gauge)\(registry, )"(graft_[a-z_]+)"`)
	for _, folder := range []string{"pkg", "cmd"} {
		for _, file := range sources(t, folder) {
			for _, name := range named.FindAllStringSubmatch(read(t, file), -1) {
				inCode[name[1]] = true
			}
		}
	}
	// The metrics of profiles are the same for both servers, whose names are in the metrics.
	shared := regexp.MustCompile(`Name: +"graft_" \+ server \+ "_([a-z_]+)"`)
	for _, name := range shared.FindAllStringSubmatch(read(t, "pkg/profile/watch/reloader.go"), -1) {
		inCode["graft_network_"+name[1]], inCode["graft_interpreter_"+name[1]] = true, true
	}
	delete(inCode, "graft_uncounted") // it is registered nowhere
	inDocs := map[string]bool{}
	for _, file := range documents(t) {
		for _, name := range regexp.MustCompile(`\bgraft_[a-z_]+`).FindAllString(read(t, file), -1) {
			inDocs[name] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(inCode)), slices.Sorted(maps.Keys(inDocs))); diff != "" {
		t.Errorf("the metrics in the documents (-code +documents):\n%s", diff)
	}
}

// testProfiles compiles the blocks that are whole profiles. Blocks that are written into a file are checked by the
// commands after them.
func testProfiles(t *testing.T) {
	count, networks := 0, 0
	for _, file := range documents(t) {
		if strings.HasPrefix(file, filepath.Join("docs", "lint")) {
			continue // these examples are wrong, and checked by the linter
		}
		blocks, err := commands.Blocks(read(t, file))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, block := range blocks {
			if block.Language != "yaml" || block.File != "" {
				continue
			}
			if wholeNetwork.MatchString(block.Text) {
				networks++
				testNetwork(t, source.File{Name: file, Data: []byte(block.Text)}, block.Line)
			}
			if !wholeProfile.MatchString(block.Text) {
				continue
			}
			count++
			documents, findings := profile.Load(source.File{Name: file, Data: []byte(block.Text)})
			if err := findings.Err(); err != nil {
				t.Errorf("%s:%d: %v", file, block.Line, err)
			} else if _, err := compiler.Compile(documents, compiler.Options{}); err != nil {
				t.Errorf("%s:%d: %v", file, block.Line, err)
			}
		}
	}
	if count == 0 || networks == 0 {
		t.Errorf("%d profiles of control planes and %d of networks were found", count, networks)
	}
}

// testNetwork compiles a NetworkProfile that may have only warnings.
func testNetwork(t *testing.T, file source.File, line int) {
	t.Helper()
	documents, findings := profile.LoadNetworks(file)
	if err := findings.Err(); err != nil {
		t.Errorf("%s:%d: %v", file.Name, line, err)
		return
	}
	_, findings = policy.Compile(documents)
	if errors := findings.Errors(); len(errors) > 0 {
		t.Errorf("%s:%d: %v", file.Name, line, errors)
	}
}

// wholeNetwork is a NetworkProfile with a head and pools.
var wholeNetwork = regexp.MustCompile(`(?s)^apiVersion:.*\bkind: NetworkProfile\n.*\npools:`)

// wholeProfile is a profile with a head and rules.
var wholeProfile = regexp.MustCompile(`(?s)\bkind: ProviderProfile\n.*\nproviders:.*\ncontrolplane`)

// link is [text](target#anchor).
var link = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)

func testLinks(t *testing.T) {
	count := 0
	for _, file := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, file), -1) {
			target, anchor := found[1], found[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") || target+anchor == "" {
				continue
			}
			count++
			path := file
			if target != "" {
				path = filepath.Join(filepath.Dir(file), target)
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", file, target)
			} else if anchor != "" && strings.HasSuffix(path, ".md") && !anchors(t, path)[anchor] {
				t.Errorf("%s: there is no heading #%s in %s", file, anchor, path)
			}
		}
	}
	if count < 10 {
		t.Errorf("only %d links were found", count)
	}
}

// heading is a heading of a page, outside of blocks.
var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// anchors are the names of a page's headings, as GitHub makes them.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	text := read(t, file)
	blocks, err := commands.Blocks(text)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	for _, block := range blocks {
		clear(lines[block.Line : block.Line+strings.Count(block.Text, "\n")])
	}
	out := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
		name := strings.Map(func(char rune) rune {
			switch {
			case char == ' ':
				return '-'
			case char == '-' || char == '_' || unicode.IsLetter(char) || unicode.IsDigit(char):
				return unicode.ToLower(char)
			default:
				return -1
			}
		}, found[1])
		out[name] = true
	}
	return out
}

// disableWebhooks is the flag on the pages that disables webhooks of a provider extension.
var disableWebhooks = regexp.MustCompile("--disable-webhooks=[^` \\n]+")

// testSwitches passes each --disable-webhooks of the pages to Gardener's own code, which ends a program that disables
// an unknown webhook. The webhooks are those of today's providers that Graft replaces, and one that stays.
func testSwitches(t *testing.T) {
	start := func(flag string) error {
		options := webhookcmd.NewSwitchOptions(
			webhookcmd.Switch(controlplane.WebhookName, nil), webhookcmd.Switch(controlplane.SeedProviderWebhookName, nil),
			webhookcmd.Switch(cloudprovider.WebhookName, nil),
		)
		flags := pflag.NewFlagSet("provider", pflag.ContinueOnError)
		options.AddFlags(flags)
		if err := flags.Parse([]string{flag}); err != nil {
			return err
		}
		return options.Complete()
	}
	if start("--disable-webhooks=controlplane,controlplaneexposure") == nil {
		t.Error("Gardener's code accepts an unknown webhook name")
	}
	count := 0
	for _, file := range documents(t) {
		if file == "CHANGELOG.md" {
			continue
		}
		for _, flag := range disableWebhooks.FindAllString(read(t, file), -1) {
			count++
			if err := start(flag); err != nil {
				t.Errorf("%s: %s: %v", file, flag, err)
			}
		}
	}
	if count < 3 {
		t.Errorf("the pages have --disable-webhooks= %d times, want at least 3", count)
	}
}

// documents returns all Markdown files of the repository, without folders that are not part of it.
func documents(t *testing.T) []string {
	t.Helper()
	files := find(t, ".", ".md")
	if !slices.Contains(files, "README.md") || !slices.Contains(files, filepath.Join("docs", "contract.md")) {
		t.Fatalf("the documents are %q", files)
	}
	return files
}

// sources are the Go files of a folder and those below it, without tests.
func sources(t *testing.T, folder string) []string {
	t.Helper()
	return slices.DeleteFunc(find(t, folder, ".go"), func(file string) bool { return strings.HasSuffix(file, "_test.go") })
}

// find returns the files in a folder and below it with a suffix.
func find(t *testing.T, folder, ending string) []string {
	t.Helper()
	files, err := walk(folder, ending)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// walk returns the files of the repository below a folder with an ending of their names.
func walk(folder, ending string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (entry.Name() == "vendor" || entry.Name() == "testdata" ||
			strings.HasPrefix(entry.Name(), ".")) && entry.Name() != "..":
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, ending):
			relative, err := filepath.Rel(root, path)
			files = append(files, relative)
			return err
		}
		return nil
	})
	return files, err
}

func read(t testing.TB, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

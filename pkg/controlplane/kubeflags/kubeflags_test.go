// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kubeflags_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
)

const (
	apiserver  = "kube-apiserver"
	controller = "kube-controller-manager"
	scheduler  = "kube-scheduler"
	kubelet    = "kubelet"
)

// TestTable checks that the table is complete: all versions from 1.31, with flags and gates of each component.
func TestTable(t *testing.T) {
	versions := kubeflags.Versions()
	if len(versions) < 6 || versions[0] != 31 || versions[len(versions)-1] != versions[0]+kubeflags.Minor(len(versions)-1) {
		t.Errorf("the versions are %v", versions)
	}
	if diff := cmp.Diff([]string{apiserver, controller, scheduler, kubelet}, kubeflags.Components()); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	for _, component := range kubeflags.Components() {
		for _, m := range versions {
			flags, gates := kubeflags.Flags(component, m), kubeflags.Gates(component, m)
			if len(flags) < 50 || len(gates) < 100 {
				t.Errorf("%s of %s has %d flags and %d gates", component, m, len(flags), len(gates))
			}
			for _, name := range []string{"feature-gates", "help", "v", "version"} {
				if !slices.Contains(flags, name) {
					t.Errorf("%s of %s has no --%s", component, m, name)
				}
			}
			for _, name := range []string{"AllAlpha", "AllBeta", "LoggingAlphaOptions", "LoggingBetaOptions"} {
				if !slices.Contains(gates, name) {
					t.Errorf("%s of %s has no gate %s", component, m, name)
				}
			}
		}
	}
}

// TestFlag checks flags from the changelogs of Kubernetes.
func TestFlag(t *testing.T) {
	for _, test := range []struct {
		component, name string
		want            kubeflags.FlagHistory
	}{
		// The options of clouds inside kube-apiserver went with the clouds.
		{apiserver, "cloud-config", kubeflags.FlagHistory{Span: kubeflags.Span{Removed: 33}, Type: "string", Deprecated: 31}},
		{apiserver, "cloud-provider", kubeflags.FlagHistory{Span: kubeflags.Span{Removed: 33}, Type: "string", Deprecated: 31}},
		{controller, "cloud-provider", kubeflags.FlagHistory{Type: "string"}},
		{controller, "external-cloud-volume-plugin", kubeflags.FlagHistory{Type: "string"}},
		{controller, "allocate-node-cidrs", kubeflags.FlagHistory{Type: "bool"}},
		{kubelet, "cloud-provider", kubeflags.FlagHistory{Type: "string"}},
		{kubelet, "cloud-config", kubeflags.FlagHistory{Span: kubeflags.Span{Removed: 34}, Type: "string", Deprecated: 31}},
		{kubelet, "pod-infra-container-image", kubeflags.FlagHistory{Span: kubeflags.Span{Removed: 35}, Type: "string", Deprecated: 31}},
		{kubelet, "max-pods", kubeflags.FlagHistory{Type: "int32", Deprecated: 31}},
		{kubelet, "max_pods", kubeflags.FlagHistory{Type: "int32", Deprecated: 31}},
		{kubelet, "node-labels", kubeflags.FlagHistory{Type: "mapStringString"}},
		{scheduler, "config", kubeflags.FlagHistory{Type: "string"}},
	} {
		got, ok := kubeflags.Flag(test.component, test.name)
		if !ok || (got.Deprecated != 0) != (got.Message != "") {
			t.Errorf("--%s of %s: %t, deprecated in %s: %q", test.name, test.component, ok, got.Deprecated, got.Message)
		}
		got.Message = ""
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("--%s of %s (-want +got):\n%s", test.name, test.component, diff)
		}
	}
	for _, name := range []string{"cloud-confg", "network-plugin", ""} {
		if _, ok := kubeflags.Flag(kubelet, name); ok {
			t.Errorf("kubelet has --%s", name)
		}
	}
	if _, ok := kubeflags.Flag("cluster-autoscaler", "v"); ok {
		t.Error("cluster-autoscaler is in the table")
	}
}

// TestSpan checks the methods of spans.
func TestSpan(t *testing.T) {
	for want, test := range map[string]struct {
		span kubeflags.Span
		in   []kubeflags.Minor
	}{
		"it exists since 1.31 or earlier": {kubeflags.Span{}, []kubeflags.Minor{31, 32, 33, 34}},
		"it was added in 1.33":            {kubeflags.Span{Since: 33}, []kubeflags.Minor{33, 34}},
		"it was removed in 1.33":          {kubeflags.Span{Removed: 33}, []kubeflags.Minor{31, 32}},
		"it exists in 1.32 only":          {kubeflags.Span{Since: 32, Removed: 33}, []kubeflags.Minor{32}},
		"it exists from 1.32 to 1.33":     {kubeflags.Span{Since: 32, Removed: 34}, []kubeflags.Minor{32, 33}},
	} {
		var in []kubeflags.Minor
		for m := kubeflags.Minor(31); m <= 34; m++ {
			if test.span.In(m) {
				in = append(in, m)
			}
		}
		if diff := cmp.Diff(test.in, in); diff != "" || test.span.String() != want {
			t.Errorf("%s (-want +got):\n%s", test.span, diff)
		}
	}
}

// TestFormerFlagsAreNotInTable checks that flags from before the table are not in it.
func TestFormerFlagsAreNotInTable(t *testing.T) {
	for component, names := range map[string][]string{
		apiserver: {"insecure-port"}, controller: {"pod-eviction-timeout"}, kubelet: {"network-plugin", "container-runtime", "azure-container-registry-config"},
	} {
		for _, name := range names {
			had, ok := kubeflags.Former(component, name)
			if _, known := kubeflags.Flag(component, name); !ok || known || had >= kubeflags.Versions()[0] {
				t.Errorf("--%s of %s: %t, %s, in the table: %t", name, component, ok, had, known)
			}
		}
	}
	if _, ok := kubeflags.Former(kubelet, "max-pods"); ok {
		t.Error("--max-pods is reported as a former flag, want a current one")
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		kind  string
		texts []string
		want  string
	}{
		{"bool", []string{"true"}, ""},
		{"bool", nil, ""},
		{"bool", []string{"yes"}, `takes a value of type bool, not "yes"`},
		{"int32", []string{"110"}, ""},
		{"int32", []string{"3000000000"}, `takes a value of type int32, not "3000000000"`},
		{"Level", []string{"2"}, ""},
		{"Level", []string{"3000000000"}, `takes a value of type Level, not "3000000000"`},
		{"int", nil, "needs a value, of type int"},
		{"uint", []string{"-1"}, `takes a value of type uint, not "-1"`},
		{"float32", []string{"1.5"}, ""},
		{"duration", []string{"5m"}, ""},
		{"duration", []string{"5m", "5"}, `takes a value of type duration, not "5"`},
		{"stringSlice", []string{"a", "b"}, ""},
		{"mapStringString", nil, ""},
	} {
		if got := (kubeflags.FlagHistory{Type: test.kind}).Check(test.texts); got != test.want {
			t.Errorf("%s %q: %q, want %q", test.kind, test.texts, got, test.want)
		}
	}
}

// TestGate checks feature gates from the documentation of Kubernetes.
func TestGate(t *testing.T) {
	beta, off := kubeflags.GateState{Stage: kubeflags.Beta, Default: true}, kubeflags.GateState{Stage: kubeflags.Beta}
	ga := kubeflags.GateState{Stage: kubeflags.GA, Default: true}
	locked := kubeflags.GateState{Stage: kubeflags.GA, Default: true, Locked: true}
	for name, want := range map[string]map[kubeflags.Minor]*kubeflags.GateState{
		"VolumeAttributesClass":     {31: &off, 33: &off, 34: &ga, 36: &locked},
		"NodeSwap":                  {33: &beta, 34: &locked},
		"DynamicResourceAllocation": {33: &off, 34: &ga},
		"CSIMigration":              {},
	} {
		for _, component := range kubeflags.Components() {
			history, ok := kubeflags.Gate(component, name)
			if ok != (len(want) > 0) {
				t.Errorf("Gate(%s, %s) found = %t, want the opposite", component, name, ok)
			}
			for m, state := range want {
				if got := history[m]; got != *state || !history.In(m) {
					t.Errorf("%s of %s %s is %+v, want %+v", name, component, m, got, *state)
				}
			}
		}
	}
	if _, ok := kubeflags.Gate("cluster-autoscaler", "AllAlpha"); ok {
		t.Error("cluster-autoscaler is in the table")
	}
}

func TestGateHistory(t *testing.T) {
	for want, history := range map[string]kubeflags.GateHistory{
		"beta since 1.31 or earlier, ga since 1.34":                             {31: {Stage: kubeflags.Beta}, 32: {Stage: kubeflags.Beta}, 33: {Stage: kubeflags.Beta}, 34: {Stage: kubeflags.GA}, 35: {Stage: kubeflags.GA}, 36: {Stage: kubeflags.GA}, 37: {Stage: kubeflags.GA}},
		"alpha since 1.32, beta since 1.33, removed in 1.34":                    {32: {Stage: kubeflags.Alpha}, 33: {Stage: kubeflags.Beta}},
		"ga and locked to true since 1.31 or earlier, removed in 1.33":          {31: {Stage: kubeflags.GA, Default: true, Locked: true}, 32: {Stage: kubeflags.GA, Default: true, Locked: true}},
		"deprecated and locked to false since 1.31 or earlier, removed in 1.32": {31: {Stage: kubeflags.Deprecated, Locked: true}},
	} {
		if got := history.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestField checks fields of the KubeletConfiguration.
func TestField(t *testing.T) {
	for path, want := range map[string]kubeflags.FieldHistory{
		"enableControllerAttachDetach":               {Kind: "bool"},
		"crashLoopBackOff":                           {Span: kubeflags.Span{Since: 32}, Kind: "object"},
		"crashLoopBackOff.maxContainerRestartPeriod": {Span: kubeflags.Span{Since: 32}, Kind: "any"},
		"featureGates":                               {Kind: "map"},
		"featureGates{}":                             {Kind: "bool"},
		"registerWithTaints[].key":                   {Kind: "string"},
		"maxPods":                                    {Kind: "integer"},
		"resolvConf":                                 {Kind: "string"},
		"kind":                                       {Kind: "string"},
		"memoryReservationPolicy":                    {Span: kubeflags.Span{Since: 36}, Kind: "string"},
	} {
		if got, ok := kubeflags.Field(path); !ok || got != want {
			t.Errorf("%s: %+v, %t, want %+v", path, got, ok, want)
		}
	}
	if _, ok := kubeflags.Field("enablecontrollerattachdetach"); ok {
		t.Error("a field in lower case was found, want case-sensitive names")
	}
	if got := kubeflags.Fields("authentication.webhook", 34); !slices.Equal(got, []string{"cacheTTL", "enabled"}) {
		t.Errorf("the fields of authentication.webhook are %q", got)
	}
	if top := kubeflags.Fields("", 31); slices.Contains(top, "crashLoopBackOff") || !slices.Contains(top, "maxPods") {
		t.Errorf("the fields of 1.31 are %q", top)
	}
}

// TestPlugin checks admission plugins from the sources of Kubernetes, and that each version has many of them.
func TestPlugin(t *testing.T) {
	for name, want := range map[string]kubeflags.PluginHistory{
		"NodeRestriction":         {},
		"NamespaceLifecycle":      {Default: true},
		"PodTopologyLabels":       {Span: kubeflags.Span{Since: 33}, Default: true},
		"MutatingAdmissionPolicy": {Span: kubeflags.Span{Since: 32}, Default: true},
		"JobValidation":           {Span: kubeflags.Span{Since: 36, Removed: 37}, Default: true},
	} {
		if got, ok := kubeflags.Plugin(name); !ok || got != want {
			t.Errorf("%s: %+v, %t, want %+v", name, got, ok, want)
		}
	}
	for _, m := range kubeflags.Versions() {
		if plugins := kubeflags.Plugins(m); len(plugins) < 30 || !slices.Contains(plugins, "ResourceQuota") {
			t.Errorf("the admission plugins of %s are %q", m, plugins)
		}
	}
	for _, name := range []string{"PersistentVolumeLabel", "PodSecurityPolicy", "SecurityContextDeny"} {
		had, gone := kubeflags.FormerPlugin(name)
		if _, known := kubeflags.Plugin(name); known || !gone || had >= kubeflags.Versions()[0] {
			t.Errorf("%s: in the table: %t, from before it: %t, %s", name, known, gone, had)
		}
	}
}

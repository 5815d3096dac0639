// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package suite runs the Ginkgo specs of a package.
package suite

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

const (
	// reports is the environment variable that names the folder for JUnit reports.
	reports = "GRAFT_TEST_REPORTS"
	// timeout limits each Eventually that has no limit of its own. It is long, because other suites run at the same time.
	timeout = 90 * time.Second
	polling = 50 * time.Millisecond
	// shown limits the message of a failure that is repeated at the end, in bytes.
	shown = 4 << 10
)

// Run runs the specs of a package as one suite with labels. It writes a JUnit report, named after the suite, into the
// folder that GRAFT_TEST_REPORTS names. It repeats the messages of failures as the test's own, because Ginkgo's summary
// has only their locations.
func Run(t *testing.T, name string, labels ...string) {
	t.Helper()
	log.SetLogger(logr.Discard()) // for Gardener's components, which suites link
	gomega.RegisterFailHandler(ginkgo.Fail)
	gomega.SetDefaultEventuallyTimeout(timeout)
	gomega.SetDefaultEventuallyPollingInterval(polling)
	_, reporter := ginkgo.GinkgoConfiguration()
	if folder := os.Getenv(reports); folder != "" {
		reporter.JUnitReport = filepath.Join(folder, name+".xml")
	}
	var report ginkgo.Report
	ginkgo.ReportAfterSuite("failures", func(r ginkgo.Report) { report = r })
	if ginkgo.RunSpecs(t, name, ginkgo.Label(labels...), reporter) {
		return
	}
	for _, spec := range report.SpecReports.WithState(types.SpecStateFailureStates) {
		message := spec.FailureMessage()
		t.Errorf("%s\n%s: %s", spec.FullText(), spec.FailureLocation(), message[:min(len(message), shown)])
	}
}

// ShowLog prints the log of a program if the current spec fails.
func ShowLog(program string, log *env.Log) {
	ginkgo.DeferCleanup(func() {
		if ginkgo.CurrentSpecReport().Failed() {
			ginkgo.AddReportEntry("the log of "+program, log.String())
		}
	})
}

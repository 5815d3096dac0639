// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
)

// backgroundSpec is a spec on its own machine. It runs in the background, so that another one can run while it waits
// for missing plugins or for the end of leaks.
type backgroundSpec struct {
	body func(*world)
	// done is closed at the end; it is nil before the start.
	done    chan struct{}
	took    time.Duration
	mutex   sync.Mutex
	failure string
}

var (
	backgroundSpecs []*backgroundSpec
	// slots limits the number of specs that run at the same time.
	slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	// over means that the suite has ended, perhaps early: no spec starts any more.
	over atomic.Bool
)

// scenario adds a spec that runs in the background. All of them start with the first one, unless only some specs run.
func scenario(text string, body func(*world)) {
	s := &backgroundSpec{body: body}
	backgroundSpecs = append(backgroundSpecs, s)
	It(text, func() {
		s.begin()
		config, _ := GinkgoConfiguration()
		if len(config.FocusStrings)+len(config.SkipStrings) == 0 && config.LabelFilter == "" {
			for _, other := range backgroundSpecs {
				other.begin()
			}
		}
		<-s.done
		AddReportEntry("duration of the scenario", s.took.Round(time.Second).String())
		if s.failure != "" {
			Fail(s.failure)
		}
	})
}

// Specs that have started end, and remove their machines, also if the suite ends early.
var _ = AfterSuite(func() {
	over.Store(true)
	for _, s := range backgroundSpecs {
		if s.done != nil {
			<-s.done
		}
	}
})

func (s *backgroundSpec) begin() {
	if s.done == nil {
		s.done = make(chan struct{})
		go s.run()
	}
}

func (s *backgroundSpec) run() {
	defer close(s.done)
	slots <- struct{}{}
	began := time.Now()
	defer func() {
		s.took = time.Since(began)
		<-slots
	}()
	if over.Load() {
		return
	}
	w := newWorld(NewGomega(s.fail))
	defer func() {
		if s.failure != "" {
			s.failure += w.logs()
		}
		if err := w.machine.Halt(); err != nil {
			s.failure += fmt.Sprintf("\nhalting the machine: %v", err)
		}
	}()
	s.body(w)
	w.none()
}

// fail keeps the first failure and ends the goroutine.
func (s *backgroundSpec) fail(message string, skip ...int) {
	s.mutex.Lock()
	if s.failure == "" {
		s.failure = message + "\n" + types.NewCodeLocationWithStackTrace(1).FullStackTrace
	}
	s.mutex.Unlock()
	runtime.Goexit()
}

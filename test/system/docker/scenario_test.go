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

// story is a scenario on a machine of its own. Stories run in the background, so that one runs while another one waits
// for missing plugins or for the end of leaks.
type story struct {
	tell func(*world)
	// done is closed at the end; it is nil before the start.
	done    chan struct{}
	took    time.Duration
	mutex   sync.Mutex
	failure string
}

var (
	stories []*story
	// slots limits the number of stories that run at the same time.
	slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	// over says that the suite has ended, perhaps early: no story starts any more.
	over atomic.Bool
)

// scenario adds a spec, which waits for a scenario. All scenarios start with the first one, unless only some specs run.
func scenario(text string, tell func(*world)) {
	s := &story{tell: tell}
	stories = append(stories, s)
	It(text, func() {
		s.begin()
		config, _ := GinkgoConfiguration()
		if len(config.FocusStrings)+len(config.SkipStrings) == 0 && config.LabelFilter == "" {
			for _, other := range stories {
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

// Scenarios that have started end, and remove their machines, also if the suite ends early.
var _ = AfterSuite(func() {
	over.Store(true)
	for _, s := range stories {
		if s.done != nil {
			<-s.done
		}
	}
})

func (s *story) begin() {
	if s.done == nil {
		s.done = make(chan struct{})
		go s.run()
	}
}

func (s *story) run() {
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
	s.tell(w)
	w.none()
}

// fail keeps the first failure and ends the goroutine.
func (s *story) fail(message string, skip ...int) {
	s.mutex.Lock()
	if s.failure == "" {
		s.failure = message + "\n" + types.NewCodeLocationWithStackTrace(1).FullStackTrace
	}
	s.mutex.Unlock()
	runtime.Goexit()
}

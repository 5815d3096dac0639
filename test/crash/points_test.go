// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

// point is a place at which the program is killed.
type point string

// The points, in the order of an allocation, of a release, and of a start.
const (
	requestSent      point = "a request was sent"
	bindArrives      point = "the cloud is asked to bind"
	bindDone         point = "the cloud has bound"
	bindAnswered     point = "the cloud has answered that it has bound"
	answerReceived   point = "an allocation was answered"
	releaseSent      point = "a release was sent"
	releaseConfirmed point = "a release was answered"
	unbindArrives    point = "the cloud is asked to unbind"
	unbindDone       point = "the cloud has unbound"
	unbindAnswered   point = "the cloud has answered that it has unbound"
	starting         point = "it starts"
	findArrives      point = "the cloud is asked what it has"
	findDone         point = "the cloud has looked what it has"
	findAnswered     point = "the cloud has said what it has"
	podSent          point = "a Pod's request was sent"
	takeoverSent     point = "a request was sent that takes addresses over"
	podAnswered      point = "a Pod's request was answered"
	podReleaseSent   point = "a Pod's release was sent"
	lateReleaseSent  point = "a release was sent of what others may have by now"
	reloading        point = "the profile is read again"
)

// points are all of them. Those of a recovery follow points of a binding: only a crash there leaves something to be
// found.
var points = []point{
	requestSent, bindArrives, findArrives, bindDone, findDone, bindArrives, findAnswered, bindAnswered, answerReceived,
	releaseSent,
	releaseConfirmed, unbindArrives, unbindDone, unbindAnswered, starting, podSent, findArrives, takeoverSent, podAnswered,
	podReleaseSent,
	lateReleaseSent, reloading,
}

// recovers reports whether a point belongs to the recovery after a crash.
func (p point) recovers() bool { return p == findArrives || p == findDone || p == findAnswered }

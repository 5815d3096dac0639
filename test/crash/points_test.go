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
	findCalled       point = "the cloud is asked what it has"
	podSent          point = "a Pod's request was sent"
	takeoverSent     point = "a request was sent that takes addresses over"
	podAnswered      point = "a Pod's request was answered"
	podReleaseSent   point = "a Pod's release was sent"
	lateReleaseSent  point = "a release was sent of what others may have by now"
	reloading        point = "the profile is read again"
)

// points are all at which the program is killed. A crash at a point of a binding leaves something that is unbound after
// the next start.
var points = []point{
	requestSent, bindArrives, unbindArrives, bindDone, unbindDone, bindArrives, unbindAnswered, bindAnswered,
	answerReceived,
	releaseSent,
	releaseConfirmed, unbindArrives, unbindDone, unbindAnswered, starting, podSent, takeoverSent, podAnswered,
	podReleaseSent,
	lateReleaseSent, reloading,
}

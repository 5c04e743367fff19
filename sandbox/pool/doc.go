// Package pool is what all providers of package sandbox share: it keeps the boxes of threads warm,
// runs commands in them, watches over what they write, and makes results of their output.
//
// A provider gives a [Pool] a way to start a [Box], in which programs run; all that a box of one kind
// needs belongs to that provider's package. What everybody may know about sandboxes is in package
// sandbox.
package pool

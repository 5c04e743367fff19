// Package part renders the smallest components: icons, buttons, chips, notices. Components that depend on threads or
// pages belong to higher packages.
package part

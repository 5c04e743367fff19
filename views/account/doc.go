// Package account has the pages of signing in and the sections of the settings about accounts.
package account

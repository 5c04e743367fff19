// Package objects stores bytes under names in a bucket of an S3-compatible store.
//
// It only puts, gets and removes objects: callers record which objects exist, so nothing is ever listed. Requests are
// signed by the signer of the AWS SDK; the rest of that SDK would make the program two megabytes larger.
package objects

// Package objects keeps bytes under names in a bucket of a store that speaks the S3 API.
//
// It puts, gets and removes objects and does nothing else: which objects there are is known by who put them there,
// so that nothing is ever listed. Requests are signed by the signer of the AWS SDK; the rest of that SDK would make
// the program two megabytes larger.
package objects

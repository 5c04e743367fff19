package config

// TLS says where the certificate comes from with which the port speaks TLS: from two files, or
// from an ACME authority for the named domains. Without either it speaks plain HTTP.
type TLS struct {
	Cert        string   `yaml:"cert"`         // PEM file with the certificate and those above it
	Key         string   `yaml:"key"`          // PEM file with its key
	Domains     []string `yaml:"domains"`      // names to get certificates for
	Email       string   `yaml:"email"`        // told by the authority about problems
	Directory   string   `yaml:"directory"`    // address of another authority than Let's Encrypt
	DirectoryCA string   `yaml:"directory_ca"` // PEM file with the root certificate that vouches for that address
}

package config

// TLS configures the certificate of the port: two files, or an ACME authority for the named domains. Without either the
// port speaks plain HTTP.
type TLS struct {
	Cert        string   `yaml:"cert"`         // PEM file with the certificate and its intermediates
	Key         string   `yaml:"key"`          // PEM file with its key
	Domains     []string `yaml:"domains"`      // names to get certificates for
	Email       string   `yaml:"email"`        // address for the authority's notifications
	Directory   string   `yaml:"directory"`    // address of another authority than Let's Encrypt
	DirectoryCA string   `yaml:"directory_ca"` // PEM file with the root certificate that vouches for that address
}
